"""The measures that are made from a pixel's costs, each beside a slow twin."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import in_threads, search_masks, volumes

from stereo_framework import CostVolume, SearchRange
from stereo_framework import confidence as family

TINY = 1e-6


def second_minimum(c, chosen):
    """Costs by level; None: the level does not count. The chosen one's is there in any case."""
    seen = [k for k, cost in enumerate(c.seen) if cost is not None]
    if not seen:
        return c.chosen
    inside = range(c.first, c.stop)
    found = []
    for k in seen:
        # A closed cell is higher than any other; beyond what is in view nothing is.
        below = k - 1 not in inside or c.seen[k] < high(c.seen[k - 1])
        above = k + 1 not in inside or c.seen[k] <= high(c.seen[k + 1])
        if k != chosen and below and above and len(inside) > 1:
            found.append(c.seen[k])
    return min(found, default=max([c.chosen, *(c.seen[k] for k in seen)]))


def high(cost):
    return math.inf if cost is None else cost


def second(c, chosen):
    return min(
        (cost for k, cost in enumerate(c.seen) if cost is not None and k != chosen),
        default=c.chosen,
    )


def total(c, of):
    """The mean over the levels that count, as if all were like them."""
    found = [of(cost) for cost in c.seen if cost is not None]
    return len(c.seen) * (sum(found) / len(found) if found else of(0))


def total_excess(c, of):
    found = [of(max(cost - c.chosen, 0)) for cost in c.seen if cost is not None]
    return len(c.seen) * (sum(found) / len(found) if found else of(0))


def curvature(c, d):
    sides = [c.seen[k] for k in (d - 1, d + 1) if 0 <= k < len(c.seen) and c.seen[k] is not None]
    return sides[0] + sides[-1] - 2 * c.chosen if sides else 0


def entropy(c, d):
    every = total(c, lambda cost: math.exp(-cost))
    return total(c, lambda cost: math.exp(-cost) / every * math.log(math.exp(-cost) / every))


def ambiguity(c, d):
    # The share of levels within an excess, over a thousand excesses; the mean of what counts steps is off by half of one at most.
    steps = [0.7 * (i + 0.5) / 1000 for i in range(1000)]
    alike = total_excess(c, lambda excess: sum(excess < step for step in steps) / 1000)
    return 1 - (alike - 1) / (len(c.seen) - 1)


TWINS = {
    "matching_score": lambda c, d: -c.chosen,
    "curvature": curvature,
    "peak_ratio": lambda c, d: (second_minimum(c, d) + TINY) / (c.chosen + TINY),
    "peak_ratio_naive": lambda c, d: (second(c, d) + TINY) / (c.chosen + TINY),
    "winner_margin": lambda c, d: (second_minimum(c, d) - c.chosen) / (total(c, float) + TINY),
    "winner_margin_naive": lambda c, d: (second(c, d) - c.chosen) / (total(c, float) + TINY),
    "entropy": entropy,
    "maximum_likelihood": lambda c, d: 1 / total_excess(c, lambda e: math.exp(-e / (2 * 0.3**2))),
    "attainable_likelihood": lambda c, d: (
        1 / total_excess(c, lambda e: math.exp(-(e**2) / (2 * 0.1**2)))
    ),
    "ambiguity": ambiguity,
}


class Pixel(NamedTuple):
    """Costs in shares of the largest that counts."""

    seen: list  # by level, None = does not count
    all: list
    chosen: float
    first: int  # in view
    stop: int


def open_cells(volume, mask):
    marked = CostVolume(np.zeros(volume.costs.shape, np.float32), volume.search, 0.0)
    if mask is not None:
        mask.exclude(marked, 1)
    return marked.costs == 0


def pixels(volume, mask, labels):
    costs, opened = volume.costs.astype(float), open_cells(volume, mask)
    counts = opened & volume.inside
    largest = max(costs[counts].max(initial=0), TINY)
    found = {}
    for y, x in np.ndindex(labels.shape):
        own = [cost / largest for cost in costs[y, x].tolist()]
        seen = [cost if known else None for cost, known in zip(own, counts[y, x], strict=True)]
        view = np.flatnonzero(volume.inside[x])
        ends = (view[0], view[-1] + 1) if view.size else (0, 0)
        # Cells closed around the chosen one stand for nothing in the second difference.
        every = [cost if known else 0 for cost, known in zip(own, opened[y, x], strict=True)]
        found[y, x] = Pixel(seen, every, every[labels[y, x]], *ends)
    return found


