import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes
from scipy.ndimage import gaussian_filter

from stereo_framework import Search
from stereo_framework.core.volume import Status
from stereo_framework.kernels.random_numbers import random_number
from stereo_framework.kernels.segments import _smoothed, segments
from stereo_framework.refinement import segment_planes

hole = np.nan
matched, occluded, mismatched, full, invalid = map(int, Status)


def run(disparity, image=None, status=None, search=Search(0, 99), **parameters):  # noqa: B008
    disparity = np.array(disparity, np.float32)
    image = np.zeros(disparity.shape, np.uint8) if image is None else image
    status = np.where(np.isnan(disparity), occluded, matched) if status is None else np.array(status)
    return segment_planes(disparity, image, search, status.astype(np.uint8), **parameters)


@given(
    data=st.data(),
    shape=shapes | st.just((6, 9)),
    values=st.sampled_from([(0, 3, 4, 9, 60, 255), tuple(range(256))]),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    sigma=st.sampled_from([0.5, 0.0, 1.2]),
    scale=st.sampled_from([150.0, 10.0, 1000.0, 1e-3]),
    minimum=st.sampled_from([1, 3, 60]),
)
def test_segments_agree_with_twin(data, shape, values, kind, colour, sigma, scale, minimum):
    image = data.draw(filled(shape + (3,) * colour, np.array(values))).astype(kind)
    found = segments(image, sigma, scale, minimum)
    np.testing.assert_array_equal(found, naive_refinement.segments(image, sigma, scale, minimum))
    assert found.dtype == np.int32


@pytest.mark.parametrize("minimum", [1, 20])
@pytest.mark.parametrize("scale", [30.0, 150.0])
def test_segments_are_those_of_scikit_image(scale, minimum):
    from skimage.segmentation import felzenszwalb

    # No two differences are alike, among which it sorts in any order; in 0..1, as it takes floats.
    noise = np.random.default_rng(1).random((40, 50, 3))
    noise[:, 20:] += 0.2
    expected = felzenszwalb(noise / 2, scale=scale, sigma=0.5, min_size=minimum)
    # It divides its scale by 255, for intensities in 0..1.
    found = segments(noise / 2 * 255, 0.5, scale, minimum)
    assert 1 < found.max() + 1 == len(np.unique(expected))
    pairs = {(a, b) for a, b in zip(found.flat, expected.flat, strict=True)}
    assert len(pairs) == found.max() + 1


def test_segments_do_not_depend_on_how_an_image_lies_in_memory():
    image = np.random.default_rng(5).integers(0, 256, (12, 16, 3)).astype(np.float64)
    assert np.array_equal(segments(np.asfortranarray(image), 0.8, 300.0, 3), segments(image, 0.8, 300.0, 3))


def test_segments_of_flat_fields():
    image = np.zeros((12, 12), np.uint8)
    image[:, 5:] = 200
    image[2:4, 7:9] = 90
    found = segments(image, 0.0, 150.0, 1)
    assert found[[0, 0, 2], [0, 11, 7]].tolist() == [0, 1, 2]
    assert np.unique(found).size == 3
    # Four pixels are too few: they join what differs least from them, the wall of 200.
    assert np.array_equal(segments(image, 0.0, 150.0, 5), np.minimum(found, 1))
    assert (segments(image, 0.0, 1e6, 1) == 0).all()


