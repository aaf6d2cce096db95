import naive_scanlines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches

from stereo_framework import (
    CostVolume,
    Energy,
    Labeling,
    Pipeline,
    SearchRange,
    Smoothness,
    load_scene,
    step,
)
from stereo_framework.core.errors import ParameterError
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import dynamic_programming, maximum_likelihood_matching
from stereo_framework.smoothness import linear, potts

EXACT_STEPS = (1, 1 / 2, 2, 1 / 4, 3)


@st.composite
def problems(draw, columns, levels, steps=EXACT_STEPS):
    """Energies of whole numbers with a Potts term or none, and an occlusion cost: everything is exact in float32."""
    search = draw(searches(steps))
    search = SearchRange(
        search.minimum,
        search.minimum + (draw(levels) - 1) * search.step,
        search.step,
        search.direction,
    )
    shape = draw(st.sampled_from([3, 1])), draw(columns), search.levels
    costs = draw(filled(shape, np.append(np.arange(60), [1020] * 9))).astype(np.float32)
    smoothness = None
    if draw(st.sampled_from([True, True, False])):
        right = draw(filled(shape[:2], np.arange(40))).astype(np.float32)
        right[:, -1] = 0
        smoothness = Smoothness(
            right, np.zeros_like(right), (np.arange(search.levels) > 0).astype(np.float32)
        )
    return Energy(CostVolume(costs, search, 1020.0), smoothness), draw(
        st.sampled_from([8, 20, 0, 60])
    )


def rows_of(energy, occlusion_cost):
    """The twin of every row."""
    costs, search = energy.volume.costs, energy.volume.search
    weights = energy.smoothness.right if energy.smoothness else np.zeros(costs.shape[:2])
    for y in range(costs.shape[0]):
        yield naive_scanlines.OcclusionRow(
            costs[y], weights[y], occlusion_cost * search.step, search
        )


def check(result: Labeling, energy, found):
    assert result.levels.tolist() == [labels for labels, _ in found]
    assert result.objective == sum(cost for _, cost in found)


@given(
    problem=problems(st.sampled_from([11, 6, 3, 2, 1]), st.sampled_from([5, 9, 3, 2])),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(problem, threads):
    energy, occlusion_cost = problem
    with in_threads(threads):
        result = dynamic_programming(
            energy.volume, energy.smoothness, occlusion_cost=occlusion_cost
        )
    check(result, energy, [row.solve() for row in rows_of(energy, occlusion_cost)])


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 33])
def test_rows_do_not_depend_on_each_other(rows):
    rng = np.random.default_rng(rows)
    volume = CostVolume(
        rng.integers(0, 50, (rows, 12, 6)).astype(np.float32), SearchRange(0, 5), 255.0
    )
    energy = Energy(volume, potts(np.zeros((rows, 12), np.uint8), volume.search, weight=5))
    result = dynamic_programming(energy.volume, energy.smoothness, occlusion_cost=10)
    check(result, energy, [row.solve() for row in rows_of(energy, 10)])


def test_path_costs_above_a_million():
    costs = np.array([[[3e6, 2e6], [3e6, 4e6]]], np.float32)
    result = dynamic_programming(CostVolume(costs, SearchRange(0, 1), 255.0), occlusion_cost=1e6)
    assert result.levels.tolist() == [[0, 0]]
    assert result.objective == 6e6


def test_refuses_penalties_that_grow():
    volume = CostVolume(np.zeros((1, 3, 3), np.float32), SearchRange(0, 2), 255.0)
    term = linear(np.zeros((1, 3), np.uint8), volume.search)
    with pytest.raises(
        ParameterError, match=r"^dynamic_programming: a jump pays once.*use smoothness: potts$"
    ):
        dynamic_programming(volume, term)


@st.composite
def volumes_of(draw, columns):
    """Volumes of few whole costs, with many ties, or of any up to 60."""
    search = draw(searches((1, 2, 3)))
    shape = draw(st.sampled_from([3, 1])), draw(columns), search.levels
    return CostVolume(
        draw(filled(shape, np.append(np.arange(0, 60, 4), [255] * 3))).astype(np.float32),
        search,
        255.0,
    )


def price(volume, labels, occlusion):
    """Cost of a row's matching, from the definition; it must be one to one and in order."""
    search = volume.search
    total, positions = 0.0, []
    for y, x in np.ndindex(labels.shape):
        if labels[y, x] < 0:
            total += 2 * occlusion
            continue
        total += float(volume.costs[y, x, labels[y, x]])
        positions.append(
            (y, x - search.direction * int(search.minimum + labels[y, x] * search.step))
        )
    assert positions == sorted(set(positions))
    assert all(0 <= u < labels.shape[1] for _, u in positions)
    return total


@given(
    volume=volumes_of(st.sampled_from([5, 6, 4, 3, 1])),
    occlusion=st.sampled_from([8, 20, 3.5, 0, 200]),
    threads=st.integers(1, 3),
)
def test_no_ordered_matching_is_cheaper(volume, occlusion, threads):
    with in_threads(threads):
        result = maximum_likelihood_matching(volume, occlusion_cost=occlusion)
    expected = sum(
        naive_scanlines.best_ordered_matching(row, volume.search, occlusion)[1]
        for row in volume.costs
    )
    assert result.objective == expected == price(volume, result.levels, occlusion)
    # A match as dear as its two pixels left out is none.
    assert (result.costs[result.levels >= 0] < 2 * occlusion).all()


# The original program's energies with the paper's parameters (Scharstein & Szeliski 2002, Table 4), occlusions filled from the left.
@pytest.mark.parametrize(
    ("name", "energy"),
    [("tsukuba", 1633678), ("sawtooth", 2785251), ("venus", 3590920), ("map", 996443)],
)
def test_energies_of_the_original(name, energy, data):
    smoothness = step(potts, weight=20, gradient_threshold=8, gradient_penalty=4)
    cost = step(absolute_difference, birchfield_tomasi=True)
    assert (
        Pipeline([cost, smoothness, dynamic_programming])(load_scene(name, data=data)).energy
        == energy
    )
