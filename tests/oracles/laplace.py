"""[SD17] Algorithms 1 and 2 and Expression (1), transcribed: the scale of the noise of each class and attribute."""


def algorithm_1(sizes, widths, epsilon):
    """Scales of one block: for each class ΔD / (|C|·ε), the same for all of its attributes."""
    record = sum(widths)  # ΔD, the L1-sensitivity of a record
    return [[record / (size * epsilon) for _ in widths] for size in sizes]


def algorithm_2(blocks, epsilons):
    """Scales of several blocks, each (sizes, widths), with an ε each."""
    return [algorithm_1(sizes, widths, own) for (sizes, widths), own in zip(blocks, epsilons, strict=True)]


def even(blocks, epsilon):
    """ε/m each, as in IR_MDAV+DP_1."""
    return [epsilon / len(blocks) for _ in blocks]


def expression_1(blocks, epsilon):
    """ε_i = ε · ΔD_i / ΔD, as in IR_MDAV+DP_2."""
    whole = sum(sum(widths) for _, widths in blocks)
    return [epsilon * sum(widths) / whole for _, widths in blocks]
