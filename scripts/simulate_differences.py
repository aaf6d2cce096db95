"""Measure error rates of `differences`: ``python scripts/simulate_differences.py``.

The program draws errors of methods on scenes and applies the functions of
`stereo_framework.tables.paired_tests` to them. It prints the table of
``docs/howto/significance.md``, which takes about a minute on one core.
``tests/tables/test_simulated_differences.py`` compares the page with the program.

The errors of a method have a gamma distribution of shape 2, so that few scenes have
much larger errors than the others. The errors of different methods on a scene are
independent. An effect of the scene that adds the same error to all methods would not
change the differences. In the second model, the difficulty of the scene multiplies the
errors of all methods. The difficulty has a gamma distribution of shape 2 too.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.tables.paired_tests import (
    bootstrap_intervals,
    corrected_p_values,
    decided_signs,
    paired_p_values,
)

SCENE_COUNTS = (8, 15, 30)
DRAW_COUNT = 2000
FAMILY_SIZE = 10
"""Number of methods in a family of equal methods."""

SHAPE = 2.0
"""Shape of the gamma distribution of errors and of the difficulty of scenes."""

RATIO_OF_BETTER_METHOD = 0.5
"""Mean error of a better method, divided by that of the other method."""

_SEED = 1


class Figures(NamedTuple):
    """Shares of the draws on a number of scenes, in percent.

    Parameters
    ----------
    scenes : int
        Number of scenes.
    coverage : float
        Draws whose interval contains the true mean difference, for two equal methods.
    coverage_of_better : float
        The same for a method with half the errors of the other.
    coverage_with_difficulty : float
        The same for two equal methods, if the difficulty of a scene multiplies errors.
    coverage_of_better_with_difficulty : float
        The same for a method with half the errors, if the difficulty multiplies errors.
    flagged : float
        Draws in which two equal methods are called better or worse.
    flagged_family : float
        Draws in which any two of ten equal methods are called better or worse, after
        Holm's correction.
    detected : float
        Draws in which a method with half the errors of the other is called better.
    """

    scenes: int
    coverage: float
    coverage_of_better: float
    coverage_with_difficulty: float
    coverage_of_better_with_difficulty: float
    flagged: float
    flagged_family: float
    detected: float


def simulate(scene_count: int, draw_count: int = DRAW_COUNT) -> Figures:
    """Return the figures for a number of scenes, with a fixed seed."""
    generator = np.random.default_rng([_SEED, scene_count])
    size = (scene_count, draw_count)
    better_ratio = RATIO_OF_BETTER_METHOD
    difficulty = generator.gamma(SHAPE, 1 / SHAPE, size)
    equal = draw_differences(generator, size, ratio=1.0)
    better = draw_differences(generator, size, ratio=better_ratio)
    hard_equal = difficulty * draw_differences(generator, size, ratio=1.0)
    hard_better = difficulty * draw_differences(generator, size, ratio=better_ratio)
    # The mean of the gamma distribution is its shape, and the mean difficulty is 1.
    better_mean = SHAPE * (better_ratio - 1)
    return Figures(
        scenes=scene_count,
        coverage=coverage(equal, 0.0),
        coverage_of_better=coverage(better, better_mean),
        coverage_with_difficulty=coverage(hard_equal, 0.0),
        coverage_of_better_with_difficulty=coverage(hard_better, better_mean),
        flagged=_percentage(decided_signs(equal, paired_p_values(equal)) != 0),
        flagged_family=flagged_families(generator, scene_count, draw_count),
        detected=_percentage(decided_signs(better, paired_p_values(better)) < 0),
    )


def draw_differences(
    generator: np.random.Generator, size: tuple[int, int], ratio: float
) -> NDArray[np.float64]:
    """Draw errors of two methods on scenes, and return their differences.

    Parameters
    ----------
    generator : numpy.random.Generator
        Source of the random numbers.
    size : (int, int)
        Number of scenes and number of draws.
    ratio : float
        Mean error of the first method, divided by that of the second method.
    """
    first_errors = ratio * generator.gamma(SHAPE, size=size)
    second_errors = generator.gamma(SHAPE, size=size)
    return first_errors - second_errors


def coverage(differences: NDArray[np.float64], true_mean: float) -> float:
    """Return the percentage of the draws whose interval contains the true mean."""
    low, high = bootstrap_intervals(differences)
    return _percentage((low <= true_mean) & (true_mean <= high))


def flagged_families(generator: np.random.Generator, scene_count: int, draw_count: int) -> float:
    """Return the percentage of the families of equal methods with a flagged pair."""
    pairs = list(itertools.combinations(range(FAMILY_SIZE), 2))
    first_methods, second_methods = np.array(pairs).T
    is_flagged = np.zeros(draw_count, bool)
    for draw in range(draw_count):
        errors = generator.gamma(SHAPE, size=(scene_count, FAMILY_SIZE))
        differences = errors[:, first_methods] - errors[:, second_methods]
        corrected = corrected_p_values(paired_p_values(differences), "holm")
        is_flagged[draw] = (decided_signs(differences, corrected) != 0).any()
    return _percentage(is_flagged)


def _percentage(is_counted: NDArray[np.bool_]) -> float:
    """Return the share of draws in percent."""
    return float(100 * np.mean(is_counted))


def table(figures: Sequence[Figures]) -> Iterator[str]:
    """Yield the lines of a Markdown table with a column for each number of scenes."""
    yield "| | " + " | ".join(f"{column.scenes} scenes" for column in figures) + " |"
    yield "| --- |" + " ---: |" * len(figures)
    for field, title in ROWS.items():
        cells = [f"{getattr(column, field):.1f} %" for column in figures]
        yield f"| {title} | {' | '.join(cells)} |"


ROWS = {
    "coverage": "intervals that contain the true difference, equal methods",
    "coverage_of_better": "the same, one method has half the errors",
    "coverage_with_difficulty": "the same, equal methods, difficulty multiplies errors",
    "coverage_of_better_with_difficulty": (
        "the same, half the errors, difficulty multiplies errors"
    ),
    "flagged": "two equal methods that are called better or worse, without correction",
    "flagged_family": "ten equal methods of which any pair is called better or worse, `holm`",
    "detected": "a method with half the errors that is called better",
}
"""Titles of the rows, by the fields of `Figures`."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=DRAW_COUNT, help="number of draws")
    draw_count = parser.parse_args().draws
    figures = [simulate(scene_count, draw_count) for scene_count in SCENE_COUNTS]
    print("\n".join(table(figures)))


if __name__ == "__main__":
    main()
