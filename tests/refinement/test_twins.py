"""Refinements beside their slow twins: on maps with holes and any status, in either direction, in one thread and in several."""

import naive
import naive_refinement as naive_filling
import naive_scanlines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches, shapes

from stereo_framework import CostVolume, SearchRange
from stereo_framework.core.registration import stages
from stereo_framework.core.view import DisparityMap
from stereo_framework.core.volume import Status
from stereo_framework.refinement import (
    left_right_check_fast,
    median,
    parabola,
    region_voting,
    remove_speckles,
    weighted_median,
)

hole = np.nan
STAGES = {stage.name: stage for stage in stages("refinement")}
ARMS = [(34, 20.0, 17, 6.0), (3, 20.0, 1, 6.0), (9, 300.0, 2, 30.0), (1, 20.0, 1, 6.0)]
LIMITS = ("max_arm", "tau", "far_arm", "tau_far")


def plain(search):
    """Estimates, exact in float32, so that both subtract without rounding; halves are among them."""
    return [hole, hole, 3, 4, 4.5, 5.25, -1, 7]


def levels_and(*steps):
    """Levels, and what lies so many of them beside the first, the last and one in between."""

    def values(search):
        ends = [search.minimum, search.maximum, search.minimum + search.step]
        return [
            *search.disparities.tolist(),
            hole,
            *(end + step * search.step for step in steps for end in ends),
        ]

    return values


def voted(disparity, d, *, min_count, min_share, iterations, **arms):
    return naive_filling.region_voting(
        disparity,
        d.reference,
        d.search,
        d.status,
        min_count,
        min_share,
        iterations,
        tuple(arms.values()),
    )


def medians(disparity, d, *, size, sigma_colour, sigma_space, scope):
    chosen = (d.status != Status.MATCHED) | (scope == "everywhere")
    return naive_filling.weighted_median(
        disparity, d.reference, chosen, size // 2, sigma_colour, sigma_space
    )


CASES = {
    "border_fill": (
        plain,
        {"reach": [2, 1, 25], "gate": [2.5, 0.5], "max_slope": [0.3, 0.0, 5.0]},
        lambda disparity, d, **p: naive_filling.border_fill(
            disparity, d.reference, d.search, d.status, *p.values()
        ),
        (0, 1e-5),  # sums in float64, rounded once
    ),
    "discontinuity_adjustment": (
        levels_and(-1, 2, 0.25),
        {"disparity_gap": [1, 0, 0.5, 3]},
        lambda disparity, d, disparity_gap: naive_filling.discontinuity_adjustment(
            disparity, d.volume.costs, d.search, disparity_gap
        ),
        None,
    ),
    "equiangular": (
        levels_and(-1, 1, 0.3),
        {},
        lambda disparity, d: naive.equiangular(disparity, d.volume.costs, d.search),
        (1e-6, 1e-6),  # a few operations in float32
    ),
    "fill_occlusions": (
        plain,
        {"rule": ["background", "left"]},
        lambda disparity, d, rule: naive_scanlines.fill_occlusions(disparity, rule),
        None,
    ),
    "interpolate": (
        plain,
        {"rule": ["hirschmueller", "mei"]},
        lambda disparity, d, rule: naive_filling.interpolate(
            disparity, d.reference, d.status, rule
        ),
        None,
    ),
    "left_right_check": (
        levels_and(0.5, -0.5),
        {"tolerance": [1, 0, 0.5]},
        lambda disparity, d, tolerance: naive.left_right_check(
            disparity, d.other.disparity, d.status, d.search.direction, tolerance
        ),
        None,
    ),
    "left_right_check_fast": (
        levels_and(0.5, -0.5),
        {"tolerance": [1, 0, 0.5]},
        lambda disparity, d, tolerance: naive.left_right_check(
            disparity,
            naive.match_frames_winners(d.volume.costs, d.search),
            d.status,
            d.search.direction,
            tolerance,
        ),
        None,
    ),
    "median": (
        plain,
        {"size": [3, 1, 2, 4, 5, 6]},
        lambda disparity, d, size: naive.median(disparity, size),
        None,
    ),
    "parabola": (
        levels_and(-1, 1, 0.3),
        {"max_offset": [0.25, 0.5, 1.0]},
        lambda disparity, d, max_offset: naive.parabola(
            disparity, d.volume.costs, d.search, max_offset
        ),
        (1e-6, 1e-6),
    ),
    "region_voting": (
        levels_and(1 / 3, -1, 1),
        {
            "min_count": [2, 0, 5, 20],
            "min_share": [0.4, 0.5, 0, 1],
            "iterations": [1, 2, 3],
            LIMITS: ARMS,
        },
        voted,
        None,
    ),
    "remove_speckles": (
        plain,
        {"max_speckle_size": [2, 3, 1, 5, 8, 100], "max_diff": [1, 0, 0.5, 2.25]},
        lambda disparity, d, max_speckle_size, max_diff: naive_filling.remove_speckles(
            disparity, max_speckle_size, max_diff
        ),
        None,
    ),
    "weighted_median": (
        plain,
        {
            "size": [5, 3, 7, 19],
            ("sigma_colour", "sigma_space"): [
                (10, 9),
                (0.5, 1),
                (25.5, 2),
                (200, 0.4),
                (1e-3, 1e3),
            ],
            "scope": ["status", "everywhere"],
        },
        medians,
        None,
    ),
}
"""By stage: the values of its maps, the parameters to choose from, its twin, and by how much it may differ, relatively and absolutely; None: not at all."""


