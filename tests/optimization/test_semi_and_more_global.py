import itertools
import tracemalloc
from pathlib import Path

import naive
import naive_semi_global
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads, searches
from numba import config

from stereo_framework import CostVolume, SearchRange
from stereo_framework.optimization import more_global_matching, semi_global, winner_take_all
from stereo_framework.optimization._semi_global_penalties import by_gradient

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "semi_global.npz")
PAIRS = [(3, 20), (20, 60), (40, 40), (0, 0), (0, 7), (0.75, 2.5)]
LEVELS = [2, 3, 31, 32, 33, 64, 70]


def volume_of(costs, search=None):
    return CostVolume(costs, search or SearchRange(0, costs.shape[2] - 1), 255.0)


def solve(costs, *, search=None, images=None, **parameters):
    """The labeling of costs, by default for images without any texture."""
    left, right = np.full((2, *costs.shape[:2]), 9, np.uint8) if images is None else images
    return semi_global(volume_of(costs, search), left, right, **parameters)


def sums(costs, **parameters):
    return solve(costs, **parameters).volume.costs


@st.composite
def problems(draw):
    """Whole costs below 64 and some of 255, images of the same size, and parameters."""
    images, search = draw(image_pairs()), draw(searches())
    costs = draw(filled((*images[0].shape[:2], search.levels), np.append(np.arange(64), [255] * 9)))
    p1, p2 = draw(st.sampled_from(PAIRS))
    parameters = {"paths": draw(st.sampled_from([8, 4])), "p1": p1, "p2": p2}
    parameters["penalties"] = draw(st.sampled_from(["edges", "gradient", "constant"]))
    parameters["grey_conversion"] = draw(st.sampled_from(["luma", "rounded_luma", "mean"]))
    # Intensities are random: few of their differences are small.
    parameters["edge_threshold"] = draw(st.sampled_from([120, 60, 15, 0]))
    return costs, images, search, parameters


@given(
    problem=problems(),
    kind=st.sampled_from([np.uint8, np.uint16, np.float32]),
    threads=st.integers(1, 2),
)
def test_agrees_with_twin(problem, kind, threads):
    costs, images, search, parameters = problem
    with in_threads(threads):
        result = solve(costs.astype(kind), search=search, images=images, **parameters)
    expected = naive_semi_global.path_sums(
        costs,
        *images,
        search,
        **{
            {"edge_threshold": "threshold"}.get(name, name): value
            for name, value in parameters.items()
        },
    )
    whole = all(value == int(value) for value in expected.flat)
    found = result.volume.costs
    if whole:
        np.testing.assert_array_equal(found, expected.astype(float))
    else:
        # float32 rounds each of the few hundred operations on a path to 6e-8 of at most some thousand.
        np.testing.assert_allclose(found, expected.astype(float), rtol=1e-5, atol=1e-3)
    assert found.dtype == np.float32 or (kind != np.float32 and whole)
    labels, _ = naive.winner_take_all(found)
    np.testing.assert_array_equal(result.levels, labels)


@pytest.mark.parametrize("paths", [4, 8])
@pytest.mark.compiled
def test_path_sums_are_those_of_libsgm(paths):
    p1, p2 = GOLDEN[f"penalties{paths}"].tolist()
    for kind in (np.uint8, np.uint16, np.float32):
        found = sums(GOLDEN["costs"].astype(kind), paths=paths, p1=p1, p2=p2)
        np.testing.assert_array_equal(found, GOLDEN[f"sums{paths}"])


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(
    ("penalties", "p1", "p2"), [("constant", 7, 40), ("gradient", 7, 300), ("edges", 20, 60)]
)
def test_integers_and_floats_give_the_same(levels, penalties, p1, p2):
    rng = np.random.default_rng(levels)
    costs = rng.integers(0, 63, (9, 11, levels)).astype(np.uint8)
    images = rng.integers(0, 60, (2, 9, 11, 3)).astype(np.uint8)
    results = [
        solve(costs.astype(kind), images=images, penalties=penalties, p1=p1, p2=p2)
        for kind in (np.uint8, np.uint16, np.float32)
    ]
    assert [r.volume.costs.dtype for r in results] == [np.uint16, np.uint16, np.float32]
    for result in results[:2]:
        np.testing.assert_array_equal(result.volume.costs, results[2].volume.costs)
        np.testing.assert_array_equal(result.levels, results[2].levels)
        np.testing.assert_array_equal(result.costs, results[2].costs)


@pytest.mark.parametrize(
    ("paths", "kind", "largest", "size"),
    [
        pytest.param(8, np.uint8, 255, 70, marks=pytest.mark.compiled),
        (8, np.uint16, 3000, 12),
        (4, np.uint16, 3000, 12),
    ],
)
def test_sums_never_wrap(paths, kind, largest, size):
    # Far from the border each path costs the largest cost and a change from the level that costs nothing.
    costs = np.zeros((size, size, 2), kind)
    costs[..., 1] = largest
    most = 65534 // paths - largest
    for p2, expected in ((most, np.uint16), (most + 1, np.float32)):
        found = sums(costs, paths=paths, p1=p2, p2=p2)
        assert found.dtype == expected
        assert found.max() == paths * (largest + p2)
        np.testing.assert_array_equal(
            found, sums(costs.astype(np.float32), paths=paths, p1=p2, p2=p2)
        )


