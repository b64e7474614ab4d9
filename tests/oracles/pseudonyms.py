"""k over sets of combinations, and classes of whole people: plain transcriptions of the definitions."""

from collections import Counter


def k_of_sets(people, combinations):
    """Return the smallest number of people who have the same combinations, each equally often."""
    of = {}
    for person, combination in zip(people, combinations, strict=True):
        of.setdefault(person, Counter())[combination] += 1
    sharing = Counter(frozenset(records.items()) for records in of.values())
    return min(sharing.values())


def record_classes(people, vectors, class_of):
    """Return the class of each record as a pair: the class of its person, and the first of its united places.

    The records of a person are sorted by value. Two neighbouring places of a class of people are united if anyone in
    it has equal records there.
    """
    rows = {}
    for row in sorted(range(len(people)), key=lambda row: (vectors[row], row)):
        rows.setdefault(people[row], []).append(row)
    found = {}
    for label in sorted(set(class_of.values())):
        members = [rows[person] for person in rows if class_of[person] == label]
        place, begin = [0], 0
        for j in range(1, len(members[0])):
            if not any(vectors[own[j]] == vectors[own[j - 1]] for own in members):
                begin = j
            place.append(begin)
        for own in members:
            for j, row in enumerate(own):
                found[row] = (label, place[j])
    return [found[row] for row in range(len(people))]
