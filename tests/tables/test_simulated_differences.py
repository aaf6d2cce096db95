"""Error rates of comparisons of methods, which the page on them states."""

from pathlib import Path

import numpy as np
import pytest
from simulate_differences import (
    SCENE_COUNTS,
    coverage,
    draw_differences,
    flagged_families,
    simulate,
    table,
)

from stereo_framework.sweep import Result, ResultSet
from stereo_framework.tables.differences import compare_methods
from stereo_framework.tables.paired_tests import decided_signs, paired_p_values

PAGE = Path(__file__).parents[2] / "docs/howto/significance.md"
VERDICTS = {-1: "better", 0: "not decided", 1: "worse"}


def verdict_of_command(differences):
    """Return the verdict of the command on two methods with some differences."""
    results = [
        Result("", f"set/{i}", method, {}, {}, "p", {"bad_pixels_all": value})
        for i, difference in enumerate(differences)
        for method, value in (("first", difference), ("second", 0.0))
    ]
    [pair] = compare_methods(ResultSet(results), "bad_pixels_all").pairs
    return pair.verdict


def test_the_decisions_of_the_simulation_are_the_verdicts_of_the_package():
    generator = np.random.default_rng(0)
    for ratio in (1.0, 0.5):
        differences = draw_differences(generator, (15, 30), ratio)
        signs = decided_signs(differences, paired_p_values(differences)).tolist()
        expected = [verdict_of_command(column) for column in differences.T]
        assert [VERDICTS[sign] for sign in signs] == expected


def test_a_few_draws_have_plausible_figures():
    figures = simulate(8, draw_count=100)
    assert figures.scenes == 8
    assert 85 <= figures.coverage <= 100
    assert 85 <= figures.coverage_of_better <= 100
    assert figures.flagged <= 12
    # With 8 scenes and 45 pairs, no p-value is small enough.
    assert figures.flagged_family == 0
    assert figures.detected > 10
    lines = list(table([figures, figures]))
    assert lines[0] == "| | 8 scenes | 8 scenes |"
    assert len({line.count("|") for line in lines}) == 1


def test_intervals_without_an_end_do_not_cover():
    assert coverage(np.ones((8, 1)), true_mean=1.0) == 0


@pytest.mark.slow
def test_the_figures_on_the_page_are_those_of_the_simulation():
    all_figures = [simulate(scene_count) for scene_count in SCENE_COUNTS]
    assert "\n".join(table(all_figures)) in PAGE.read_text("utf-8")
    for figures in all_figures:
        assert figures.flagged_family <= 6
        assert 92 <= figures.coverage <= 97
        assert 92 <= figures.coverage_of_better <= 97
        if figures.scenes >= 15:
            assert 4 <= figures.flagged <= 6
        else:
            assert figures.flagged <= 5


@pytest.mark.slow
def test_ten_equal_methods_on_many_scenes_are_rarely_flagged():
    share = flagged_families(np.random.default_rng(3), scene_count=20, draw_count=2000)
    assert share <= 6
