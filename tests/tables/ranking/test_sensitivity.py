"""Tables of scores, and what rankings without parts of them say."""

import numpy as np
import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.tables.ranking import Column, Scores, bootstrap, leave_one_out, rank_methods


def _scores(values, columns=None, methods="abcdefgh"):
    values = np.array(values, float)
    columns = columns or [Column(m, s) for s in ("x", "y") for m in ("bad", "rms")][: values.shape[1]]
    return Scores(tuple(methods[: len(values)]), tuple(columns), values)


def test_higher_is_better_where_a_column_says_so():
    scores = _scores([[1, 90], [2, 80]], [Column("bad"), Column("density", better="higher")])
    assert scores.lower_is_better().tolist() == [[1, -90], [2, -80]]
    found = rank_methods(scores)
    assert found.column_ranks.tolist() == [[1, 1], [2, 2]]
    assert found.groups.tolist() == [1, 2]
    assert [c.name for c in scores.columns] == ["bad", "density"]
    assert Column("bad", "x").name == "x:bad"


def test_holes():
    scores = _scores([[1, 2], [np.nan, 3], [4, np.nan], [5, 6]])
    with pytest.raises(DataError, match=r"^method 'b' has no score in column 'x:bad' \(and 1 more holes\); "):
        rank_methods(scores)
    whole, dropped = scores.complete()
    assert (whole.methods, dropped) == (("a", "d"), ("b", "c"))
    assert whole.values.tolist() == [[1, 2], [5, 6]]


def test_tables_that_do_not_fit():
    with pytest.raises(DataError, match=r"shape \(1, 2\); 2 methods and 2 columns need \(2, 2\)"):
        Scores(("a", "b"), (Column("p"), Column("q")), np.zeros((1, 2)))
    with pytest.raises(DataError, match="the method 'a' occurs twice"):
        Scores(("a", "a"), (Column("p"),), np.zeros((2, 1)))
    with pytest.raises(DataError, match="the column 's:p' occurs twice"):
        Scores(("a",), (Column("p", "s"), Column("p", "s", "higher")), np.zeros((1, 2)))


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
    by_scene = _scores([[1, 2], [2, 1]], [Column("bad", "x"), Column("bad", "y")])
    assert [one.kind for one in leave_one_out(by_scene)] == ["column", "column"]
    bare = _scores([[1, 2], [2, 1]], [Column("p"), Column("q")])
    assert [one.name for one in leave_one_out(bare)] == ["p", "q"]
    with pytest.raises(ParameterError, match="one column"):
        leave_one_out(_scores([[1], [2]]))


def test_bootstrap_of_two_scenes_by_arithmetic():
    """Of two scenes, a quarter of the drawings is the first alone, a quarter the second, half are both."""
    # a wins x, b wins y; c is second everywhere, and never in the A* set of one scene. Ranks: x 1 3 2, y 3 1 2.
    scores = _scores([[1, 3], [3, 1], [2, 2]], [Column("bad", "x"), Column("bad", "y")])
    found = bootstrap(scores, 4000, seed=3)
    # Four standard deviations of a share of 4000 drawings are 0.032.
    assert found.first == pytest.approx([3 / 4, 3 / 4, 1 / 2], abs=0.032)
    assert found.in_astar == pytest.approx([3 / 4, 3 / 4, 1 / 2], abs=0.032)
    assert found.rank_low.tolist() == [1, 1, 1]
    assert found.rank_high.tolist() == [3, 3, 2]
    assert found.average_rank_low.tolist() == [1, 1, 2]
    assert found.average_rank_high.tolist() == [3, 3, 2]
    again = bootstrap(scores, 4000, seed=3)
    for name in ("rank_low", "rank_high", "average_rank_low", "average_rank_high", "first", "in_astar"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert not np.array_equal(bootstrap(scores, 4000, seed=4).first, found.first)


def test_bootstrap_of_a_clear_table_is_certain():
    found = bootstrap(_scores([[1, 1, 1, 1], [2, 2, 2, 2]]), 50)
    assert found.rank_low.tolist() == found.rank_high.tolist() == [1, 2]
    assert found.first.tolist() == found.in_astar.tolist() == [1, 0]


def test_bootstrap_needs_scenes():
    with pytest.raises(ParameterError, match="^bootstrap: column 'bad' belongs to no scene; it draws among scenes and needs two"):
        bootstrap(_scores([[1, 2]], [Column("bad"), Column("bad", "x")]))
    with pytest.raises(ParameterError, match="all columns belong to the scene 'x'"):
        bootstrap(_scores([[1, 2]]))
    with pytest.raises(ParameterError, match="0 resamples"):
        bootstrap(_scores([[1, 2, 3, 4]]), 0)
