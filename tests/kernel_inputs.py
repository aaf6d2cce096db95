"""Small inputs of the kernels' tests, degenerate ones among them.

Hypothesis tends to the first of several choices and to small numbers. The first choices are therefore the rich ones, and values come
from a seeded generator, so that most examples can show a mistake.
"""

import contextlib

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import stereo_framework
from stereo_framework import CostVolume, Energy, SearchRange, Smoothness
from stereo_framework.core.volume import SearchMask
from stereo_framework.kernels import threads

shapes = st.tuples(st.sampled_from([3, 4, 2, 1]), st.sampled_from([7, 8, 6, 5, 4, 3, 2, 1]))
STEPS = (1 / 2, 1, 2, 1 / 4, 3, 1 / 3)
KINDS_OF_STEPS = ((1 / 2, 1 / 4), (1, 2, 3), (1 / 3,))
"""Fractions, whole pixels, which meet no sample between two, and what no float32 number is."""


@contextlib.contextmanager
def in_threads(count):
    """Small arrays too are spread over `count` threads."""
    with pytest.MonkeyPatch.context() as patch, stereo_framework.threads(count):
        patch.setattr(threads, "_MIN_WORK_PER_THREAD", 1)
        yield


@st.composite
def filled(draw, shape, values):
    """An array float64 of any of `values`, of two of them with many ties, or of one."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.sampled_from([len(values), 2, 1]))
    return rng.choice(rng.choice(values, count, replace=False), shape).astype(float)


@st.composite
def searches(draw, steps=STEPS):
    """Ranges on the grid of their step, of 2 to 7 levels: below, around and above 0, wider than small images, either direction."""
    step = draw(st.sampled_from(steps))
    minimum = draw(st.sampled_from([-2, 0, 1, -1, 3, -4, -9, 6])) * min(step, 1)
    levels = draw(st.sampled_from([6, 7, 5, 4, 3, 2]))
    # The maximum need not be a level.
    maximum = minimum + (levels - 1 + draw(st.sampled_from([0, 0.4]))) * step
    return SearchRange(minimum, maximum, step, draw(st.sampled_from([1, -1])))


@st.composite
def image_pairs(draw, dtypes=(np.uint8, np.float32)):
    """Two images of one shape and type, grey or in colour."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes) + draw(st.sampled_from([(3,), ()]))
    fraction = draw(st.sampled_from([1, 3.7])) if dtype == np.float32 else 1
    return tuple((draw(filled(shape, np.arange(256))) / fraction).astype(dtype) for _ in range(2))


@st.composite
def volumes(draw, searches=searches()):  # noqa: B008  A strategy is immutable.
    """Volumes of costs with some of the large ones that cells out of view have; sums of them are exact in float64."""
    search = draw(searches)
    outside_cost = draw(st.sampled_from([1020, 260100, 255]))
    values = np.append(np.arange(256) / draw(st.sampled_from([16, 1])), [outside_cost] * 30)
    return CostVolume(
        draw(filled((*draw(shapes), search.levels), values)).astype(np.float32),
        search,
        float(outside_cost),
    )


@st.composite
def priors(draw, rows, columns, levels):
    """Edge weights and a penalty table."""
    right, down = (
        draw(filled((rows, columns), np.arange(40))).astype(np.float32) for _ in range(2)
    )
    right[:, -1] = down[-1] = 0
    rho = draw(filled(levels, np.arange(10))).astype(np.float32)
    rho[0] = 0
    return Smoothness(right, down, rho)


RHOS = {
    "potts": lambda k: np.minimum(k, 1),
    "linear": lambda k: k,
    "truncated linear": lambda k: np.minimum(2 * k, 5),
    "squared": lambda k: k**2,
    "truncated squared": lambda k: np.minimum(k**2, 5),
    "concave": lambda k: np.minimum(k, 1) + (k > 2),
    "no order": lambda k: np.array([0, 3, 1, 4, 2, 4, 0, 1])[k % 8],
    "none": lambda k: 0 * k,
}
METRICS = ("potts", "linear", "truncated linear")


@st.composite
def problems(draw, shapes, levels=(4, 5, 3, 2), rhos=tuple(RHOS)):
    """Costs and a smoothness term of whole numbers: everything is exact in float32."""
    rows, columns = draw(st.sampled_from(shapes))
    levels = draw(st.sampled_from(levels))
    costs = draw(filled((rows, columns, levels), np.arange(60))).astype(np.float32)
    right, down = (
        draw(filled((rows, columns), np.arange(12))).astype(np.float32) for _ in range(2)
    )
    right[:, -1] = down[-1] = 0
    return costs, Smoothness(
        right, down, RHOS[draw(st.sampled_from(rhos))](np.arange(levels)).astype(np.float32)
    )


def labellings(rows, columns, levels, lowest=0):
    """Levels of `levels` levels; with `lowest` -1 some are unassigned."""
    return hnp.arrays(np.int16, (rows, columns), elements=st.integers(lowest, levels - 1))


@st.composite
def guided_volumes(draw, steps, coarser):
    """A volume and two images of its size, whose colours are alike in places: some have so many times fewer grey levels."""
    search = draw(searches(steps))
    images = draw(image_pairs())
    if draw(st.booleans()):
        images = tuple((image // coarser).astype(image.dtype) for image in images)
    shape = (*images[0].shape[:2], search.levels)
    costs = draw(filled(shape, np.append(np.arange(256) / 16, [1020] * 30))).astype(np.float32)
    return CostVolume(costs, search, 1020.0), images


@st.composite
def search_masks(draw, shape):
    """Masks of both images, of one, or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masks = [rng.random(shape) < draw(st.sampled_from([0.8, 0.3])) for _ in range(2)]
    return draw(st.sampled_from([SearchMask(*masks), SearchMask(masks[0]), None]))


def energy_of(costs, smoothness):
    """Costs of any type, at levels from 0 on, with a smoothness term."""
    costs = np.asarray(costs, np.float32)
    return Energy(CostVolume(costs, SearchRange(0, costs.shape[2] - 1), 255.0), smoothness)


def smoothness_of(rows, columns, rho, weight=1.0):
    """The same weight at every edge of an image, or one each, (2, rows, columns)."""
    weights = np.full((2, rows, columns), weight, np.float32)
    weights[0, :, -1] = weights[1, -1] = 0
    return Smoothness(weights[0], weights[1], np.asarray(rho, np.float32))


def parts(energy):
    """Volume and smoothness of an energy, as optimizers take them."""
    return energy.volume, energy.smoothness
