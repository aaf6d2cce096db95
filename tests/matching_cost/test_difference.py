import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import KINDS_OF_STEPS, image_pairs, in_threads, searches

from stereo_framework import SearchRange
from stereo_framework.matching_cost import _difference, absolute_difference, squared_difference

COSTS = [absolute_difference, squared_difference]
parameters = st.fixed_dictionaries(
    {
        "truncation": st.none() | st.sampled_from([1, 20, 50.5, 1000]),
        "birchfield_tomasi": st.sampled_from([True, "symmetric", False]),
        "interpolation": st.sampled_from(["linear", "cubic"]),
    }
)


@pytest.mark.parametrize("steps", KINDS_OF_STEPS)
@pytest.mark.parametrize("cost", COSTS)
@given(data=st.data(), images=image_pairs(), parameters=parameters, threads=st.integers(1, 3))
def test_agrees_with_twin(cost, steps, data, images, parameters, threads):
    squared, search = cost is squared_difference, data.draw(searches(steps))
    with in_threads(threads):
        volume = cost(*images, search, **parameters)
    expected, outside_cost = naive.difference(*images, search, squared=squared, **parameters)
    assert volume.costs.dtype == np.float32
    assert volume.search == search
    assert volume.outside_cost == outside_cost
    if images[0].dtype == np.uint8:
        np.testing.assert_array_equal(volume.costs, expected)
    else:
        # Float images: the kernel rounds samples and differences to float32, the twin its result alone.
        np.testing.assert_allclose(
            volume.costs, expected, rtol=1e-5, atol=1e-6 * 1020 ** (2 if squared else 1)
        )


@pytest.mark.parametrize("levels", [15, 16, 17, 33, 48])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("cost", COSTS)
def test_agrees_with_twin_where_levels_fill_vectors(cost, dtype, direction, levels):
    # Sixteen levels are computed at once; in some columns all are in view, in the others some.
    images = np.random.default_rng(levels).integers(0, 256, (2, 2, 40, 3)).astype(dtype)
    search = SearchRange(-9, levels - 10, 1, direction)
    for truncation in (None, 50.5):
        volume = cost(*images, search, truncation=truncation)
        expected, _ = naive.difference(
            *images, search, squared=cost is squared_difference, truncation=truncation
        )
        np.testing.assert_array_equal(volume.costs, expected)


def grey(*values):
    return np.array([values], np.uint8)


@pytest.mark.parametrize(
    ("cost", "shape", "truncation", "outside_cost"),
    [
        (absolute_difference, (2, 3), None, 255),
        (absolute_difference, (2, 3, 3), None, 1020),
        (squared_difference, (2, 3), None, 65025),
        (squared_difference, (2, 3, 3), None, 260100),
        (absolute_difference, (2, 3, 3), 1000, 1000),
        (absolute_difference, (2, 3), 20, 20),
        (squared_difference, (2, 3), 1e300, 65025),
        (squared_difference, (2, 3, 3), 20, 400),
        (squared_difference, (2, 3, 3), 1000, 260100),
    ],
)
def test_the_outside_cost_is_the_worst_cost_or_the_truncation(
    cost, shape, truncation, outside_cost
):
    # Colour counts four channels: 4 * 255 and 4 * 255^2.
    image = np.zeros(shape, np.uint8)
    volume = cost(image, image, SearchRange(0, 1), truncation=truncation)
    assert volume.outside_cost == outside_cost
    assert (volume.costs[:, 0] == [0, outside_cost]).all()


def test_cubic_samples_are_neither_halved_nor_clipped():
    # Weights half-way: -1/8 5/8 5/8 -1/8, that is 318.75 and -63.75, truncated toward zero.
    search = SearchRange(-0.5, 0, 0.5)
    black = grey(0, 0, 0, 0)
    assert absolute_difference(black, grey(0, 255, 255, 0), search).costs[0, 1, 0] == 318
    assert absolute_difference(black, grey(255, 0, 0, 255), search).costs[0, 1, 0] == 63
    floats = [image.astype(np.float32) for image in (black, grey(0, 255, 255, 0))]
    assert absolute_difference(*floats, search).costs[0, 1, 0] == 318.75
    assert absolute_difference(*floats, search, interpolation="linear").costs[0, 1, 0] == 255


def test_large_volumes_begin_at_huge_pages(monkeypatch):
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 9, 3), dtype=np.uint8)
    small = absolute_difference(*images, SearchRange(0, 5)).costs
    monkeypatch.setattr(_difference, "_LARGE", 1)
    large = absolute_difference(*images, SearchRange(0, 5)).costs
    np.testing.assert_array_equal(large, small)
    assert large.ctypes.data % 2**21 == 0
    assert large.flags.c_contiguous
