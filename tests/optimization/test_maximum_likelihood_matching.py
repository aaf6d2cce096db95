import naive_scanlines
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches

from stereo_framework import CostVolume
from stereo_framework.optimization import maximum_likelihood_matching


@st.composite
def volumes_of(draw, columns):
    """Volumes of few whole costs, with many ties, or of any up to 60."""
    search = draw(searches((1, 2, 3)))
    shape = draw(st.sampled_from([3, 1])), draw(columns), search.levels
    return CostVolume(draw(filled(shape, np.append(np.arange(60), [255] * 9))).astype(np.float32), search, 255.0)


def price(volume, labels, occlusion):
    """Cost of a row's matching, from the definition; it must be one to one and in order."""
    search = volume.search
    total, positions = 0.0, []
    for y, x in np.ndindex(labels.shape):
        if labels[y, x] < 0:
            total += 2 * occlusion
            continue
        total += float(volume.costs[y, x, labels[y, x]])
        positions.append((y, x - search.direction * int(search.minimum + labels[y, x] * search.step)))
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
    expected = sum(naive_scanlines.best_ordered_matching(row, volume.search, occlusion)[1] for row in volume.costs)
    assert result.objective == expected == price(volume, result.levels, occlusion)
    chosen = np.take_along_axis(volume.costs, np.maximum(result.levels, 0)[..., None].astype(int), axis=2)[..., 0]
    np.testing.assert_array_equal(result.costs, np.where(result.levels < 0, 0, chosen))
    assert (result.levels.dtype, result.costs.dtype) == (np.int16, np.float32)
    # A match as dear as its two pixels left out is none.
    assert (result.costs[result.levels >= 0] < 2 * occlusion).all()
