"""A* groups: properties, an independent library, and the groups that the paper prints."""

import moocore
import naive_ranking
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.papers.comparison import raw_table
from stereo_framework.tables.ranking import astar_groups, astar_verdict

PRINTED = {i: raw_table("groups2012", f"table{i}")["rows"] for i in (3, 4, 5, 7)}

# Few different values: many ties, and duplicates of whole rows.
tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 14), st.integers(1, 4)),
    elements=st.one_of(st.integers(0, 3).map(float), st.sampled_from([0.5, np.inf, -np.inf, -0.0])),
)


@given(tables)
def test_equals_the_slow_version(values):
    assert astar_groups(values).tolist() == naive_ranking.groups(values.tolist())


@pytest.mark.parametrize("seed", range(20))
def test_equals_moocore(seed):
    """An independent implementation of non-dominated sorting, on tables with ties and duplicates."""
    rng = np.random.default_rng(seed)
    values = rng.integers(
        0, rng.integers(2, 60), (int(rng.integers(2, 300)), int(rng.integers(2, 7)))
    ).astype(float)
    np.testing.assert_array_equal(astar_groups(values), moocore.pareto_rank(values) + 1)
    np.testing.assert_array_equal(
        astar_groups(values) == 1, moocore.is_nondominated(values, keep_weakly=True)
    )


def _printed_rows():
    """The fifteen rows of scores that are printed, and the group that the paper gives each."""
    scores = PRINTED[3] | PRINTED[4]
    group = dict.fromkeys(PRINTED[5], 1) | PRINTED[7]
    assert len(scores) == 15
    return np.array(list(scores.values())), [group[name] for name in scores]


def test_printed_rows_fall_into_their_printed_groups():
    values, printed = _printed_rows()
    assert sorted(printed) == [1] * 9 + [2, 3, 4, 5, 6, 7]
    assert astar_groups(values).tolist() == printed


def test_printed_dominance():
    first = np.array(list(PRINTED[4].values()))
    chain = np.array(list(PRINTED[3].values()))
    assert (set(astar_groups(first).tolist()), astar_groups(chain).tolist()) == (
        {1},
        [1, 2, 3, 4, 5, 6, 7],
    )
    # Of group 1, GC+SegmBorder alone dominates the methods picked of groups 2 and 3.
    names = list(PRINTED[4])
    for method in (1, 2):
        beaten_by = [
            name
            for name, row in zip(names, first, strict=True)
            if naive_ranking.dominates(row, chain[method])
        ]
        assert beaten_by == ["GC+SegmBorder"]


def test_verdicts():
    assert astar_verdict(np.array([2, 1, 3])).startswith("A* has one member")
    assert astar_verdict(np.array([1, 1, 2])).startswith(
        "A* has 2 members: their accuracy is comparable"
    )
