"""OpenCV's matchers as stages. What they compute is OpenCV's; here: what reaches them, and what is made of their maps."""

import types

import cv2
import numpy as np
import pytest

from stereo_framework import SearchRange
from stereo_framework.core.stage import stage_of
from stereo_framework.core.volume import SearchMask
from stereo_framework.matcher import opencv_bm, opencv_sgbm
from stereo_framework.matcher._opencv import SEARCH_NAMES

both = pytest.mark.parametrize("matcher", [opencv_sgbm, opencv_bm])


def shifted(shift):
    """A texture, and the same `shift` columns to the left."""
    random = np.random.default_rng(0)
    wide = cv2.GaussianBlur(random.integers(0, 256, (60, 200)).astype(np.float32), (0, 0), 1)
    wide = np.clip(4 * (wide - 128) + 128, 0, 255).astype(np.uint8)
    return wide[:, 40:160].copy(), wide[:, 40 + shift : 160 + shift].copy()


def test_parameters_have_opencv_s_names_in_snake_case():
    names = {name for matcher in (opencv_bm, opencv_sgbm) for name in stage_of(matcher).parameters}
    setters = {*dir(cv2.StereoBM), *dir(cv2.StereoSGBM)}
    for name in names:
        assert "set" + "".join(map(str.capitalize, name.split("_"))) in setters


def test_keys_of_the_search_range_replace_parameters_of_opencv():
    assert set(SEARCH_NAMES.values()) == {"search.minimum", "search.maximum"}
    for opencv_name in SEARCH_NAMES:
        assert hasattr(cv2.StereoBM, f"set{opencv_name[0].upper()}{opencv_name[1:]}")


@both
@pytest.mark.parametrize("shift", [0, 7, -5])
def test_finds_a_shift(matcher, shift):
    left, right = shifted(shift)
    found = matcher(left, right, SearchRange(-8, 8))
    inner = found[5:-5, 20:-20]
    assert found.dtype == np.float32
    assert np.isfinite(inner).mean() > 0.95
    # Sixteenths, interpolated between whole pixels.
    assert np.nanmax(np.abs(inner - shift)) < 0.2
    mirrored = matcher(
        left[:, ::-1].copy(), right[:, ::-1].copy(), SearchRange(-8, 8, direction=-1)
    )
    np.testing.assert_array_equal(mirrored[:, ::-1], found)


@both
@pytest.mark.parametrize("direction", [1, -1])
def test_what_it_finds_in_closed_cells_is_no_estimate(matcher, direction):
    left, right = (image[:, ::direction].copy() for image in shifted(5))
    high, match_valid = np.full(left.shape, np.nan, np.float32), np.ones(left.shape, bool)
    high[:30] = 4
    match_valid[:, 50:60] = False
    search = SearchRange(0, 8, direction=direction)
    plain, found = (
        matcher(left, right, search, mask)
        for mask in (None, SearchMask(match_valid=match_valid, high=high))
    )
    y, x = np.nonzero(np.isfinite(plain))
    level = np.rint(plain[y, x]).astype(int)
    met = x - direction * level
    closed = (level > high[y, x]) | (
        (met >= 0) & (met < 120) & ~match_valid[y, np.clip(met, 0, 119)]
    )
    assert 0.4 < closed.mean() < 0.7
    plain[y[closed], x[closed]] = np.nan
    np.testing.assert_array_equal(found, plain)


@both
def test_looks_from_the_first_column_and_row_on(matcher):
    left, right = shifted(7)
    found = matcher(left, right, SearchRange(0, 63))
    assert (
        np.isfinite(found[:, 10:30]).mean() > 0.9
    )  # of 64 columns, and of half a window of rows, that OpenCV alone leaves out
    assert np.isfinite(matcher(right, left, SearchRange(-63, 0))[:, -30:-10]).mean() > 0.9


@both
def test_colours_and_fractions(matcher):
    left, right = shifted(7)
    expected = matcher(left, right, SearchRange(0, 8))
    np.testing.assert_array_equal(
        matcher(left + np.float32(0.25), right.astype(np.float32), SearchRange(0, 8)), expected
    )
    coloured = matcher(
        *(np.repeat(image[..., None], 3, axis=2) for image in (left, right)), SearchRange(0, 8)
    )
    # Three equal channels cost three times as much as one, which only the penalties of paths notice.
    assert np.isclose(coloured, expected, atol=0.2).mean() > 0.9
    if matcher is opencv_bm:
        # Red, green and blue weigh differently in grey: of the red alone 30 % are left, which is less than a window's texture must be.
        red = [np.stack([image, *2 * [np.zeros_like(image)]], axis=2) for image in (left, right)]
        assert (
            np.isfinite(matcher(*red, SearchRange(0, 8), texture_threshold=10_000)).sum()
            < np.isfinite(matcher(left, right, SearchRange(0, 8), texture_threshold=10_000)).sum()
        )


