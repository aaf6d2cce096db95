import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches
from naive_stable import within_components

from stereo_framework import CostVolume
from stereo_framework.optimization import stable_matching, stratified_matching


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
