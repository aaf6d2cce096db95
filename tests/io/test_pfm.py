"""PFM files, compared with bytes that the tests pack themselves."""

import struct

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.io import read_pfm, write_pfm


def written(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("scale", "order"), [("2.5", ">"), ("-2.5", "<"), ("1", ">"), ("-1.0", "<"), ("-0.003922", "<")]
)
def test_the_sign_of_the_scale_selects_the_byte_order(tmp_path, scale, order):
    bottom = [1.5, -2.0, 3.25]
    top = [10.0, 11.0, 12.5]
    data = f"Pf\n3 2\n{scale}\n".encode() + struct.pack(f"{order}6f", *bottom, *top)
    values = read_pfm(written(tmp_path / "a.pfm", data))
    assert values.dtype == np.float32
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, [top, bottom])


@pytest.mark.parametrize(
    "header",
    [b"Pf 2 1 -1\n", b"Pf\r\n2 1\r\n-1\r\n", b"Pf\n2  1 \n-1.0 \n", b"Pf\t2\n\n1 -1e0 \r\n"],
)
def test_white_space_in_the_header_may_differ(tmp_path, header):
    path = written(tmp_path / "a.pfm", header + struct.pack("<2f", 3, 4))
    np.testing.assert_array_equal(read_pfm(path), [[3, 4]])


def test_values_whose_bytes_are_white_space_are_kept(tmp_path):
    blank = b"\n\r \t" * 2
    path = written(tmp_path / "a.pfm", b"Pf 2 1 -1\n" + blank)
    assert read_pfm(path).tobytes() == blank


def test_pfm_files_in_colour_are_read(tmp_path):
    data = b"PF\n1 2\n-1\n" + struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    np.testing.assert_array_equal(
        read_pfm(written(tmp_path / "a.pfm", data)), [[[4, 5, 6]], [[1, 2, 3]]]
    )


@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (3, 2, 3)])
def test_a_written_pfm_file_is_read_again(tmp_path, shape):
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    values.flat[0] = np.nan
    if values.size > 2:
        values.flat[1:3] = np.inf, -np.inf
    write_pfm(tmp_path / "a.pfm", values)
    np.testing.assert_array_equal(read_pfm(tmp_path / "a.pfm"), values)


def test_a_pfm_file_has_the_bottom_row_first(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.array([[1.0], [2.0]]))
    assert (tmp_path / "a.pfm").read_bytes() == b"Pf\n1 2\n-1.0\n" + struct.pack("<2f", 2, 1)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (0, 3)])
def test_arrays_of_other_shapes_are_refused(tmp_path, shape):
    with pytest.raises(DataError, match="does not fit a PFM file"):
        write_pfm(tmp_path / "a.pfm", np.zeros(shape))


def test_values_of_middlebury_ground_truth_are_unchanged(data):
    path = data / "middlebury-v3" / "trainingQ" / "Pipes" / "disp0GT.pfm"
    values = read_pfm(path)
    file_bytes = path.read_bytes()
    rows, columns = values.shape
    assert file_bytes.startswith(f"Pf\n{columns} {rows}\n-0.003922\n".encode())
    values_start = len(file_bytes) - 4 * rows * columns
    first_row = struct.unpack_from(f"<{columns}f", file_bytes, values_start)
    np.testing.assert_array_equal(values[-1], first_row)
    assert np.isinf(values).any()
    # ndisp in the calib.txt of the scene is 75.
    assert 5 < values[np.isfinite(values)].max() < 75
