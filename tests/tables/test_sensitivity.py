"""Tables of scores, and what rankings without parts of them say."""

import numpy as np
import pandas
import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.tables.ranking import LEVELS, column_name, leave_one_out, rank_methods


def _scores(values, columns=None, methods="abcdefgh"):
    columns = columns or [(s, m, "lower") for s in "xy" for m in ("bad", "rms")][: len(values[0])]
    return pandas.DataFrame(values, list(methods[: len(values)]), pandas.MultiIndex.from_tuples(columns, names=LEVELS), float)


def test_higher_is_better_where_a_column_says_so():
    scores = _scores([[1, 90], [2, 80]], [("", "bad", "lower"), ("", "density", "higher")])
    found = rank_methods(scores)
    assert found.column_ranks.tolist() == [[1, 1], [2, 2]]
    assert found.groups.tolist() == [1, 2]
    assert [column_name(*c) for c in scores.columns] == ["bad", "density"]
    assert column_name("x", "bad") == "x:bad"


def test_holes():
    scores = _scores([[1, 2], [np.nan, 3], [4, np.nan], [5, 6]])
    with pytest.raises(DataError, match=r"^method 'b' has no score in column 'x:bad' \(and 1 more holes\); "):
        rank_methods(scores)


def test_leave_one_out():
    scores = _scores([[1, 1, 3, 3], [2, 2, 1, 1], [3, 3, 2, 2]])
    found = {(one.kind, one.name): one.ranking for one in leave_one_out(scores)}
    assert list(found) == [
        ("scene", "x"),
        ("scene", "y"),
        ("measure", "bad"),
        ("measure", "rms"),
        *[("column", name) for name in ("x:bad", "x:rms", "y:bad", "y:rms")],
    ]
    assert found["scene", "x"].ranks.tolist() == [3, 1, 2]
    assert found["scene", "y"].ranks.tolist() == [1, 2, 3]
    assert found["scene", "y"].groups.tolist() == [1, 2, 3]
    assert found["measure", "bad"].average_ranks.tolist() == [2, 1.5, 2.5]
    np.testing.assert_allclose(found["column", "x:bad"].average_ranks, [7 / 3, 4 / 3, 7 / 3])


def test_leave_one_out_names_parts_once():
    # One measure a scene: scenes are the columns themselves.
    by_scene = _scores([[1, 2], [2, 1]], [("x", "bad", "lower"), ("y", "bad", "lower")])
    assert [one.kind for one in leave_one_out(by_scene)] == ["column", "column"]
    bare = _scores([[1, 2], [2, 1]], [("", "p", "lower"), ("", "q", "lower")])
    assert [one.name for one in leave_one_out(bare)] == ["p", "q"]
    with pytest.raises(ParameterError, match="one column"):
        leave_one_out(_scores([[1], [2]]))
