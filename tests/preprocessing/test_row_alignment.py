"""Windows and sampled rows against slow versions, warps that come back, and pairs that stay as they are."""

import importlib
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs
from scipy.ndimage import map_coordinates

from stereo_framework import Pipeline, SearchRange, load_scene
from stereo_framework.core.errors import ResultWarning
from stereo_framework.core.pair import Pair
from stereo_framework.core.view import DisparityMap, kernel_array
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.preprocessing import row_alignment
from stereo_framework.preprocessing.row_alignment import _field, _measure, _sample
from stereo_framework.script import load

module = importlib.import_module("stereo_framework.preprocessing.row_alignment")

SYNTHETIC = ("planes", "slanted", "occlusions", "stripes", "slits")


def values(field, x, y, columns, rows):
    """A field at positions of an image, term by term."""
    u, v = 2 * x / columns - 1, 2 * y / rows - 1
    return sum(c * term for c, term in zip(field, (1, u, v, u**2, u * v, v**2), strict=True))


def warped(image, field):
    """The image, which shows at y what it showed at y less the field there; and how many rows lower it shows what it showed at y."""
    rows, columns = image.shape[:2]
    y, x = np.mgrid[:rows, :columns].astype(float)
    at = y - values(field, x, y, columns, rows)
    channels = [
        map_coordinates(channel.astype(float), (at, x), order=3, mode="nearest")
        for channel in np.moveaxis(image, 2, 0)
    ]
    lower = np.zeros((rows, columns))
    for _ in range(30):
        lower = values(field, x, y + lower, columns, rows)
    return np.rint(np.clip(np.stack(channels, 2), 0, 255)).astype(np.uint8), lower


def field_up_to(most, seed):
    """A random field of second order."""
    field = np.random.default_rng(seed).normal(size=6)
    u, v = np.meshgrid(np.linspace(0, 2, 50), np.linspace(0, 2, 50))
    return field * most / np.abs(values(field, u, v, 2, 2)).max()


def initial_map(pair):
    match = load("initial_map").only.pipeline(pair)
    return DisparityMap(match.disparity, match.status, match.search)


def rms(values):
    return float(np.sqrt(np.mean(values**2)))


def naive_shift(left, right, slopes, disparity, direction, field, cy, cx):
    """How far a window moves down until it fits, by least squares; NaN where it does not count, None where rounding may decide that."""
    rows, columns = left.shape
    d = float(disparity[cy, cx])
    if np.isnan(d):
        return np.nan
    before = values(field, cx - direction * d, cy, columns, rows)
    along, lower = 0.0, before
    window = [
        (y, x)
        for y in range(max(cy - 4, 0), min(cy + 5, rows))
        for x in range(max(cx - 4, 0), min(cx + 5, columns))
    ]
    for _ in range(3):
        places = [
            (y, x, x - direction * d + along) for y, x in window if not np.isnan(disparity[y, x])
        ]
        if any(min(abs(place), abs(place - columns + 1)) < 1e-6 for _, _, place in places if along):
            return None
        inside = [one for one in places if 0 <= one[2] <= columns - 1]
        if len(inside) <= 0.6 * 81:
            return np.nan
        y, x, place = np.array(inside).T
        y, x = y.astype(int), x.astype(int)
        seen = map_coordinates(right.astype(float), (y + lower, place), order=1, mode="nearest")
        e, g = left[y, x] - seen, slopes[:, y, x].T.astype(float)
        g, e = g - g.mean(axis=0), e - e.mean()
        covariance = g.T @ g / len(e)
        texture = np.linalg.det(covariance) / max(np.trace(covariance), 1e-9)
        if abs(texture - 1) < 1e-3:
            return None
        if texture <= 1:
            return np.nan
        moved = np.linalg.lstsq(g, e, rcond=None)[0]
        along, lower = along + moved[0], lower + moved[1]
    if min(abs(abs(lower - before) - 2), abs(abs(along) - 2)) < 1e-3:
        return None
    return lower - before if abs(lower - before) < 2 and abs(along) < 2 else np.nan


