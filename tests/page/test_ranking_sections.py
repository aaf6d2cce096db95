"""The tables of ranks in a report."""

import pytest
from made_results import result

from stereo_framework.page.ranking_sections import rank_blocks
from stereo_framework.sweep import ResultSet


def _ranks(scores, scene="scene"):
    """Return the table of ranks of methods by their percentage of bad pixels."""
    results = [
        result(scene, {}, {"bad_pixels_nonocc": score}, method=method)
        for method, score in scores.items()
    ]
    return rank_blocks(ResultSet(results), list(scores))


@pytest.mark.parametrize(
    ("scores", "rows", "marked"),
    [
        (
            {"third": 3.0, "first": 1.0, "second": 2.0},
            [(1, "first", 1.0), (2, "second", 2.0), (3, "third", 3.0)],
            {(0, 2)},
        ),
        # Equal methods share the better rank.
        (
            {"last": 3.0, "one": 1.0, "other": 1.0},
            [(1, "one", 1.0), (1, "other", 1.0), (3, "last", 3.0)],
            {(0, 2), (1, 2)},
        ),
    ],
)
def test_only_methods_of_the_first_rank_are_marked(scores, rows, marked):
    [table] = _ranks(scores)
    assert [row[:3] for row in table.rows] == rows
    assert table.best == marked


def test_two_methods_are_ranked_and_one_is_not():
    assert len(_ranks({"a": 1.0, "b": 2.0})) == 1
    assert _ranks({"a": 1.0}) == []


def test_sixty_methods_are_ranked_and_more_are_not():
    scores = {f"m{i}": float(i) for i in range(61)}
    assert _ranks(scores) == []
    del scores["m60"]
    [table] = _ranks(scores)
    assert len(table.rows) == 60
