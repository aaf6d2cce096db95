"""The parameter `min_decrease`, by which iterative optimizers stop early."""

import numpy as np
import pytest
from pipeline_parts import make_scene

from stereo_framework import CostVolume, Energy, Pipeline, SearchRange, Smoothness, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.optimization import (
    belief_propagation,
    graph_cut,
    graph_cut_occlusion,
    icm,
    trw_s,
)
from stereo_framework.optimization._stopping import lowers_too_little
from stereo_framework.smoothness import truncated_linear

pytestmark = pytest.mark.compiled

ROWS, COLUMNS, LEVELS = 40, 50, 8
LIMIT = 60

CASES = {
    "accelerated": (belief_propagation, {}, 10),
    "synchronous": (belief_propagation, {"schedule": "synchronous"}, 10),
    "sequential": (belief_propagation, {"schedule": "sequential", "damping": 0.0}, 10),
    "trees": (trw_s, {}, 10),
    "descent": (icm, {}, 10),
    "expansion": (graph_cut, {"move": "expansion"}, 1),
    "swap": (graph_cut, {"move": "swap"}, 1),
}
"""Stage, its parameters, and the number of iterations that are judged together."""


def problem(rows=ROWS, columns=COLUMNS, levels=LEVELS):
    rng = np.random.default_rng(3)
    image = rng.integers(0, 50, (rows, columns), np.uint8)
    search = SearchRange(0, levels - 1)
    costs = rng.integers(0, 50, (rows, columns, levels)).astype(np.float32)
    return CostVolume(costs, search, 255.0), truncated_linear(image, search, weight=9, truncation=2)


def labels_by_hand(optimizer, parameters, period, min_decrease, start):
    """Make one iteration more at a time, and apply the rule to the energies."""
    volume, smoothness = problem()
    energy = Energy(volume, smoothness)
    energies = [] if start is None else [energy.of(start)]
    for iterations in range(1, LIMIT + 1):
        result = optimizer(volume, smoothness, iterations=iterations, **parameters)
        energies.append(result.trace[-1][1])
        is_judged = period == 1 or (iterations % 10 == 0 and iterations > 10)
        if not is_judged:
            continue
        earlier = min(energies[:-period])
        if min(energies) >= (1 - min_decrease) * earlier:
            break
    return result.levels, iterations


@pytest.mark.parametrize("min_decrease", [0.02, 0.001])
@pytest.mark.parametrize("name", CASES)
def test_the_rule_gives_the_labels_of_a_naive_loop(name, min_decrease):
    optimizer, parameters, period = CASES[name]
    volume, smoothness = problem()
    winners = volume.costs.argmin(axis=2) if period == 1 else None
    expected, iterations = labels_by_hand(optimizer, parameters, period, min_decrease, winners)

    result = optimizer(
        volume, smoothness, iterations=LIMIT, min_decrease=min_decrease, **parameters
    )

    np.testing.assert_array_equal(result.levels, expected)
    # icm and graph_cut also end when nothing changes.
    converged = optimizer(volume, smoothness, iterations=LIMIT, **parameters)
    assert len(result.trace) == min(iterations, len(converged.trace))


def test_the_rule_ends_the_iterations_of_each_optimizer_early():
    volume, smoothness = problem()
    for optimizer, parameters, _ in CASES.values():
        if optimizer is icm:
            continue
        long = optimizer(volume, smoothness, iterations=LIMIT, **parameters)
        short = optimizer(volume, smoothness, iterations=LIMIT, min_decrease=0.02, **parameters)
        assert len(short.trace) < len(long.trace)
        assert [point[1] for point in short.trace] == [
            point[1] for point in long.trace[: len(short.trace)]
        ]


def test_descent_ends_early():
    # The last pixel has level 1. One pixel more takes this level in each sweep,
    # because an edge is the stronger, the further right it is.
    costs = np.tile(np.array([0, 1], np.float32), (1, 60, 1))
    costs[0, -1] = 1000, 0
    right = 2 * np.arange(60, dtype=np.float32)[np.newaxis]
    volume = CostVolume(costs, SearchRange(0, 1), 1000.0)
    smoothness = Smoothness(right, np.zeros_like(right), np.array([0, 1], np.float32))
    energies = [energy for _, energy in icm(volume, smoothness).trace]
    assert len(energies) > 40
    decrease = 1 - energies[19] / energies[9]
    assert 0.05 < decrease < 0.11

    result = icm(volume, smoothness, min_decrease=0.11)
    assert len(result.trace) == 20
    expected = icm(volume, smoothness, iterations=20)
    np.testing.assert_array_equal(result.levels, expected.levels)
    assert len(icm(volume, smoothness, min_decrease=0.05).trace) == len(energies)


