"""Records of a text that is in memory as a whole. Obviously right, and slow."""


def lines(text, longest, quote=None):
    """Records and the bytes at which they begin."""
    records, places, at = [], [], 0
    if text.startswith(b"\xef\xbb\xbf"):
        at = 3
    while at < len(text):
        ends = [i for i in range(at, len(text)) if text[i : i + 1] == b"\n"] + [len(text)]
        end = ends[0]
        if quote is not None:
            for candidate in ends:
                if candidate - at > longest and candidate != ends[0]:
                    break
                if text[at:candidate].count(quote) % 2 == 0:
                    end = candidate
                    break
        record = text[at:end]
        if record.endswith(b"\r"):
            record = record[:-1]
        if record:
            records.append(record[: longest + 1])
            places.append(at)
        at = end + 1
    return records, places
