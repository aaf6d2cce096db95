"""Point clouds as PLY files, read back by a reader written from the format's description."""

import numpy as np
import pytest
from naive_files import read_ply

from stereo_framework.core.errors import DataError
from stereo_framework.io import write_points


def test_what_is_written_is_read(tmp_path):
    rng = np.random.default_rng(3)
    points, colours = (
        rng.normal(size=(7, 3)).astype(np.float32),
        rng.integers(0, 256, (7, 3)).astype(np.uint8),
    )
    write_points(tmp_path / "a.ply", points, colours)
    vertices = read_ply(tmp_path / "a.ply")
    np.testing.assert_array_equal(np.stack([vertices[name] for name in "xyz"], 1), points)
    np.testing.assert_array_equal(
        np.stack([vertices[name] for name in ("red", "green", "blue")], 1), colours
    )


def test_no_points(tmp_path):
    write_points(tmp_path / "a.ply", np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))
    assert len(read_ply(tmp_path / "a.ply")) == 0


def test_arrays_that_do_not_fit(tmp_path):
    with pytest.raises(DataError, match=r"a\.ply: points \(2, 3\) and colours \(3, 3\)"):
        write_points(tmp_path / "a.ply", np.zeros((2, 3), np.float32), np.zeros((3, 3), np.uint8))