def test_cycles_with_occlusions_end_early():
    volume, _ = problem()
    images = np.random.default_rng(1).integers(0, 50, (2, ROWS, COLUMNS), np.uint8)
    parameters = {"weight": 4.0, "occlusion_cost": 15.0}
    objectives = []
    for iterations in range(1, LIMIT):
        expected = graph_cut_occlusion(volume, *images, iterations=iterations, **parameters)
        objectives.append(expected.objective)
        if iterations > 1 and objectives[-1] >= 0.99 * objectives[-2]:
            break
    result = graph_cut_occlusion(volume, *images, min_decrease=0.01, **parameters)
    np.testing.assert_array_equal(result.levels, expected.levels)
    assert len(result.trace) == iterations
    assert len(result.trace) < len(graph_cut_occlusion(volume, *images, **parameters).trace)


def test_energies_that_rise_for_some_iterations_do_not_count():
    energies = [100.0, 50.0, 70.0, 49.99]
    assert lowers_too_little(energies, 0.001, period=2)
    assert not lowers_too_little(energies, 0.0001, period=2)
    # A negative energy is lowered by the same share of its size.
    assert lowers_too_little([-100.0, -100.05], 0.001, period=1)
    assert not lowers_too_little([-100.0, -100.2], 0.001, period=1)
    # An energy of 0 that stays 0 ends the iterations.
    assert lowers_too_little([0.0, 0.0], 0.0, period=1)


@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan")])
@pytest.mark.parametrize("optimizer", [belief_propagation, trw_s, icm, graph_cut])
def test_shares_outside_of_the_range_are_refused(optimizer, value):
    with pytest.raises(ParameterError, match="min_decrease"):
        optimizer(*problem(3, 4, 2), min_decrease=value)


def pair_of(mask):
    rng = np.random.default_rng(5)
    match = rng.integers(0, 200, (40, 60), np.uint8)
    reference = np.roll(match, 3, axis=1)
    reference = np.clip(reference + rng.integers(0, 40, (40, 60)), 0, 255).astype(np.uint8)
    search_mask = None
    if mask:
        valid = np.ones((40, 60), bool)
        valid[5:20, 10:30] = False
        search_mask = SearchMask(valid)
    scene = make_scene(reference, match, SearchRange(0, 7))
    return Pair(scene.reference, scene.match, scene.search, search_mask)


def method_of(name, **limits):
    optimizer, parameters, _ = CASES[name]
    return Pipeline(
        [
            step("absolute_difference"),
            step("truncated_linear", weight=15.0, truncation=2),
            step(optimizer, **parameters, **limits),
        ]
    )


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_each_view_of_a_pair_stops_by_its_own_energy(name, mask):
    pair = pair_of(mask)
    method = method_of(name, iterations=LIMIT, min_decrease=0.001)
    [(_, estimates)] = PipelineRunner([method], pair, both=True)
    for estimate, one in zip(estimates, (pair, pair.exchanged()), strict=True):
        iterations = len(method.estimate(one).trace)
        assert iterations < LIMIT
        expected = method_of(name, iterations=iterations).estimate(one)
        np.testing.assert_array_equal(estimate.disparity, expected.disparity)


def test_each_tile_stops_by_its_own_energy():
    pair = pair_of(mask=False)
    tiles = step("tiles", tile_size=24, overlap=8)
    rule = method_of("trees", iterations=LIMIT, min_decrease=0.02)
    disparity = Pipeline([*rule.steps, tiles]).estimate(pair).disparity
    assert np.isfinite(disparity).all()
    long = Pipeline([*method_of("trees", iterations=LIMIT).steps, tiles]).estimate(pair)
    assert (disparity == long.disparity).mean() > 0.9
