import dataclasses
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches
from naive_stable import within_components

from stereo_framework import CostVolume, load_scene
from stereo_framework.matching_cost import normalized_cross_correlation
from stereo_framework.optimization import stable_matching, stratified_matching

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


@given(
    data=st.data(),
    search=searches((1, 2, 3)),
    shape=st.sampled_from([(4, 9, 3), (3, 7), (5, 4, 3), (1, 6)]),
    threshold=st.sampled_from([0.5, 0.8, 0, -0.25]),
    size=st.sampled_from([3, 5, 2]),
    ordering=st.booleans(),
    threads=st.integers(1, 3),
)
def test_is_stable_matching_within_components(data, search, shape, threshold, size, ordering, threads):
    images = [data.draw(filled(shape, np.arange(256))).astype(np.uint8) for _ in range(2)]
    # Eighths, and thresholds that some of them are equal to.
    costs = data.draw(filled((*shape[:2], search.levels), np.arange(17) / 8)).astype(np.float32)
    volume = CostVolume(costs, search, 2.0)
    parameters = {"size": size, "ordering": ordering, "alpha": 20, "beta": 0.05}
    with in_threads(threads):
        result = stratified_matching(volume, *images, threshold=threshold, **parameters)
    adapted = within_components(volume, *images, threshold, size)
    expected = stable_matching(dataclasses.replace(volume, costs=adapted), *images, **parameters)
    np.testing.assert_array_equal(result.levels, expected.levels)
    chosen = np.take_along_axis(costs, np.maximum(result.levels, 0)[..., None].astype(int), axis=2)[..., 0]
    np.testing.assert_array_equal(result.costs, np.where(result.levels < 0, 0, chosen))


def measured(scene, stage, **parameters):
    """Fraction of the visible pixels that is matched, of these wrongly, and fraction of the other pixels that is matched."""
    visible = ~scene.mask("occluded")
    images = scene.reference, scene.match
    labels = stage(normalized_cross_correlation(*images, scene.search), *images, **parameters).levels
    matched, wrong = labels >= 0, np.abs(scene.search.disparity_of(labels) - scene.truth) > 1
    return matched[visible].mean(), wrong[matched & visible].mean(), matched[~visible].mean()


@pytest.mark.skipif(not JIT, reason="takes minutes uncompiled")
@pytest.mark.parametrize("name", ["stripes", "slits"])
def test_errs_less_at_edges(name):
    scene = load_scene(f"synthetic/{name}")
    fixed, adaptive = (measured(scene, stage, alpha=10, beta=0.05) for stage in (stable_matching, stratified_matching))
    # As many matches, fewer of them wrong, and fewer where there is nothing to match.
    assert adaptive[0] > 0.9 * fixed[0]
    assert adaptive[1] < 0.75 * fixed[1]
    assert adaptive[2] < 0.8 * fixed[2]
