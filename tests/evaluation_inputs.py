"""Small inputs of the evaluation's tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.core.scene import Frame, Scene

shapes = st.tuples(st.integers(1, 5), st.integers(1, 9))


def disparity_maps(shape=shapes):
    """Small maps with jumps, slants and unknown pixels."""
    eighths = st.integers(-24, 64).map(lambda n: n / 8)
    fractions = st.floats(-3, 8, width=32)
    return hnp.arrays(
        np.float32,
        shape,
        elements=st.one_of(eighths, st.integers(0, 3), fractions, st.just(np.nan)),
    )


def make_scene(truth=None, image=None, *, name="made", positions=(0, 1), **others):
    """A scene of two frames from arrays."""
    if image is None:
        image = np.zeros(np.shape(truth), np.uint8)
    truths = {} if truth is None else {(0, 1): lambda: np.array(truth, np.float32)}
    frames = tuple(Frame(f"frame{i}", image.copy, position) for i, position in enumerate(positions))
    return Scene(name, frames, truths=truths, **others)
