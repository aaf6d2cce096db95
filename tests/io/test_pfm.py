"""PFM files against bytes put together by hand."""

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
def test_rows_order_and_scale(tmp_path, scale, order):
    bottom, top = [1.5, -2.0, 3.25], [10.0, 11.0, 12.5]
    data = f"Pf\n3 2\n{scale}\n".encode() + struct.pack(f"{order}6f", *bottom, *top)
    values = read_pfm(written(tmp_path / "a.pfm", data))
    assert values.dtype == np.float32
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, [top, bottom])


@pytest.mark.parametrize(
    "header",
    [b"Pf 2 1 -1\n", b"Pf\r\n2 1\r\n-1\r\n", b"Pf\n2  1 \n-1.0 \n", b"Pf\t2\n\n1 -1e0 \r\n"],
)
def test_header_white_space_is_free(tmp_path, header):
    np.testing.assert_array_equal(
        read_pfm(written(tmp_path / "a.pfm", header + struct.pack("<2f", 3, 4))), [[3, 4]]
    )


def test_data_that_look_like_white_space_are_kept(tmp_path):
    blank = b"\n\r \t" * 2
    np.testing.assert_array_equal(
        read_pfm(written(tmp_path / "a.pfm", b"Pf 2 1 -1\n" + blank)).tobytes(), blank
    )


def test_colour(tmp_path):
    data = b"PF\n1 2\n-1\n" + struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    np.testing.assert_array_equal(
        read_pfm(written(tmp_path / "a.pfm", data)), [[[4, 5, 6]], [[1, 2, 3]]]
    )


@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (3, 2, 3)])
def test_round_trip(tmp_path, shape):
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    values.flat[0] = np.nan
    if values.size > 2:
        values.flat[1:3] = np.inf, -np.inf
    write_pfm(tmp_path / "a.pfm", values)
    np.testing.assert_array_equal(read_pfm(tmp_path / "a.pfm"), values)


def test_written_bytes(tmp_path):
    write_pfm(tmp_path / "a.pfm", np.array([[1.0], [2.0]]))
    assert (tmp_path / "a.pfm").read_bytes() == b"Pf\n1 2\n-1.0\n" + struct.pack("<2f", 2, 1)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (0, 3)])
def test_write_refuses_other_shapes(tmp_path, shape):
    with pytest.raises(DataError, match="does not fit a PFM file"):
        write_pfm(tmp_path / "a.pfm", np.zeros(shape))


def test_real_truth_keeps_its_values(data):
    path = data / "middlebury-v3" / "trainingQ" / "Pipes" / "disp0GT.pfm"
    values, raw = read_pfm(path), path.read_bytes()
    rows, columns = values.shape
    assert raw.startswith(f"Pf\n{columns} {rows}\n-0.003922\n".encode())
    np.testing.assert_array_equal(
        values[-1], struct.unpack(f"<{columns}f", raw[-4 * rows * columns :][: 4 * columns])
    )
    assert np.isinf(values).any()
    assert 5 < values[np.isfinite(values)].max() < 75  # ndisp of its calib.txt
