"""The record of subsets: what it holds, and edits."""

from dataclasses import replace

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.hci import Parameters, extract_subsets, hci_metrics


def test_what_is_evaluated():
    truth = np.full((60, 80), 5, np.float32)
    truth[30, 40] = np.nan
    truth[31, 41] = np.inf
    nonocc = np.ones(truth.shape, bool)
    nonocc[32, 42] = False
    expected = np.zeros(truth.shape, bool)
    expected[20:-20, 20:-20] = True
    expected[[30, 31, 32], [40, 41, 42]] = False
    np.testing.assert_array_equal(extract_subsets(truth, nonocc).evaluated, expected)
    # The border grows with the image.
    rows = extract_subsets(np.zeros((60, 2950), np.float32)).evaluated.any(axis=1)
    assert np.flatnonzero(rows).tolist() == [29, 30]


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (41, 41), (50, 60)])
def test_scenes_without_anything(shape):
    truth = np.full(shape, 5, np.float32)
    for given in (truth, np.full(shape, np.nan, np.float32)):
        subsets = extract_subsets(given, parameters=Parameters(border=0, plane_min_share=1))
        assert not subsets.edges.any()
        assert subsets.structure_count == 0
        values = hci_metrics(truth, given, subsets)
        without_planes = {
            k: v
            for k, v in values.items()
            if not k.endswith(("bumpiness", "offset", "misorientation"))
        }
        assert np.isnan(list(without_planes.values())).all()


def test_edited_subsets(made):
    truth, subsets, perfect, maps = made
    left = subsets.evaluated.copy()
    left[:, 60:] = False
    # The object's left edge alone: 1 of the 4 columns of its background band is fattened.
    edited = replace(subsets, evaluated=left)
    assert hci_metrics(maps["fattened"], truth, edited)["hci_foreground_fattening"] == 0.25
    edited = replace(subsets, planes=np.where(subsets.planes == 4, 4, 0).astype(np.int32))
    assert hci_metrics(perfect + np.float32(2), truth, edited)["hci_offset"] == pytest.approx(
        2 / np.hypot(1, 0.25)
    )
    with pytest.raises(ValueError, match="read-only"):
        subsets.planes[0, 0] = 1


def test_sizes_must_agree():
    with pytest.raises(DataError, match=r"truth has shape \(9,\); expected \(rows, columns\)"):
        extract_subsets(np.zeros(9, np.float32))
    with pytest.raises(
        DataError, match=r"the mask of non-occluded pixels \(3, 3\); both must be of one size"
    ):
        extract_subsets(np.zeros((4, 4), np.float32), np.ones((3, 3), bool))
