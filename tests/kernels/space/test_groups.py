"""Groups of equal records."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.space.kd_order import equal_records


@given(
    st.lists(st.tuples(st.sampled_from([0.0, -0.0, 0.1, 1e300]), st.integers(0, 1).map(float)), min_size=1, max_size=40)
)
@settings(max_examples=150, deadline=None)
def test_groups_are_the_distinct_records_with_rows_ascending(rows):
    points = np.array(rows)
    members, bounds = equal_records(points)
    assert sorted(members.tolist()) == list(range(len(rows)))
    groups = [members[a:b].tolist() for a, b in pairwise(bounds)]
    expected = {}
    for i, row in enumerate(rows):
        expected.setdefault(tuple(x + 0.0 for x in row), []).append(i)
    assert groups == list(expected.values())
