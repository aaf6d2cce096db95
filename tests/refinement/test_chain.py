"""Refinements one after the other, as pipelines run them."""

import numpy as np
import pytest

from stereo_framework import Pipeline, Scene, Search, step
from stereo_framework.core.scene import Frame
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global
from stereo_framework.refinement import (
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
