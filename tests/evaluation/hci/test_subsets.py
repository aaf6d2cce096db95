"""The record of subsets: what it holds, files, edits."""

from dataclasses import fields, replace

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.hci import Parameters, extract_subsets, hci_metrics, load_subsets


def test_what_is_evaluated():
    truth = np.full((60, 80), 5, np.float32)
    truth[30, 40] = np.nan
    truth[31, 41] = np.inf
    visible = np.ones(truth.shape, bool)
    visible[32, 42] = False
    expected = np.zeros(truth.shape, bool)
    expected[20:-20, 20:-20] = True
    expected[[30, 31, 32], [40, 41, 42]] = False
    np.testing.assert_array_equal(extract_subsets(truth, visible).evaluated, expected)


def test_the_border_grows_with_the_image():
    truth = np.zeros((60, 2950), np.float32)
    rows = extract_subsets(truth).evaluated.any(axis=1)
    assert np.flatnonzero(rows).tolist() == list(range(29, 31))


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (41, 41), (50, 60)])
def test_scenes_without_anything(shape):
    truth = np.full(shape, 5, np.float32)
    for given in (truth, np.full(shape, np.nan, np.float32)):
        subsets = extract_subsets(given, parameters=Parameters(border=0, plane_least=1))
        assert not subsets.edges.any()
        assert subsets.structure_count == 0
        values = hci_metrics(truth, given, subsets)
        without_planes = {k: v for k, v in values.items() if not k.endswith(("bumpiness", "offset", "misorientation"))}
        assert np.isnan(list(without_planes.values())).all()


def test_files(made, tmp_path):
    _, subsets, _, maps = made
    subsets.save(tmp_path / "s.npz")
    again = load_subsets(tmp_path / "s.npz")
    assert again.parameters == subsets.parameters
    for f in fields(subsets)[1:]:
        np.testing.assert_array_equal(getattr(again, f.name), getattr(subsets, f.name))
        assert getattr(again, f.name).dtype == getattr(subsets, f.name).dtype
    assert hci_metrics(maps["noise"], made[0], again) == hci_metrics(maps["noise"], made[0], subsets)


def test_edited_subsets(made):
    truth, subsets, perfect, maps = made
    left = subsets.evaluated.copy()
    left[:, 60:] = False
    # The object's left edge alone: 1 of the 4 columns of its background band is fattened.
    edited = replace(subsets, evaluated=left)
    assert hci_metrics(maps["fattened"], truth, edited)["hci_foreground_fattening"] == 0.25
    edited = replace(subsets, planes=np.where(subsets.planes == 4, 4, 0).astype(np.int32))
    assert hci_metrics(perfect + np.float32(2), truth, edited)["hci_offset"] == pytest.approx(2 / np.hypot(1, 0.25))
    with pytest.raises(ValueError, match="read-only"):
        subsets.planes[0, 0] = 1


def test_bad_records(made):
    subsets = made[1]
    wide = np.zeros((3, 3), bool)
    for changes, message in (
        ({"edges": wide}, r"^hci subsets: edges is bool of shape \(3, 3\); expected bool of shape \(160, 260\) like evaluated$"),
        ({"edges": subsets.structures}, "edges is int32 of shape .*; expected bool"),
        ({"planes": subsets.planes.astype(np.int64)}, "planes is int64"),
        ({"planes": subsets.planes - np.int32(1)}, "planes holds the label -1; 0 is outside"),
        ({"plane_coefficients": subsets.plane_coefficients[:2]}, "planes holds the label 5, but plane_coefficients has 2 rows"),
        ({"plane_coefficients": np.zeros(3)}, r"plane_coefficients has shape \(3,\)"),
        ({"background": subsets.evaluated}, "foreground_disparity is not known in every pixel"),
        ({"neighbourhood": subsets.evaluated}, "neighbourhood_disparity is not known"),
    ):
        with pytest.raises(DataError, match=message):
            replace(subsets, **changes)


def test_bad_files(made, tmp_path):
    subsets, path = made[1], tmp_path / "s.npz"
    with pytest.raises(DataError, match="s.png: subsets are kept in .npz files"):
        subsets.save(tmp_path / "s.png")
    with pytest.raises(DataError, match="cannot be written"):
        subsets.save(tmp_path / f"{'a' * 300}.npz")
    with pytest.raises(DataError):
        load_subsets(path)
    subsets.save(path)
    data = path.read_bytes()
    for damaged in (b"", b"nothing", data[:1000], data[:200] + bytes(50) + data[250:]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="s.npz: ") as caught:
            load_subsets(path)
        assert "\n" not in str(caught.value)
    np.savez(path, planes=np.zeros(3))
    with pytest.raises(DataError, match="holds no parameters, so it is not a file of subsets"):
        load_subsets(path)
    np.savez(path, parameters=np.array('{"sed": 1}'), **{f.name: getattr(subsets, f.name) for f in fields(subsets)[1:]})
    with pytest.raises(DataError, match="hci.sed: no such parameter; .*did you mean 'seed'"):
        load_subsets(path)
    np.savez(path, parameters=np.array("[1"), **{f.name: getattr(subsets, f.name) for f in fields(subsets)[1:]})
    with pytest.raises(DataError, match="is damaged or not a file of subsets"):
        load_subsets(path)


def test_sizes_must_agree(made):
    truth, subsets, perfect, _ = made
    with pytest.raises(DataError, match=r"truth has shape \(9,\); expected \(rows, columns\)"):
        extract_subsets(np.zeros(9, np.float32))
    with pytest.raises(DataError, match=r"the mask of visible pixels \(3, 3\); both must be of one size"):
        extract_subsets(truth, np.ones((3, 3), bool))
    for disparity, true in ((perfect[1:], truth), (perfect, truth[1:])):
        with pytest.raises(DataError, match=r"has shape \(159, 260\), its subsets \(160, 260\); both must be of one size"):
            hci_metrics(disparity, true, subsets)