@pytest.mark.compiled
def test_closed_cells_stay_closed_and_change_no_others():
    # The cells that a mask closes, and the pixels without an open cell, which cost nothing.
    rng = np.random.default_rng(4)
    costs = rng.integers(0, 63, (4, 7, 33)).astype(float)
    closed = rng.random(costs.shape) < 0.4
    empty = rng.random(costs.shape[:2]) < 0.1
    closed[empty] = True
    image = np.zeros(costs.shape[:2], np.uint8)
    infinite = np.where(closed, np.inf, costs)
    infinite[empty] = 0
    expected = naive_semi_global.path_sums(
        infinite, image, image, SearchRange(0, 32), 8, 9, 60, "constant", 0
    ).astype(float)
    is_open = np.isfinite(expected)
    for kind, mark in ((np.uint16, 65535), (np.float32, 1e6)):
        given_costs = np.where(np.isinf(infinite), mark, infinite).astype(kind)
        result = solve(given_costs, p1=9, p2=60)
        found = result.volume.costs
        assert found.dtype == kind
        np.testing.assert_array_equal(found[is_open], expected[is_open])
        assert (found[~is_open] >= mark).all()
        chosen = np.take_along_axis(closed, result.levels[..., None].astype(int), axis=2)[..., 0]
        np.testing.assert_array_equal(chosen, empty)


@pytest.mark.skipif(config.DISABLE_JIT, reason="without the JIT numpy's temporary arrays count")
def test_holds_no_volume_but_the_sums():
    costs = np.random.default_rng(6).integers(0, 63, (200, 5, 1000)).astype(np.uint8)
    solve(costs[:2])
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        found = sums(costs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Paths of a row and a class for each step and pixel are a twentieth of these sums.
    assert peak - before < 1.1 * found.nbytes


# --- more global matching ---------------------------------------------------------------------------------------------------

AXES = [(1, 0), (0, 1), (-1, 0), (0, -1)]
DIAGONALS = [(1, 1), (-1, 1), (-1, -1), (1, -1)]


def naive_quarters(costs, directions, p1, p2):
    """The sums by the formula, pixel by pixel: a direction (x, y) and the one a quarter turn on."""
    rows, columns, levels = costs.shape
    sums = np.zeros(costs.shape)
    penalty = np.array(
        [
            [0 if a == b else p1 if abs(a - b) == 1 else p2 for a in range(levels)]
            for b in range(levels)
        ],
        float,
    )
    for dx, dy in [*AXES, *DIAGONALS][:directions]:
        found = {}
        both = [(dx, dy), (-dy, dx)]
        # Each pixel after those that it hears from: both steps go on along their sum.
        ahead = [sum(step[k] for step in both) for k in (0, 1)]
        for y, x in sorted(
            itertools.product(range(rows), range(columns)),
            key=lambda p: ahead[0] * p[1] + ahead[1] * p[0],
        ):
            behind = [found[y - sy, x - sx] for sx, sy in both if (y - sy, x - sx) in found]
            heard = [(own + penalty).min(axis=1) - own.min() for own in behind]
            found[y, x] = costs[y, x] + (np.mean(heard, axis=0) if heard else 0)
            sums[y, x] += found[y, x]
    return sums


@given(
    costs=st.sampled_from(
        [(4, 5, 3), (3, 3, 4), (1, 6, 2), (5, 1, 3), (2, 2, 2), (5, 4, 2)]
    ).flatmap(lambda shape: filled(shape, np.arange(60))),
    directions=st.sampled_from([4, 8]),
    p1=st.sampled_from([0, 2, 7]),
    more=st.sampled_from([0, 5, 30]),
)
def test_more_global_sums_agree_with_the_formula(costs, directions, p1, more):
    found = more_global_matching(
        volume_of(np.asarray(costs, np.float32)), directions=directions, p1=p1, p2=p1 + more
    )
    expected = naive_quarters(np.asarray(costs, float), directions, p1, p1 + more)
    # Halves of whole numbers are exact in float32 for as long as they are few; beyond that they round.
    np.testing.assert_allclose(found.volume.costs, expected, rtol=1e-5)
    np.testing.assert_array_equal(found.levels, winner_take_all(found.volume).levels)


def test_closed_cells_stay_closed_in_quarters_too():
    costs = np.random.default_rng(7).integers(0, 40, (6, 8, 5)).astype(np.float32)
    costs[:, :3, 2] = np.nan
    costs[4, 5] = np.nan
    # A direct call refuses NaN; this is the function that pipelines call.
    found = more_global_matching.__wrapped__(volume_of(np.asarray(costs, np.float32)))
    assert (found.volume.costs[np.isnan(costs)] >= 1e6).all()
    assert (found.volume.costs[~np.isnan(costs)] < 1e5).all()


@pytest.mark.parametrize(
    ("p1", "p2", "expected"),
    [
        # p2 over differences of 1, 4, 8 and 7 grey levels: 150, 37.5, 18.75 and 21.4.
        (10, 150, [150, 38, 19, 21]),
        (10.5, 150, [150, 37.5, 18.75, 150 / 7]),
        # No price is below p1.
        (20, 150, [150, 38, 20, 21]),
    ],
)
def test_penalties_are_rounded_quotients_where_both_are_whole(p1, p2, expected):
    penalties = by_gradient(np.zeros((3, 4), np.uint8), 1, p1, p2, "luma")
    assert penalties.prices[[1, 4, 8, 7], 1].tolist() == expected
    assert (penalties.prices[1:, 0] == p1).all()