@given(
    data=st.data(),
    direction=st.sampled_from([1, -1]),
    step=st.sampled_from([2, 3]),
    smooth=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_windows_move_as_least_squares_say(data, direction, step, smooth, seed):
    rng = np.random.default_rng(seed)
    rows, columns = 12, 14
    y, x = np.mgrid[:rows, :columns].astype(float)
    left = (
        30 * np.sin(x / 2 + y / 3)
        + 20 * np.cos(y / 2 - x / 5)
        + rng.normal(0, 0.5 if smooth else 9, (rows, columns))
    )
    right = map_coordinates(left, (y - 0.4, x + direction), order=1, mode="nearest") + 7
    left, right = left.astype(np.float32), right.astype(np.float32)
    slopes = np.stack([np.gradient(left, axis=1), np.gradient(left, axis=0)]).astype(np.float32)
    disparity = data.draw(filled((rows, columns), np.array([1, 1, 1, 1.25, np.nan, 3]))).astype(
        np.float32
    )
    field = field_up_to(1.0, seed)
    shape = len(range(step // 2, rows, step)), len(range(step // 2, columns, step))
    found = np.empty(shape, np.float32)
    _measure(left, right, slopes, disparity, direction, step, field, 0, found)
    for j, i in np.ndindex(*shape):
        expected = naive_shift(
            left,
            right,
            slopes,
            disparity,
            direction,
            field,
            j * step + step // 2,
            i * step + step // 2,
        )
        if expected is not None:
            # float32 results; windows that hardly say where they moved enlarge the rounding of sums.
            assert found[j, i] == pytest.approx(expected, abs=1e-3, nan_ok=True), (j, i)


def naive_sample(image, field):
    """The rows where the field says, by Keys' kernel with a = -3/4, float64."""

    def share(s):
        return (
            1.25 * s**3 - 2.25 * s**2 + 1
            if s <= 1
            else -0.75 * (s**3 - 5 * s**2 + 8 * s - 4)
            if s < 2
            else 0.0
        )

    rows, columns = image.shape[:2]
    found = np.zeros(image.shape)
    for y, x in np.ndindex(rows, columns):
        at = y + values(field, x, y, columns, rows)
        for q in range(int(at) - 4, int(at) + 5):
            found[y, x] += share(abs(at - q)) * image[min(max(q, 0), rows - 1), x]
    return np.clip(found, 0, 255)


@given(images=image_pairs(), most=st.sampled_from([0.3, 2.5, 0.0]), seed=st.integers(0, 2**32 - 1))
def test_rows_are_sampled_by_a_cubic_spline(images, most, seed):
    image, field = images[0].reshape(*images[0].shape[:2], -1), field_up_to(most, seed)
    found = np.full_like(image, 77)
    half = image.shape[0] // 2
    for start, stop in ((0, half), (half, image.shape[0])):
        _sample(kernel_array(image), image.dtype == np.uint8, field, start, stop, found)
    # Rounding adds a half.
    np.testing.assert_allclose(
        found,
        naive_sample(image, field),
        rtol=0,
        atol=1e-4 + (0.5 if image.dtype == np.uint8 else 0),
    )
    if not most:
        np.testing.assert_array_equal(found, image)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(4))
def test_warps_come_back(seed):
    scene = load_scene(f"synthetic/{SYNTHETIC[seed % 3]}")
    field = field_up_to([2.0, 1.0][seed % 2], seed)
    match, lower = warped(scene.match, field)
    pair = Pair(scene.reference, match, scene.search)
    first = initial_map(pair)
    found = _field(
        pair.reference,
        pair.match,
        1,
        np.where(first.status == Status.MATCHED, first.disparity, np.float32(np.nan)),
        "luma",
    )
    rows, columns = lower.shape
    y, x = np.mgrid[:rows, :columns]
    # A twentieth of a row, of a field that is nearly of second order itself.
    assert rms(values(found, x, y, columns, rows) - lower) < 0.05
    reference, moved = row_alignment(pair.reference, pair.match, pair.search, {"first": first})
    assert np.shares_memory(reference, pair.reference)
    assert moved.dtype == np.uint8
    inner = np.s_[8:-8, 8:-8]
    off = [rms(image[inner].astype(float) - scene.match[inner]) for image in (match, moved)]
    # What two samplings leave of grain is left.
    assert off[1] < 0.5 * off[0]


@pytest.mark.compiled
@pytest.mark.parametrize("name", SYNTHETIC)
def test_rows_that_are_right_stay(name):
    scene = load_scene(f"synthetic/{name}")
    pair = Pair(scene.reference, scene.match, scene.search)
    images = row_alignment(pair.reference, pair.match, pair.search, {"first": initial_map(pair)})
    assert np.shares_memory(images[0], pair.reference)
    assert np.shares_memory(images[1], pair.match)


@pytest.mark.parametrize(
    ("row_tolerance", "is_changed"), [(None, True), (0.2, True), (0.3, False), (0.0625, True)]
)
def test_the_tolerance_is_a_number_of_rows(monkeypatch, row_tolerance, is_changed):
    """The root mean square of the field is a quarter of a row."""
    monkeypatch.setattr(module, "_field", lambda *data: np.array([0.25, 0, 0, 0, 0, 0]))
    image = np.random.default_rng(0).integers(0, 256, (9, 12), dtype=np.uint8)
    search = SearchRange(0, 3)
    first = DisparityMap(np.zeros(image.shape, np.float32), np.zeros(image.shape, np.uint8), search)
    options = {} if row_tolerance is None else {"row_tolerance": row_tolerance}
    _, moved = row_alignment(image, image, search, {"first": first}, **options)
    assert np.array_equal(moved, image) is not is_changed


def test_rows_exactly_at_the_tolerance_stay(monkeypatch):
    monkeypatch.setattr(module, "_field", lambda *data: np.array([-0.25, 0, 0, 0, 0, 0]))
    image = np.random.default_rng(0).integers(0, 256, (9, 12), dtype=np.uint8)
    search = SearchRange(0, 3)
    first = DisparityMap(np.zeros(image.shape, np.float32), np.zeros(image.shape, np.uint8), search)
    _, moved = row_alignment(image, image, search, {"first": first}, row_tolerance=0.25)
    np.testing.assert_array_equal(moved, image)


@pytest.mark.parametrize("offset", [0.75, -0.75])
def test_the_warning_gives_the_largest_row_difference_without_its_sign(monkeypatch, offset):
    reports = []
    monkeypatch.setattr(module, "_field", lambda *data: np.array([offset, 0, 0, 0, 0, 0]))
    monkeypatch.setattr(module, "report_call", reports.append)
    image, search = np.zeros((9, 12), np.uint8), SearchRange(0, 3)
    first = DisparityMap(np.zeros(image.shape, np.float32), np.zeros(image.shape, np.uint8), search)
    row_alignment(image, image, search, {"first": first})
    assert [report.warning for report in reports] == [
        "note: rows are off by up to 0.8 px; they were corrected, so no action is needed"
    ]


@pytest.mark.parametrize(("windows", "offset"), [(300, 0.5), (299, 0.0)])
def test_three_hundred_windows_are_enough_for_a_field(monkeypatch, windows, offset):
    """Shift the target image by half a row in some of 20x30 windows."""

    def measure(left, right, slopes, disparity, direction, step, field, start, shifts):
        first = 30 * start
        numbers = np.arange(first, first + shifts.size).reshape(shifts.shape)
        shifts[:] = np.where(numbers < windows, 0.5 - field[0], np.nan)

    monkeypatch.setattr(module, "_measure", measure)
    image = np.zeros((20, 30), np.uint8)
    field = _field(image, image, 1, np.zeros(image.shape, np.float32), "luma")
    assert field[0] == pytest.approx(offset, abs=0.01)


@pytest.mark.parametrize("status", [Status.FILLED, Status.MISMATCHED, Status.INVALID])
def test_only_matched_pixels_measure_rows(monkeypatch, status):
    received = []

    def no_field(reference, match, direction, disparity, grey_conversion):
        received.append(disparity)
        return np.zeros(6)

    monkeypatch.setattr(module, "_field", no_field)
    image, search = np.zeros((1, 3), np.uint8), SearchRange(0, 3)
    first = DisparityMap(np.float32([[1, 2, 3]]), np.uint8([[0, status, 0]]), search)
    row_alignment(image, image, search, {"first": first})
    np.testing.assert_array_equal(received[0], [[1, np.nan, 3]])


@pytest.mark.compiled
def test_corrected_rows_are_a_note_and_no_warning():
    scene = load_scene("synthetic/planes")
    match, _ = warped(scene.match, np.array([0.8, 0, 0, 0, 0, 0]))
    method = Pipeline(
        [row_alignment, absolute_difference, winner_take_all],
        {"first": load("initial_map").pipeline},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResultWarning)
        result = method(Pair(scene.reference, match, scene.search))
    assert (
        result.warnings[-1]
        == "note: rows are off by up to 0.8 px; they were corrected, so no action is needed"
    )
    assert result.seconds["preprocessing.row_alignment"] > 0
    assert not any("rows" in warning for warning in method(scene).warnings)


def test_what_shows_nothing_stays():
    image, search = np.full((40, 50, 3), 90, np.uint8), SearchRange(0, 3)
    first = DisparityMap(np.zeros((40, 50), np.float32), np.zeros((40, 50), np.uint8), search)
    assert (
        row_alignment(image, image, search, {"first": first}, row_tolerance=0.0)[1].tolist()
        == image.tolist()
    )
    first = DisparityMap(first.disparity[:1, :1], first.status[:1, :1], search)
    assert row_alignment(image[:1, :1], image[:1, :1], search, {"first": first})[1].tolist() == [
        [[90, 90, 90]]
    ]


@pytest.mark.compiled
@pytest.mark.parametrize(
    "scheme", [{"use": "tiles", "tile_size": 160}, {"use": "pyramid", "octaves": 2}]
)
def test_parts_of_a_pair_warn_of_the_whole(scheme):
    scene = load_scene("synthetic/planes")
    match, _ = warped(scene.match, np.array([0.8, 0, 0, 0, 0, 0]))
    found = load({"include": "fast", "scheme": [scheme]}).only.pipeline(
        Pair(scene.reference, match, scene.search)
    )
    assert any(
        warning.startswith("note: rows are off by up to 0.8 px") for warning in found.warnings
    ), found.warnings
