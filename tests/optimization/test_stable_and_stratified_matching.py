import dataclasses

import naive_correlation
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches
from naive_stable import Table, within_components

from stereo_framework import CostVolume, Pipeline, SearchRange, load_scene, step
from stereo_framework.matching_cost import normalized_cross_correlation
from stereo_framework.optimization import stable_matching, stratified_matching

WHOLE = (1, 2, 3)
# Eighths: similarities and margins are exact, so that twins and kernel decide ties alike. Few values make many ties.
COSTS = np.arange(17) / 8
parameters = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0, 20, 2000]),
        "beta": st.sampled_from([0, 0.125, 0.5]),
        "size": st.sampled_from([2, 3]),
        "ordering": st.booleans(),
        "two_sided": st.booleans(),
    }
)


@st.composite
def problems(draw, columns, levels=None):
    """A volume, its images and its parameters."""
    search = draw(searches(WHOLE))
    if levels:
        search = SearchRange(
            search.minimum,
            search.minimum + (levels - 1) * search.step,
            search.step,
            search.direction,
        )
    shape = draw(st.sampled_from([3, 1])), draw(columns)
    volume = CostVolume(
        draw(filled((*shape, search.levels), COSTS)).astype(np.float32), search, 2.0
    )
    images = [draw(filled(shape, np.arange(256))).astype(np.uint8) for _ in range(2)]
    return volume, images, draw(parameters)


def tables(volume, images, parameters):
    rules = {k: v for k, v in parameters.items() if k != "size"}
    for y in range(volume.costs.shape[0]):
        variances = [
            [
                float(naive_correlation.variance(image, y, x, parameters["size"]))
                for x in range(image.shape[1])
            ]
            for image in images
        ]
        yield Table(volume.costs[y], volume.search, *variances, **rules)


@given(problem=problems(st.sampled_from([9, 12, 5, 2, 1])), threads=st.integers(1, 3))
def test_agrees_with_twin(problem, threads):
    volume, images, parameters = problem
    with in_threads(threads):
        result = stable_matching(volume, *images, **parameters)
    for y, table in enumerate(tables(*problem)):
        assert result.levels[y].tolist() == table.labels(table.greedy(), volume.costs.shape[1])


@given(
    data=st.data(),
    search=searches((1, 2, 3)),
    shape=st.sampled_from([(4, 9, 3), (3, 7), (5, 4, 3), (1, 6)]),
    min_similarity=st.sampled_from([0.5, 0.8, 0, -0.25]),
    size=st.sampled_from([3, 5, 2]),
    ordering=st.booleans(),
    threads=st.integers(1, 3),
)
def test_is_stable_matching_within_components(
    data, search, shape, min_similarity, size, ordering, threads
):
    images = [data.draw(filled(shape, np.arange(256))).astype(np.uint8) for _ in range(2)]
    # Eighths, and thresholds that some of them are equal to.
    costs = data.draw(filled((*shape[:2], search.levels), np.arange(17) / 8)).astype(np.float32)
    volume = CostVolume(costs, search, 2.0)
    parameters = {"size": size, "ordering": ordering, "alpha": 20, "beta": 0.05}
    with in_threads(threads):
        result = stratified_matching(volume, *images, min_similarity=min_similarity, **parameters)
    adapted = within_components(volume, *images, min_similarity, size)
    # Costs between components are infinite, which a call from outside refuses.
    expected = stable_matching.__wrapped__(
        dataclasses.replace(volume, costs=adapted), *images, **parameters
    )
    np.testing.assert_array_equal(result.levels, expected.levels)


@pytest.mark.parametrize(
    "scene",
    [
        "tsukuba",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("venus", "teddy", "cones")),
    ],
)
def test_larger_margins_give_sparser_maps_and_fewer_errors(scene, data):
    scene = load_scene(f"middlebury-v2/{scene}", data=data)
    nonocc = scene.mask("nonocc")

    def measured(alpha, beta):
        method = Pipeline(
            [normalized_cross_correlation, step(stable_matching, alpha=alpha, beta=beta)]
        )
        disparity = method(scene).disparity
        matched = np.isfinite(disparity) & nonocc
        return matched.sum() / nonocc.sum(), (np.abs(disparity - scene.truth)[matched] > 1).mean()

    found = [
        measured(alpha, beta)
        for alpha, beta in ((0, 0), (0, 0.05), (10, 0.05), (50, 0.1), (150, 0.3))
    ]
    density, error = zip(*found, strict=True)
    assert density[0] > 0.95
    assert (np.diff(density) < 0).all()
    # Beyond that what is left lies along edges of high contrast, where windows see two surfaces: errors need not fall further.
    assert error[0] > error[1] > error[2]
    assert error[2] < 0.5 * error[0]
