import collections
import itertools
import os

import naive_moves
import numpy as np
import pytest

from stereo_framework.optimization import _visiting

SHAPES = ((5, 7), (1, 9), (9, 1), (1, 1), (30, 40))
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
each_shape = pytest.mark.parametrize("shape", SHAPES)


def numbers(order, bounds, shape):
    """The number of every pixel's round, after checking that each pixel is in one and that rounds have no neighbours."""
    assert order.dtype == np.int32
    assert bounds[0] == 0
    assert bounds[-1] == order.size
    assert (np.diff(bounds) > 0).all()
    np.testing.assert_array_equal(np.sort(order), np.arange(shape[0] * shape[1]))
    number = np.empty(order.size, int)
    number[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    number = number.reshape(shape)
    assert (np.diff(number, axis=0) != 0).all()
    assert (np.diff(number, axis=1) != 0).all()
    return number


@each_shape
def test_raster_order_is_kept(shape):
    number = numbers(*_visiting.fixed_rounds("raster", *shape), shape)
    assert (np.diff(number, axis=0) > 0).all()
    assert (np.diff(number, axis=1) > 0).all()


@each_shape
def test_checkerboard_has_two_rounds(shape):
    number = numbers(*_visiting.fixed_rounds("checkerboard", *shape), shape)
    np.testing.assert_array_equal(number, np.indices(shape).sum(axis=0) % 2)


@each_shape
def test_neighbours_are_visited_by_priority(shape):
    pixels = shape[0] * shape[1]
    number = numbers(*_visiting.random_rounds(*shape, 5, 2**32 - 3), shape)
    priorities = np.array([naive_moves.random32(p, 5, 2**32 - 3) for p in range(pixels)]).reshape(shape)
    for axis in (0, 1):
        np.testing.assert_array_equal(np.diff(number, axis=axis) > 0, np.diff(priorities, axis=axis) > 0)


def test_of_equals_the_first_comes_first():
    shape = (6, 8)
    priorities = np.full((shape[0] + 2, shape[1]), 2**31 - 1, np.int32)
    priorities[1:-1] = 2**30 - 1
    found = _visiting.rounds_by_priority(priorities.reshape(-1), shape[1])
    for ours, expected in zip(found, _visiting.fixed_rounds("raster", *shape), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_all_orders_are_equally_likely():
    # Of the 24 orders of 2x2 pixels several give the same rounds; so many of 24 is how often they must occur.
    def rounds(order):
        rank = np.argsort(order)
        before = [{q for q in range(4) if q != 3 - p and rank[q] < rank[p]} for p in range(4)]
        number = dict.fromkeys(range(4), 0)
        for p in order:
            number[p] = max((number[q] + 1 for q in before[p]), default=0)
        return tuple(number[p] for p in range(4))

    expected = collections.Counter(rounds(order) for order in itertools.permutations(range(4)))
    draws = 24_000 if JIT else 2400
    keys = np.random.default_rng(0).integers(0, 2**32, (draws, 2))
    observed = collections.Counter(tuple(numbers(*_visiting.random_rounds(2, 2, a, b), (2, 2)).ravel().tolist()) for a, b in keys)
    assert set(observed) == set(expected)
    chi_square = sum((observed[r] - draws * n / 24) ** 2 / (draws * n / 24) for r, n in expected.items())
    # 13 degrees of freedom: exceeded once in a thousand seeds.
    assert len(expected) == 14
    assert chi_square < 34.5