def naive(disparity, image, search, status, sigma, scale, minimum_size, tolerance, minimum_count, minimum_share, trials, seed):
    number = naive_refinement.segments(image, sigma, scale, minimum_size)
    keys = [int(key) >> 32 for key in np.random.PCG64(seed).random_raw(2)]
    filled_, told = disparity.copy(), status.copy()
    for segment in range(number.max() + 1):
        points = [(y, x, float(disparity[y, x])) for y, x in np.argwhere((number == segment) & ~np.isnan(disparity))]
        triples = []
        if points:
            draws = [random_number(3 * segment * trials + i, *keys) % len(points) for i in range(3 * trials)]
            triples = [draws[i : i + 3] for i in range(0, len(draws), 3)]
        plane = naive_refinement.segment_plane(points, triples, tolerance, minimum_count, minimum_share)
        for y, x in np.argwhere((number == segment) & np.isnan(disparity) & (status != invalid)) if plane is not None else ():
            value = plane[0] + plane[1] * y + plane[2] * x
            if search.minimum <= value <= search.maximum:
                filled_[y, x], told[y, x] = value, full
    return filled_, told


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(7, 9), (4, 5), (1, 12), (12, 1), (1, 1)]),
    count=st.sampled_from([3, 1, 10]),
    share=st.sampled_from([0.5, 0.0, 1.0]),
    scale=st.sampled_from([150.0, 2000.0]),
    trials=st.sampled_from([20, 1]),
    slopes=st.sampled_from([(0.25, 0.5), (0, 0), (1.5, -0.75), (0, 1.5)]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(seed, shape, count, share, scale, trials, slopes, threads):
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    # No two estimates of one distance from a plane, so that rounding decides nothing.
    disparity = (30 + slopes[0] * y + slopes[1] * x + rng.normal(0, 0.1, shape)).astype(np.float32)
    wrong = rng.random(shape) < 0.2
    disparity[wrong] = rng.uniform(0, 40, wrong.sum())
    disparity[rng.random(shape) < 0.4] = hole
    status = np.where(np.isnan(disparity), rng.choice([occluded, mismatched, invalid], shape), matched).astype(np.uint8)
    image = np.where(x < 5, 10, 200).astype(np.uint8)
    parameters = {
        "sigma": 0.5,
        "scale": scale,
        "minimum_size": 3,
        "tolerance": 0.8,
        "minimum_count": count,
        "minimum_share": share,
        "trials": trials,
        "seed": 7,
    }
    before = disparity.copy(), image.copy(), status.copy()
    search = Search(0, 33)
    with in_threads(threads):
        found, told = segment_planes(disparity, image, search, status, **parameters)
    expected, expected_told = naive(disparity, image, search, status, **parameters)
    # The twin solves its equations in another way.
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_array_equal(told, expected_told, strict=True)
    for array, copy in zip((disparity, image, status), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_plane_is_found_behind_outliers():
    rng = np.random.default_rng(4)
    y, x = np.mgrid[:20, :30]
    truth = 20 + y / 4 - x / 3
    disparity = np.where(rng.random(truth.shape) < 0.4, rng.uniform(0, 40, truth.shape), truth).astype(np.float32)
    disparity[8:12, 5:25] = hole
    found, told = run(disparity)
    # The estimates that lie on the plane by chance move it a little.
    np.testing.assert_allclose(found[8:12, 5:25], truth[8:12, 5:25], atol=0.1)
    np.testing.assert_array_equal(told == full, np.isnan(disparity))
    for seed in (1, 2):
        np.testing.assert_allclose(run(disparity, seed=seed)[0][8:12, 5:25], truth[8:12, 5:25], atol=0.1)


def test_a_segment_needs_enough_estimates_on_its_plane():
    disparity = np.full((6, 10), hole, np.float32)
    disparity[:2] = 4
    disparity[2] = 40 + 7 * np.arange(10) % 50
    assert np.isfinite(run(disparity, minimum_count=30)[0]).all()
    assert np.isnan(run(disparity, minimum_count=31)[0][3:]).all()
    # 20 of 30 estimates, and the one that may lie by it.
    assert np.isnan(run(disparity, minimum_share=0.75)[0][3:]).all()


def test_nothing_is_put_beyond_the_range_or_on_invalid_pixels():
    ramp = (np.indices((10, 20))[1] / 2).astype(np.float32)
    status = np.full(ramp.shape, matched)
    for row in (4, 5):
        ramp[row], status[row] = hole, occluded if row == 4 else invalid
    found, told = run(ramp, status=status, search=Search(1, 6))
    assert np.isfinite(found[4]).tolist() == [1 <= v / 2 <= 6 for v in range(20)]
    assert np.isnan(found[5]).all()
    assert told[4, 4] == full
    assert told[4, 0] == occluded
    assert (told[5] == invalid).all()


def test_estimates_of_one_row_or_column_give_a_level_plane():
    for disparity in (np.full((1, 40), 3.0), np.full((40, 1), 3.0)):
        disparity[::4, ::4] = hole
        assert (run(disparity)[0] == 3).all()


@pytest.mark.parametrize("sigma", [0, 0.5, 1.3])
@pytest.mark.parametrize("shape", [(7, 9, 3), (1, 4, 1), (5, 1, 1)])
def test_images_are_smoothed_as_scipy_does(shape, sigma):
    image = np.random.default_rng(0).uniform(0, 255, shape)
    np.testing.assert_array_equal(_smoothed(image, sigma), gaussian_filter(image, (sigma, sigma, 0)))
