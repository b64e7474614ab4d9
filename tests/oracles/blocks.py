"""Space cut into blocks, transcribed. Obviously right, and slow."""


def cut_blocks(points, rows, count):
    """The blocks as lists of rows."""
    if count == 1:
        return [rows]
    sides = [max(points[r][j] for r in rows) - min(points[r][j] for r in rows) for j in range(len(points[0]))]
    widest = sides.index(max(sides))
    ordered = sorted(rows, key=lambda r: (points[r][widest], points[r], r))
    first = count // 2
    cut = len(rows) * first // count
    return cut_blocks(points, ordered[:cut], first) + cut_blocks(points, ordered[cut:], count - first)
