"""Variants of stages that behave as the authors' programs, and the page about them."""

import inspect
import re
from pathlib import Path
from statistics import mean
from types import SimpleNamespace

import numpy as np
import pytest

from stereo_framework import CostVolume, SearchRange, run
from stereo_framework.aggregation import minimum_spanning_tree
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import stages

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts" / "program_differences"
PAGE = ROOT / "docs" / "notes" / "programs.md"


@pytest.fixture(scope="module")
def variants():
    """Return the stages of the plug-in by name."""
    load_plugin(str(SCRIPTS / "variants.py"))
    path = str(SCRIPTS / "variants.py")
    functions = [stage.function for stage in stages()]
    own = [function for function in functions if inspect.getsourcefile(function) == path]
    return SimpleNamespace(**{function.__name__: function for function in own})


def volume_of(costs):
    """Return a volume of one row of levels for each pixel."""
    costs = np.asarray(costs, np.float32)
    return CostVolume(costs, SearchRange(0, costs.shape[2] - 1), float(costs.max()))


@pytest.mark.parametrize("method", ["more_global_matching", "semi_global"])
@pytest.mark.parametrize("directions", [4, 8])
def test_without_penalties_the_corrected_sums_are_the_costs(variants, method, directions):
    volume = volume_of(np.random.default_rng(0).integers(0, 60, (5, 6, 4)))
    parameters = {"method": method, "directions": directions, "p1": 0, "p2": 0}
    result = variants.corrected_sums(volume, **parameters)
    np.testing.assert_array_equal(result.volume.costs, volume.costs)
    np.testing.assert_array_equal(result.levels, volume.costs.argmin(axis=2))


def test_edges_along_rows_come_first_if_all_differences_are_equal(variants):
    image = np.array([[0, 1, 2], [1, 2, 3]], np.uint8)
    costs = np.random.default_rng(1).random((2, 3, 2))
    # Number of edges between pixels; one edge connects the rows at their first pixels.
    distances = [
        [0, 1, 2, 1, 2, 3],
        [1, 0, 1, 2, 3, 4],
        [2, 1, 0, 3, 4, 5],
        [1, 2, 3, 0, 1, 2],
        [2, 3, 4, 1, 0, 1],
        [3, 4, 5, 2, 1, 0],
    ]
    weights = np.exp(-np.array(distances) / 2.0)
    expected = weights @ costs.reshape(6, 2) / weights.sum(axis=1, keepdims=True)
    result = variants.tree_of_the_program(volume_of(costs), image, sigma=2, median_size=1)
    np.testing.assert_allclose(result.costs.reshape(6, 2), expected, rtol=1e-5)


def test_both_trees_are_the_same_if_no_differences_are_equal(variants):
    draw = np.random.default_rng(2)
    image = draw.uniform(0, 255, (9, 8)).astype(np.float32)
    volume = volume_of(draw.random((9, 8, 3)))
    parameters = {"sigma": 30, "median_size": 1}
    ours = minimum_spanning_tree(volume, image, **parameters)
    variant = variants.tree_of_the_program(volume, image, **parameters)
    np.testing.assert_allclose(variant.costs, ours.costs, rtol=1e-5)


# --- the page -------------------------------------------------------------------------


def rows_of(table):
    """Return the cells of the rows of a marked table of the page."""
    [block] = re.findall(rf"<!-- {table} -->\n(.*?)<!-- end -->", PAGE.read_text(), re.DOTALL)
    lines = block.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def means_of(script, data):
    """Return the mean percentages of bad pixels by method, axis value and group."""
    percentages = {}
    for result in run(str(SCRIPTS / script), data=data, maps=False):
        [value] = [float(value) for name, value in result.axes.items() if "p2" not in name] or [
            25.5
        ]
        group = result.scene.partition("/")[0]
        key = (result.method, value, group)
        percentages.setdefault(key, []).append(result.statistics["bad_pixels_nonocc"])
    return {key: f"{mean(values):.2f}" for key, values in percentages.items()}


@pytest.mark.slow
def test_the_page_prints_the_errors_of_corrected_sums(data):
    measured = means_of("more_global_matching.yaml", data)
    methods = {"more_global_8": "8 directions", "more_global_4": "4 directions"}
    methods["semi_global_8"] = "8 paths"
    expected = []
    for method, words in methods.items():
        stage = "semi_global" if method == "semi_global_8" else "more_global_matching"
        for p1 in (5, 10, 20, 40):
            cells = [
                measured[name, p1, group]
                for group in ("middlebury-v2", "middlebury-v3")
                for name in (method, f"{method}_corrected")
            ]
            expected.append([f"`{stage}`, {words}", str(p1), *cells])
    assert rows_of("sums") == expected


@pytest.mark.slow
def test_the_page_prints_the_errors_of_both_trees(data):
    measured = means_of("minimum_spanning_tree.yaml", data)
    expected = [
        [
            f"{sigma:g}",
            *(
                measured[name, sigma, group]
                for group in ("middlebury-v2", "middlebury-v3")
                for name in ("package", "program")
            ),
        ]
        for sigma in (14.0, 25.5, 45.0)
    ]
    assert rows_of("trees") == expected
