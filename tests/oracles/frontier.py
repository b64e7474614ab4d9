"""Which of some points no other beats, transcribed. Obviously right, and slow."""


def frontier(points):
    """Return, for each (loss, risk), whether no other has less of one and no more of the other."""
    found = []
    for loss, risk in points:
        beaten = False
        for other_loss, other_risk in points:
            if other_loss < loss and other_risk <= risk:
                beaten = True
            if other_risk < risk and other_loss <= loss:
                beaten = True
        found.append(not beaten)
    return found