@st.composite
def inputs(draw):
    volume = draw(volumes())
    if draw(st.booleans()):
        volume = dataclasses.replace(
            volume, costs=np.minimum(volume.costs, 65534).astype(np.uint16)
        )
    rows, columns, levels = volume.costs.shape
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # The lowest level mostly, as optimizers choose; some other ones, and some pixels without any.
    labels = np.where(
        rng.random((rows, columns)) < 0.7,
        volume.costs.argmin(axis=2),
        rng.integers(0, levels, (rows, columns)),
    )
    disparity = volume.search.disparity_of(labels)
    disparity[rng.random(labels.shape) < 0.1] = np.nan
    return disparity, labels, volume, draw(search_masks((rows, columns)))


@given(given=inputs(), threads=st.integers(1, 3))
@pytest.mark.parametrize("name", TWINS)
def test_agrees_with_its_twin(name, given, threads):
    disparity, labels, volume, mask = given
    own = pixels(volume, mask, labels)
    expected = np.array(
        [
            [TWINS[name](own[y, x], labels[y, x]) for x in range(labels.shape[1])]
            for y in range(len(labels))
        ]
    )
    with in_threads(threads):
        found = getattr(family, name)(disparity, volume, mask)
    assert found.dtype == np.float32
    known = ~np.isnan(disparity)
    # Float32 costs, or sums of them; the twin of the ambiguity counts steps.
    tolerance = 2e-3 if name == "ambiguity" else 1e-5
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-5, atol=tolerance)
    # No estimate: the lowest value of the map.
    assert (found[~known] <= found.min()).all()


@given(given=inputs(), threads=st.integers(1, 3))
def test_left_right_difference_agrees_with_its_twin(given, threads):
    disparity, labels, volume, mask = given
    costs, search, opened = pixels(volume, mask, labels), volume.search, open_cells(volume, mask)
    _, columns, levels = opened.shape

    def met(x, k):
        return x * search.denominator - search.direction * (search.first + search.stride * k)

    with in_threads(threads):
        found = family.left_right_difference(disparity, volume, mask)
    for y, x in np.ndindex(disparity.shape):
        if np.isnan(disparity[y, x]):
            continue
        own, d = costs[y, x], labels[y, x]
        cells = [
            (i, k)
            for i in range(columns)
            for k in range(levels)
            if met(i, k) == met(x, d) and opened[y, i, k]
        ]
        best = min((costs[y, i].all[k] for i, k in cells), default=0)
        expected = (second(own, d) - own.chosen) / (abs(own.chosen - best) + TINY)
        # Differences of float32 costs, divided by what may be a millionth.
        assert found[y, x] == pytest.approx(expected, rel=1e-4, abs=0.2)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        # Shares of the largest cost: 1, 0, 1 and 0.5. The second level is chosen.
        ("ambiguity", {}, 1 - (1 - 0.5 / 0.7) / 3),
        ("ambiguity", {"eta_max": 1.0}, 1 - 0.5 / 3),
        ("ambiguity", {"eta_max": 0.5}, 1.0),
        ("ambiguity", {"eta_max": 0.25}, 1.0),
        (
            "maximum_likelihood",
            {"sigma": 0.5},
            1 / (1 + 2 * math.exp(-1 / 0.5) + math.exp(-0.5 / 0.5)),
        ),
        ("maximum_likelihood", {"sigma": 1.0}, 1 / (1 + 2 * math.exp(-1 / 2) + math.exp(-0.5 / 2))),
        (
            "attainable_likelihood",
            {"sigma": 0.5},
            1 / (1 + 2 * math.exp(-1 / 0.5) + math.exp(-0.25 / 0.5)),
        ),
        (
            "attainable_likelihood",
            {"sigma": 1.0},
            1 / (1 + 2 * math.exp(-1 / 2) + math.exp(-0.25 / 2)),
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_parameters_change_the_measure(name, parameters, expected, dtype):
    costs = np.array([4 * [[10, 0, 10, 5]]], dtype)
    volume = CostVolume(costs, SearchRange(0, 3), 10.0)
    disparity = np.ones((1, 4), np.float32)
    measured = getattr(family, name)(disparity, volume, **parameters)
    assert measured[0, 3] == pytest.approx(expected, abs=1e-5)


def test_a_pixel_without_an_estimate_has_the_lowest_confidence_of_all_estimates():
    # The costs at the first pixel are the highest, but none of them was chosen.
    costs = np.float32([[[9, 9], [9, 2], [9, 8]]])
    disparity = np.float32([[np.nan, 1, 1]])
    measured = family.matching_score(disparity, CostVolume(costs, SearchRange(0, 1), 9.0))
    assert measured.tolist() == [pytest.approx([-8 / 9, -2 / 9, -8 / 9])]
