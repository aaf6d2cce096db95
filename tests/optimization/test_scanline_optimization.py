import naive_scanlines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, priors
from random_scene import random_planes

from stereo_framework import CostVolume, Energy, Pipeline, Search, Smoothness, load_scene, step
from stereo_framework.engine import strips
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import scanline_optimization, winner_take_all
from stereo_framework.smoothness import linear, potts, truncated_linear

RHOS = {
    "potts": lambda k: np.minimum(k, 1),
    "linear": lambda k: k,
    "truncated": lambda k: np.minimum(k, 2),
    "none": lambda k: 0 * k,
}


@st.composite
def energies(draw, columns, levels):
    """Energies of whole numbers, exact in float32, with every kind of penalty table."""
    shape = draw(st.sampled_from([3, 1])), draw(columns), draw(levels)
    costs = draw(filled(shape, np.append(np.arange(60), [1020] * 9))).astype(np.float32)
    smoothness = draw(priors(*shape))
    kind = draw(st.sampled_from(["any", *RHOS]))
    if kind != "any":
        rho = RHOS[kind](np.arange(shape[2])).astype(np.float32)
        smoothness = Smoothness(smoothness.right, smoothness.down, rho)
    return Energy(CostVolume(costs, Search(0, shape[2] - 1), 1020.0), smoothness)


def check(result, energy, twin):
    costs, smoothness = energy.volume.costs, energy.smoothness
    found = [twin(costs[y], smoothness.right[y], smoothness.rho) for y in range(costs.shape[0])]
    assert result.levels.tolist() == [labels for labels, _ in found]
    assert result.objective == sum(cost for _, cost in found)
    chosen = np.take_along_axis(costs, result.levels[..., None].astype(int), axis=2)[..., 0]
    np.testing.assert_array_equal(result.costs, chosen)
    assert (result.levels.dtype, result.costs.dtype) == (np.int16, np.float32)


@given(energy=energies(st.sampled_from([9, 5, 2, 1]), st.sampled_from([7, 16, 3, 2])), threads=st.integers(1, 3))
def test_agrees_with_twin(energy, threads):
    with in_threads(threads):
        result = scanline_optimization(energy.volume, energy.smoothness)
    check(result, energy, naive_scanlines.scanline)


@pytest.mark.parametrize("levels", [2, 15, 16, 17, 70])
def test_lowest_levels_win_ties(levels):
    volume = CostVolume(np.full((2, 5, levels), 3, np.float32), Search(0, levels - 1), 255.0)
    for term in (potts, linear, truncated_linear):
        smoothness = term(np.zeros((2, 5), np.uint8), volume.search, weight=0)
        assert (scanline_optimization(volume, smoothness).levels == 0).all()


def test_path_costs_above_a_million():
    costs = np.array([[[3e6, 2e6], [1e6, 2e6], [3e6, 2e6]]], np.float32)
    smoothness = potts(np.zeros((1, 3), np.uint8), Search(0, 1), weight=1.5e6)
    result = scanline_optimization(CostVolume(costs, Search(0, 1), 255.0), smoothness)
    assert result.levels.tolist() == [[1, 1, 1]]
    assert result.objective == 6e6


def test_strips_give_the_same_result_and_objective(monkeypatch):
    scene = random_planes(rows=40, columns=50, levels=8, seed=1)
    method = Pipeline([absolute_difference, step(truncated_linear, gradient_threshold=8), scanline_optimization])
    whole = method(scene, keep_volume=True)
    monkeypatch.setattr(strips, "STRIP_ROWS", 9)
    sliced = method(scene)
    np.testing.assert_array_equal(sliced.levels, whole.levels)
    assert sliced.objective == whole.objective is not None
    assert sliced.energy == pytest.approx(whole.energy, rel=1e-12)
    # The objective leaves out the vertical edges, and WTA knows of none.
    assert (
        whole.objective
        < whole.energy
        < Pipeline([absolute_difference, method.in_slot("smoothness"), winner_take_all])(scene).energy
    )


# The original program's energies with the paper's parameters (Scharstein & Szeliski 2002, Table 4).
@pytest.mark.parametrize(("name", "energy"), [("tsukuba", 1861469), ("sawtooth", 2929012), ("venus", 4292896), ("map", 1291559)])
def test_energies_of_the_original(name, energy, data):
    smoothness = step(potts, weight=50, gradient_threshold=8, gradient_penalty=2)
    method = Pipeline([step(absolute_difference, interval=True), smoothness, scanline_optimization])
    assert method(load_scene(name, data=data)).energy == energy
