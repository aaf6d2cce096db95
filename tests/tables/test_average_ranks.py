"""Ranks against the slow version and against the ranks that papers print."""

import naive_ranking
import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.papers.comparison import raw_table
from stereo_framework.tables.ranking import average_ranks, competition_ranks, rank

shapes = st.tuples(st.integers(1, 12), st.integers(1, 5))
tables = hnp.arrays(
    np.float64,
    shapes,
    elements=st.one_of(st.integers(0, 3).map(float), st.just(np.inf), st.floats(0, 1)),
)


@given(tables)
def test_equals_the_slow_version(values):
    expected = np.array([naive_ranking.ranks(column) for column in values.T]).T
    np.testing.assert_array_equal(competition_ranks(values), expected)
    np.testing.assert_array_equal(competition_ranks(values[:, 0]), expected[:, 0])
    np.testing.assert_allclose(average_ranks(values), expected.mean(axis=1), rtol=1e-15)


def test_ranks_printed_in_2002_are_possible_for_the_printed_values():
    """Ranks were given by more digits than are printed: equal printed values may have any order among themselves."""
    values, given = (
        np.array(list(raw_table("taxonomy2002", "table5")[part].values()))
        for part in ("rows", "ranks")
    )
    best = competition_ranks(values)
    worst = len(values) + 1 - competition_ranks(-values)
    assert given.shape == (20, 11)
    assert ((best <= given) & (given <= worst)).all()
    # All but the two ties that the note of the table names are told by the printed values.
    assert np.count_nonzero(best != given) == 2


def test_ranks_printed_in_2011_follow_from_the_averages():
    found = raw_table("sigma_z2011", "table5")
    columns = dict(zip(found["columns"], zip(*found["rows"].values(), strict=True), strict=True))
    for metric in ("SZE", "BMP"):
        averages = columns[f"{metric}_avg_rank"]
        assert competition_ranks(averages).tolist() == list(columns[f"{metric}_rank"])
        # 15 methods have ranks that sum to 120 in every column without ties; averages are printed with two digits.
        assert sum(averages) == pytest.approx(120, abs=15 * 0.005)


def test_scores_that_are_missing_are_refused():
    with pytest.raises(DataError, match=r"^scores: row 1, column 0 is NaN"):
        competition_ranks([[1, 2], [np.nan, 3]])
    with pytest.raises(DataError, match=r"shape \(2, 0\); expected \(methods, columns\)"):
        average_ranks(np.empty((2, 0)))
    with pytest.raises(DataError, match=r"shape \(2,\)"):
        average_ranks([1, 2])


def test_nobody_is_ranked_by_what_no_result_has():
    """Nor is it passed over in silence beside other statistics."""
    table = {
        "scene": ["a", "a"],
        "method": ["x", "y"],
        "bad_pixels_all": [1.0, 2.0],
        "rms_error_all": [np.nan, np.nan],
    }
    with pytest.raises(ParameterError, match="'rms_error_all': no result has a value of it"):
        rank(pandas.DataFrame(table), "bad_pixels_all", "rms_error_all")
