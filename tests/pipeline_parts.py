"""Small scenes for the tests of pipelines."""

import numpy as np
import pytest

from stereo_framework import Scene, SearchRange
from stereo_framework.core.scene import Frame
from stereo_framework.engine import strips

local = {"source": "a test", "halo": lambda: 0}
not_local = {"source": "a test"}
MIRRORED = 24, 40
"""Size of the pair by which the engine sees that a plug-in's cost obeys the direction."""


def make_scene(reference, match, search=None, **others):
    left, right = Frame("left.png", reference.copy, 0), Frame("right.png", match.copy, 1)
    return Scene("made", (left, right), search=search, **others)


def textured(shift=2, rows=9, columns=20, search=None):
    """A scene with the disparity `shift` everywhere and no intensity twice in a row of pixels: no cost but the right one is 0."""
    texture = np.random.default_rng(3).permuted(
        np.tile(np.arange(256, dtype=np.uint8), (rows, 1)), axis=1
    )[:, : columns + shift]
    return make_scene(texture[:, :columns], texture[:, shift:], search or SearchRange(0, 4))


def ramp(shift, search):
    """A scene with the disparity `shift` everywhere, in which wrong disparities are the worse the further they are off."""
    texture = np.tile(np.arange(0, 220, 10, dtype=np.uint8), (9, 1))
    return make_scene(texture[:, :-shift], texture[:, shift:], search)


def in_strips(height, method, scene, **arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strips, "STRIP_ROWS", height)
        return method(scene, **arguments)


def assert_same_match(match, expected):
    for name in ("disparity", "status", "levels"):
        np.testing.assert_array_equal(
            getattr(match, name), getattr(expected, name), err_msg=name, strict=True
        )
    assert (match.energy, match.search, match.warnings) == (
        expected.energy,
        expected.search,
        expected.warnings,
    )
