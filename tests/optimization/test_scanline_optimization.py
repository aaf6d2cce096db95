import naive_scanlines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import energy_of, in_threads, parts, problems

from stereo_framework import CostVolume, Pipeline, SearchRange, load_scene, step
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import scanline_optimization
from stereo_framework.smoothness import linear, potts, truncated_linear


@given(
    problem=problems([(3, 9), (1, 9), (3, 5), (3, 2), (1, 1)], levels=(7, 16, 3, 2)),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(problem, threads):
    costs, smoothness = problem
    with in_threads(threads):
        result = scanline_optimization(*parts(energy_of(costs, smoothness)))
    found = [
        naive_scanlines.scanline(*row, smoothness.rho)
        for row in zip(costs, smoothness.right, strict=True)
    ]
    assert result.levels.tolist() == [labels for labels, _ in found]
    assert result.objective == sum(cost for _, cost in found)


@pytest.mark.parametrize("levels", [2, 15, 16, 17, 70])
def test_lowest_levels_win_ties(levels):
    volume = CostVolume(np.full((2, 5, levels), 3, np.float32), SearchRange(0, levels - 1), 255.0)
    for term in (potts, linear, truncated_linear):
        smoothness = term(np.zeros((2, 5), np.uint8), volume.search, weight=0)
        assert (scanline_optimization(volume, smoothness).levels == 0).all()


def test_path_costs_above_a_million():
    costs = np.array([[[3e6, 2e6], [1e6, 2e6], [3e6, 2e6]]], np.float32)
    smoothness = potts(np.zeros((1, 3), np.uint8), SearchRange(0, 1), weight=1.5e6)
    result = scanline_optimization(CostVolume(costs, SearchRange(0, 1), 255.0), smoothness)
    assert result.levels.tolist() == [[1, 1, 1]]
    assert result.objective == 6e6


# The original program's energies with the paper's parameters (Scharstein & Szeliski 2002, Table 4).
@pytest.mark.parametrize(
    ("name", "energy"),
    [("tsukuba", 1861469), ("sawtooth", 2929012), ("venus", 4292896), ("map", 1291559)],
)
def test_energies_of_the_original(name, energy, data):
    smoothness = step(potts, weight=50, gradient_threshold=8, gradient_penalty=2)
    method = Pipeline(
        [step(absolute_difference, birchfield_tomasi=True), smoothness, scanline_optimization]
    )
    assert method(load_scene(name, data=data)).energy == energy
