"""Exchange of records between neighbouring classes, transcribed. Obviously right, and slow."""


def exchanged(points, labels, near, sweeps, neighbours):
    """The classes after at most `sweeps` passes over all pairs of neighbouring ones, numbered by first row.

    `neighbours` gives the nearest other points of each point.
    """
    d, classes = len(points[0]), max(labels) + 1
    members = [[row for row, label in enumerate(labels) if label == c] for c in range(classes)]
    centroids = [[sum(points[row][h] for row in rows) / len(rows) for h in range(d)] for rows in members]
    nearest = neighbours(centroids, min(near, classes - 1)) if classes > 1 else [[]]
    tiny = 1e-12 * sum(v * v for point in points for v in point) / len(points)

    def exchange(a, b):
        """Exchange the record of a farthest towards b and that of b farthest towards a, if the SSE falls."""

        def along(row):
            return sum((centroids[a][h] - centroids[b][h]) * points[row][h] for h in range(d))

        i = min(range(len(members[a])), key=lambda at: (along(members[a][at]), at))
        j = max(range(len(members[b])), key=lambda at: (along(members[b][at]), -at))
        x, y = points[members[a][i]], points[members[b][j]]
        gain = 2.0 * (along(members[b][j]) - along(members[a][i]))
        gain += sum((y[h] - x[h]) ** 2 for h in range(d)) * (1.0 / len(members[a]) + 1.0 / len(members[b]))
        if not gain > tiny:
            return False
        for h in range(d):
            centroids[a][h] += (y[h] - x[h]) / len(members[a])
            centroids[b][h] -= (y[h] - x[h]) / len(members[b])
        members[a][i], members[b][j] = members[b][j], members[a][i]
        return True

    waiting = [True] * classes
    for _ in range(sweeps):
        moved = False
        for a in range(classes):
            if not waiting[a]:
                continue
            waiting[a] = False
            for b in nearest[a]:
                for _ in range(len(members[a])):
                    if not exchange(a, b):
                        break
                    moved = waiting[a] = waiting[b] = True
        if not moved:
            break
    found = {row: c for c, rows in enumerate(members) for row in rows}
    order = list(dict.fromkeys(found[row] for row in range(len(points))))
    return [order.index(found[row]) for row in range(len(points))]