@pytest.mark.parametrize("name", CASES)
@given(
    data=st.data(),
    shape=shapes | st.just((7, 9)),
    search=searches([1, 1 / 2, 2, 1 / 4]),
    image=st.tuples(st.sampled_from([np.uint8, np.float32]), st.sampled_from([(), (3,)])),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(name, data, shape, search, image, threads):
    values, choices, twin, tolerance = CASES[name]
    stage, (kind, channels) = STAGES[name], image
    maps = [data.draw(filled(shape, np.array(values(search)))).astype(np.float32) for _ in range(2)]
    # Of some rows the beginning or the end is empty.
    ends = data.draw(
        filled(shape[:1], np.arange(shape[1] + 1) * data.draw(st.sampled_from([0, 1])))
    ).astype(int)
    maps[0][np.arange(shape[1])[:: search.direction] < ends[:, None]] = hole
    status = data.draw(filled(shape, np.array(list(Status)))).astype(np.uint8)
    # Few colours and costs, so that many are equal.
    costs = data.draw(filled((*shape, search.levels), np.array([0, 1, 2, 9, 30.5, 60]))).astype(
        np.float32
    )
    given_ = {
        "reference": data.draw(filled(shape + channels, np.array([50, 53, 60, 90, 255]))).astype(
            kind
        ),
        "search": search,
        "status": status,
        "volume": CostVolume(costs, search, 60.0),
        "other": DisparityMap(maps[1], status, search),
    }
    parameters = {}
    for names, several in choices.items():
        one = data.draw(st.sampled_from(several))
        parameters |= {names: one} if isinstance(names, str) else dict(zip(names, one, strict=True))
    taken = {key: given_[key] for key in stage.data if key in given_}
    with in_threads(threads):
        found = stage.public(disparity=maps[0], **taken, **parameters)
    expected = twin(maps[0], type("Data", (), given_), **parameters)
    both = [one if isinstance(one, tuple) else (one,) for one in (found, expected)]
    for array, wanted in zip(*both, strict=True):
        if tolerance is None or array.dtype == np.uint8:
            np.testing.assert_array_equal(array, wanted, strict=True)
        else:
            np.testing.assert_allclose(array, wanted, rtol=tolerance[0], atol=tolerance[1])


@pytest.mark.parametrize(("kind", "closed"), [(np.float32, 1e6), (np.uint16, 65535)])
def test_a_closed_cell_is_no_winner_of_the_match_frame(kind, closed):
    # Column 2 is found at 1 by mistake and points to column 1, which shows column 1. Only its closed cell of disparity 0 meets column 2.
    costs = np.array([[[0, 9], [0, 9], [closed, 5]]], kind)
    _, status = left_right_check_fast(
        np.float32([[0, 0, 1]]), CostVolume(costs, SearchRange(0, 1), 9.0), tolerance=0
    )
    assert status.tolist() == [[Status.MATCHED, Status.MATCHED, Status.OCCLUDED]]


def test_parabolas_in_large_ranges_stay_exact():
    # float32 disparities near 1000 are coarse, but still recognized as levels.
    costs, search = np.full((1, 1, 3001), 9, np.float32), SearchRange(0, 1000, 1 / 3)
    costs[..., 2999:] = 1, 3
    found = parabola(search.disparities[2999].reshape(1, 1), CostVolume(costs, search, 9.0))
    assert found[0, 0] == pytest.approx(2999 / 3 + 0.1, abs=1e-4)


@pytest.mark.parametrize(
    "order", [np.sort, lambda a: np.sort(a)[::-1], np.random.default_rng(1).permutation]
)
def test_medians_of_large_windows_in_any_order(order):
    # 21x21 pixels hold 441 values; the one in the middle has 220 below it.
    disparity = order(np.arange(441, dtype=np.float32)).reshape(21, 21)
    assert median(disparity, size=21)[10, 10] == 220


@pytest.mark.parametrize(
    ("count", "share", "expected"), [(4, 0.3, 4), (5, 0.3, hole), (4, 0.4, hole)]
)
def test_votes_must_exceed_count_and_share(count, share, expected):
    # 2 of 5 estimates.
    row, status = np.float32([[4, 4, 6, 7, 5, hole]]), np.uint8([[0, 0, 0, 0, 0, 1]])
    found, _ = region_voting(
        row,
        np.zeros((1, 6), np.uint8),
        SearchRange(0, 9),
        status,
        min_count=count,
        min_share=share,
    )
    np.testing.assert_equal(float(found[0, 5]), expected)


@pytest.mark.parametrize(("first", "last"), [(98, 110), (90, 102), (100, 106), (94, 100)])
@pytest.mark.parametrize("max_speckle_size", [5, 7])
def test_surfaces_that_cross_a_strip_are_measured_as_a_whole(first, last, max_speckle_size):
    """Two threads divide 200 rows at row 100, which a line of pixels crosses."""
    disparity = np.full((200, 3), hole, np.float32)
    disparity[first : last + 1, 1] = 4
    with in_threads(2):
        checked = remove_speckles(disparity, max_speckle_size=max_speckle_size)
    expected = disparity if last - first + 1 > max_speckle_size else np.full_like(disparity, hole)
    np.testing.assert_array_equal(checked, expected)


@pytest.mark.parametrize(
    ("costs", "max_offset", "expected"),
    [
        ([4, 1, 1, 4], 0.5, 1.5),
        ([4, 1, 1, 4], 0.25, 1),
        # The vertex lies at 1/4 of a level, and at -1/4.
        ([7, 2, 3, 9], 0.5, 1 + 1 / 3),
        ([5, 2, 3, 9], 0.25, 1.25),
        ([3, 2, 5, 9], 0.25, 0.75),
        ([5, 2, 3, 9], 0.125, 1),
        # At the end of the range, offset and limit count from the second level.
        ([2, 2, 5, 9], 0.5, 0.5),
        ([2, 2, 5, 9], 0.25, 0),
    ],
)
@pytest.mark.parametrize("step", [1, 1 / 2, 2])
def test_a_vertex_exactly_at_the_limit_is_accepted(costs, max_offset, expected, step):
    search = SearchRange(0, 3 * step, step)
    volume = CostVolume(np.float32([[costs]]), search, 9.0)
    lowest = np.argmin(costs)
    refined = parabola(np.float32([[lowest * step]]), volume, max_offset=max_offset)
    assert refined[0, 0] == pytest.approx(expected * step, abs=1e-6)


@pytest.mark.parametrize(
    ("row", "expected"), [([1, 9], 1), ([9, 1], 1), ([1, 9, 9], 9), ([1, 1, 9, 9], 1)]
)
def test_of_two_halves_of_equal_weight_the_lower_one_is_the_median(row, expected):
    disparity = np.float32([row])
    image = np.zeros(disparity.shape, np.uint8)
    status = np.zeros_like(image)
    # At this scale, all weights are equal.
    filtered = weighted_median(
        disparity, image, status, size=9, sigma_space=1e6, scope="everywhere"
    )
    assert (filtered == expected).all()
