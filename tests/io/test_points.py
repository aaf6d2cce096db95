"""Point clouds as PLY files, read by a naive reader of the format."""

import numpy as np
import pytest
from naive_files import read_ply

from stereo_framework.core.errors import DataError
from stereo_framework.io import write_points


def test_written_points_are_read_again(tmp_path):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(7, 3)).astype(np.float32)
    colours = rng.integers(0, 256, (7, 3)).astype(np.uint8)
    write_points(tmp_path / "a.ply", points, colours)
    vertices = read_ply(tmp_path / "a.ply")
    coordinates = np.stack([vertices[axis] for axis in "xyz"], axis=1)
    np.testing.assert_array_equal(coordinates, points)
    channels = np.stack([vertices[name] for name in ("red", "green", "blue")], axis=1)
    np.testing.assert_array_equal(channels, colours)


def test_a_cloud_without_points_is_written(tmp_path):
    write_points(tmp_path / "a.ply", np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))
    assert len(read_ply(tmp_path / "a.ply")) == 0


def test_points_and_colours_of_different_numbers_are_refused(tmp_path):
    points = np.zeros((2, 3), np.float32)
    colours = np.zeros((3, 3), np.uint8)
    with pytest.raises(DataError, match=r"points have shape \(2, 3\) and colours \(3, 3\)"):
        write_points(tmp_path / "a.ply", points, colours)
