"""Refinements one after the other, as pipelines run them."""

import numpy as np
import pytest
from kernel_inputs import in_threads
from pipeline_parts import assert_same_match, in_strips

from stereo_framework import CostVolume, Pipeline, Scene, Search, step
from stereo_framework.core.scene import Frame
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.refinement import (
    discontinuity_adjustment,
    equiangular,
    interpolate,
    left_right_check,
    remove_speckles,
    weighted_median,
)

ROWS, COLUMNS = 24, 44


def made(mirrored=False):
    """A textured wall at disparity 2 with a square at disparity 7 before it, seen from the left and, noisily, from the right."""
    rng = np.random.default_rng(8)
    wall, square = rng.integers(0, 256, (2, ROWS, COLUMNS + 10, 3))
    left, right = wall[:, :COLUMNS].copy(), wall[:, 2 : COLUMNS + 2].copy()
    left[6:18, 20:34], right[6:18, 13:27] = square[6:18, 20:34], square[6:18, 20:34]
    right = np.clip(right + rng.integers(-40, 41, right.shape), 0, 255)
    images = [image[:, ::-1] if mirrored else image for image in (left, right)]
    left, right = (image.astype(np.uint8) for image in images)
    # In the mirror the right frame lies at the left of the other.
    frames = Frame("left", lambda: left, 0), Frame("right", lambda: right, -1 if mirrored else 1)
    return Scene("made", frames, search=Search(0, 9))


def method(*refinements):
    return Pipeline([step(census, width=5, height=5), semi_global, equiangular, left_right_check, *refinements])


@pytest.mark.compiled
def test_status_follows():
    holes, islands = method()(made()), method(step(remove_speckles, size=20))(made())
    gone = np.isnan(islands.disparity) & np.isfinite(holes.disparity)
    assert gone.any()
    assert (islands.status[gone] == Status.MISMATCHED).all()
    full = method(step(remove_speckles, size=20), interpolate)(made())
    assert np.isfinite(full.disparity).all()
    np.testing.assert_array_equal(full.status == Status.FILLED, np.isnan(islands.disparity))
    # A median of what was filled fills nothing itself.
    np.testing.assert_array_equal(
        method(step(remove_speckles, size=20), interpolate, weighted_median)(made()).status, full.status
    )


def test_what_the_square_hides_is_filled_with_the_wall():
    match = method(step(remove_speckles, size=20), interpolate)(made())
    # The other view shows five columns less of the wall at the left of the square. Census windows blur its edges by two pixels.
    hidden = match.disparity[8:16, 15:18]
    assert np.median(np.abs(hidden - 2)) < 0.5


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rule", ["hirschmueller", "mei"])
@pytest.mark.compiled
def test_the_mirror_image_in_the_other_direction_gives_the_mirrored_map(rule, threads):
    fill = step(interpolate, rule=rule)
    chain = method(step(remove_speckles, size=20), fill, weighted_median, discontinuity_adjustment)
    with in_threads(threads):
        expected, mirrored = chain(made()), chain(made(mirrored=True))
    assert mirrored.search.direction == -1
    np.testing.assert_array_equal(mirrored.disparity[:, ::-1], expected.disparity)
    np.testing.assert_array_equal(mirrored.status[:, ::-1], expected.status)


@pytest.mark.parametrize("height", [1, 4, 7])
@pytest.mark.compiled
def test_strips_give_the_same(height):
    local = Pipeline(
        [
            step(census, width=5, height=5),
            winner_take_all,
            step(remove_speckles, size=6),
            step(weighted_median, radius=2, where="everywhere"),
            discontinuity_adjustment,
        ]
    )
    whole = in_strips(1000, local, made())
    assert 0 < np.isnan(whole.disparity).sum() < whole.disparity.size
    assert_same_match(in_strips(height, local, made()), whole)


@pytest.mark.parametrize(
    "bound",
    [
        step(remove_speckles, size=3),
        step(weighted_median, radius=2, where="everywhere"),
        step(discontinuity_adjustment),
    ],
    ids=lambda bound: bound.stage.name,
)
def test_a_row_needs_no_more_than_its_halo(bound):
    rng = np.random.default_rng(6)
    shape, search = (12, 30), Search(0, 5)
    data = {
        "disparity": rng.integers(0, 6, shape).astype(np.float32),
        "reference": np.full(shape, 80, np.uint8),
        "status": np.zeros(shape, np.uint8),
        "volume": CostVolume(rng.random((*shape, 6), np.float32), search, 1.0),
    }
    whole = bound(data)
    for y in range(shape[0]):
        top, bottom = max(0, y - bound.halo), y + bound.halo + 1
        cut = {name: array[top:bottom] for name, array in data.items() if name != "volume"}
        part = bound({**cut, "volume": CostVolume(data["volume"].costs[top:bottom], search, 1.0)})
        np.testing.assert_array_equal(part[y - top], whole[y])
