import naive_refinement
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes

from stereo_framework.core.volume import Status
from stereo_framework.refinement import median, weighted_median

hole = np.nan
matched, occluded, mismatched, full, invalid = map(int, Status)


def everywhere(disparity, image, **parameters):
    disparity = np.array(disparity, np.float32)
    status = np.zeros(disparity.shape, np.uint8)
    return weighted_median(disparity, np.array(image, np.uint8), status, where="everywhere", **parameters)


@given(
    data=st.data(),
    shape=shapes,
    radius=st.sampled_from([2, 1, 3, 9]),
    sigmas=st.sampled_from([(10, 9), (0.5, 1), (25.5, 2), (200, 0.4), (1e-3, 1e3)]),
    where=st.sampled_from(["status", "everywhere"]),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, radius, sigmas, where, kind, colour, threads):
    disparity = data.draw(filled(shape, np.array([hole, 3, -2, 0.5, 7, 7.25, 9, 11]))).astype(np.float32)
    status = data.draw(filled(shape, np.array([full, matched, mismatched, occluded, invalid]))).astype(np.uint8)
    # Few different colours: equal weights on both sides are what ties are made of.
    image = data.draw(filled(shape + (3,) * colour, np.array([50, 53, 60, 70, 255]))).astype(kind)
    sigma_colour, sigma_space = sigmas
    with in_threads(threads):
        found = weighted_median(
            disparity, image, status, size=2 * radius + 1, sigma_colour=sigma_colour, sigma_space=sigma_space, where=where
        )
    chosen = (status != matched) | (where == "everywhere")
    expected = naive_refinement.weighted_median(disparity, image, chosen, radius, sigma_colour, sigma_space)
    np.testing.assert_array_equal(found, expected, strict=True)


def test_equal_weights_give_the_median():
    disparity = np.random.default_rng(0).normal(20, 9, (20, 30)).astype(np.float32)
    # Weights of 1 but for a millionth, that is less than a unit.
    found = everywhere(disparity, np.zeros((20, 30)), size=5, sigma_space=1e4)
    # `median` replicates the border, which is left out here.
    np.testing.assert_array_equal(found[2:-2, 2:-2], median(disparity, size=5)[2:-2, 2:-2])


def test_weights_by_distance_and_by_colour():
    # exp(-1/2) = 0.61 of either neighbour, exp(-2) = 0.14 beyond them: 1 + 0.61 weigh more than the rest, 0.61 + 2 * 0.14.
    assert everywhere([[9, 9, 1, 1, 9]], np.full((1, 5), 8), size=5, sigma_space=1)[0, 2] == 1
    # All weigh about the same by distance; with the weights by colour only 1, 1 and 5 count.
    image = [[100, 100, 10, 10, 10]]
    assert everywhere([[9, 9, 5, 1, 1]], image, size=5, sigma_space=1e3)[0, 2] == 1
    assert everywhere([[9, 9, 5, 1, 1]], image, size=5, sigma_space=1e3, sigma_colour=1e4)[0, 2] == 5