@both
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 1), (2, 9)])
@pytest.mark.parametrize(
    "search",
    [
        SearchRange(0, 3),
        SearchRange(-2, 2),
        SearchRange(5, 9),
        SearchRange(-19, -15),
        SearchRange(0, 2, 0.5, -1),
    ],
)
def test_tiny_images_and_ranges_out_of_view(matcher, shape, search):
    image = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    found = matcher(image, image, search)
    assert (found.shape, found.dtype) == (shape, np.float32)
    assert not np.isinf(found).any()


class Spy:
    """Keeps the matcher that a stage makes."""

    def __init__(self, monkeypatch, name):
        self.made, make = [], getattr(cv2, name).create

        def keep(*arguments, **others):
            self.made.append(make(*arguments, **others))
            return self.made[-1]

        monkeypatch.setattr(cv2, name, types.SimpleNamespace(create=keep))

    def __getattr__(self, name):
        return getattr(self.made[-1], f"get{name}")()


SPECKLES = {"uniqueness_ratio": 6, "speckle_window_size": 7}
# OpenCV's numbers of modes and filters, as its documentation lists them. From -3 to 20 are 24 disparities: 32. BM counts speckles in sixteenths of pixels.
COMMON = {"MinDisparity": -3, "NumDisparities": 32, "UniquenessRatio": 6, "SpeckleWindowSize": 7}


@pytest.mark.parametrize(
    ("matcher", "name", "choice", "given", "expected"),
    [
        (
            opencv_sgbm,
            "StereoSGBM",
            ("mode", "Mode", ["sgbm", "hh", "3way", "hh4"]),
            {
                "block_size": 5,
                "p1": 11,
                "p2": 22,
                "disp12_max_diff": 4,
                "pre_filter_cap": 31,
                "speckle_range": 2,
            },
            {
                "BlockSize": 5,
                "P1": 11,
                "P2": 22,
                "Disp12MaxDiff": 4,
                "PreFilterCap": 31,
                "SpeckleRange": 2,
            },
        ),
        (
            opencv_bm,
            "StereoBM",
            ("pre_filter_type", "PreFilterType", ["normalized", "sobel"]),
            {
                "block_size": 7,
                "pre_filter_size": 11,
                "pre_filter_cap": 20,
                "texture_threshold": 5,
                "disp12_max_diff": 0,
                "speckle_range": 1.5,
            },
            {
                "BlockSize": 7,
                "PreFilterSize": 11,
                "PreFilterCap": 20,
                "TextureThreshold": 5,
                "Disp12MaxDiff": 0,
                "SpeckleRange": 24,
            },
        ),
    ],
)
def test_parameters_reach_opencv(monkeypatch, matcher, name, choice, given, expected):
    spy, (ours, theirs, allowed) = Spy(monkeypatch, name), choice
    for number, chosen in enumerate(allowed):
        matcher(*shifted(3), SearchRange(-2.5, 20, 0.5), **{ours: chosen}, **given, **SPECKLES)
        reached = expected | COMMON | {theirs: number}
        assert {what: getattr(spy, what) for what in reached} == reached


@both
def test_without_a_tolerance_nothing_is_checked(matcher):
    left, right = shifted(7)
    # Columns that one frame alone shows, and rows of another texture.
    left[20:40, 40:60] = np.random.default_rng(2).integers(0, 256, (20, 20))
    known = {
        tolerance: np.isfinite(
            matcher(
                left,
                right,
                SearchRange(0, 15),
                disp12_max_diff=tolerance,
                uniqueness_ratio=0,
                speckle_window_size=0,
            )
        ).sum()
        for tolerance in (1, 5, None)
    }
    assert known[1] < known[5] < known[None]


@pytest.mark.parametrize(
    ("matcher", "name"), [(opencv_sgbm, "StereoSGBM"), (opencv_bm, "StereoBM")]
)
@pytest.mark.parametrize(
    ("search", "first", "count"),
    [
        # OpenCV searches multiples of 16 disparities, in whole pixels.
        (SearchRange(0, 15), 0, 16),
        (SearchRange(0, 16), 0, 32),
        (SearchRange(-1, 14), -1, 16),
        (SearchRange(-1, 15), -1, 32),
        (SearchRange(0, 15.5, 0.5), 0, 32),
        (SearchRange(0.5, 15, 0.5), 0, 16),
        (SearchRange(0.5, 15.5, 0.5), 0, 32),
        (SearchRange(-0.75, 14, 0.25), -1, 16),
        (SearchRange(-0.75, 14.25, 0.25), -1, 32),
    ],
)
def test_the_searched_disparities_contain_the_range(
    monkeypatch, matcher, name, search, first, count
):
    spy = Spy(monkeypatch, name)
    matcher(*shifted(3), search)
    assert (spy.MinDisparity, spy.NumDisparities) == (first, count)


@both
def test_float_intensities_are_rounded_to_the_nearest_grey_level(matcher):
    left, right = (np.clip(image, 1, 254) for image in shifted(7))
    expected = matcher(left, right, SearchRange(0, 8))
    for change in (-0.375, 0.375):
        floats = [image + np.float32(change) for image in (left, right)]
        np.testing.assert_array_equal(matcher(*floats, SearchRange(0, 8)), expected)
