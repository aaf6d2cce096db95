"""Warnings about maps that look wrong: wrong scales, signs or views, and markers."""

import inspect
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Scene, SearchRange, intensity_scale_warning
from stereo_framework.evaluation.markers import Marker, probable_markers
from stereo_framework.evaluation.regions import kept

_FACTORS = (2, 4, 8, 16, 256)
"""Scales of disparity files, in grey levels per pixel: those of the Middlebury sets and that of 16-bit PNG files."""

_FEWER = 0.6
"""If a smaller share of the errors than this remains when a map is compared with the other view, it is taken for a map of that view."""

_STUCK = 0.03
"""Share of a map that holds one and the same value outside the search range, from which on that is taken for a mark; no method gives such values."""

_ROWS = 64
"""Number of rows that are examined, spread over the image: enough to notice gross mistakes, and fast even in large sweeps."""


@dataclass(frozen=True)
class Remedies:
    """Instructions for the user about a number that is read as a disparity.

    Parameters
    ----------
    disparity_map, truth : str
        Instruction with ``{value}`` for the value as the file stores it.
    map_scale, truth_scale : float
        Stored units per pixel of the files.
    other_scale : str
        Instruction for a map or truth that is read in a wrong scale or with the wrong
        sign, with ``{value}`` for the scale of the map and ``{factor}`` for the number by
        which its disparities are to be divided.
    """

    disparity_map: str = (
        "set these pixels to NaN, or read the file with read_disparity(..., unknown={value})"
    )
    truth: str = (
        "set these pixels to NaN, read the file with read_disparity(..., unknown={value}), or write 'unknown: {value}' "
        "below truth in scene.yaml"
    )
    map_scale: float = 1.0
    truth_scale: float = 1.0
    other_scale: str = "if it is the map's, divide the map by {factor}; if it is the truth's, multiply the truth by {factor}"


@checked()
def find_reading_errors(
    disparity: Disparity,
    scene: Scene,
    search: SearchRange | None = None,
    *,
    is_external: bool | None = None,
    remedies: Remedies | None = None,
) -> list[str]:
    """Return the signs that a map or the ground truth was read in a wrong way.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate. A map of another size than the scene's images is
        examined for markers only.
    scene : Scene
    search : SearchRange, optional
        The range that was searched; default: the scene's.
    is_external : bool, optional
        Whether the map may hold markers inside of the search range. A method of this
        package writes none, and gives pixels without texture the end of its range.
        Default: only if no `search` is given.
    remedies : Remedies, optional
        Instructions for markers; default: those for Python.

    Returns
    -------
    list of str
        One line each. A map is doubted if most of its estimates would lie within a pixel of the truth after a change of sign, of the view, or of scale by
        2, 4, 8, 16 or 256 (up or down), or by their median factor, and far fewer do as
        it is. So are images with intensities from 0 to 1. A map or a truth is doubted
        too if many pixels hold exactly the same value, apart from all others, which is
        probably a marker, and a map if several percent of it hold one value outside the
        search range.
    """
    if disparity.ndim != 2:
        message = (
            f"scene {scene.name}: the map has shape {disparity.shape}; expected (rows, columns)"
        )
        raise DataError(message)
    if not np.isfinite(disparity).any():
        return [f"{scene.name}: the map holds no estimate at all"]
    remedies = remedies or Remedies()
    if is_external is None:
        is_external = search is None
    search = search or scene.search
    lines = _markers_of_truth(scene, remedies)
    if disparity.shape != scene.reference.shape[:2]:
        # Disparities of reduced images have another unit, but a marker is a marker.
        reduced = _markers_of_map(disparity, None, is_external=True, scale=remedies.map_scale)
        return lines + [_marker_line(marker, disparity, scene.name, remedies) for marker in reduced]

    misreadings = [] if scene.truth is None else _by_truth(disparity, scene, scene.truth, remedies)
    lines += misreadings
    markers = _markers_of_map(disparity, search, is_external=is_external, scale=remedies.map_scale)
    lines += [_marker_line(marker, disparity, scene.name, remedies) for marker in markers]
    # With a wrong scale most values are outside the range.
    if search is not None and not misreadings:
        values = {np.float32(marker.value) for marker in markers}
        lines += _by_range(disparity, scene.name, search, values, remedies)

    dark = kept(scene, ("dark",), lambda: intensity_scale_warning(scene.reference))
    if dark:
        lines.append(f"{scene.name}: {dark}")
    return lines


reading_errors_of_map = inspect.unwrap(find_reading_errors)
"""The function `find_reading_errors` without the checks of its arguments.

A sweep calls it for each disparity map.
"""


def _markers_of_truth(scene: Scene, remedies: Remedies) -> list[str]:
    """Report probable markers of the ground truth of a scene."""
    truth = scene.truth
    if truth is None:
        return []
    scale = remedies.truth_scale
    # A sweep evaluates thousands of maps with the same ground truth.
    markers = kept(scene, ("markers", scale), lambda: probable_markers(truth, scale=scale))
    lines = []
    for marker in markers:
        stored = _stored_text(marker.value, remedies.truth_scale)
        instruction = remedies.truth.format(value=stored)
        event = _event(marker, truth, "the ground truth", stored)
        lines.append(f"{scene.name}: {event}; if this value means unknown, {instruction}")
    return lines


def _markers_of_map(
    disparity: Disparity, search: SearchRange | None, *, is_external: bool, scale: float
) -> list[Marker]:
    """Find probable markers of a map; values that a method has searched are none."""
    if is_external or search is None:
        return probable_markers(disparity, scale=scale)
    # Most maps of methods are within the search range, which is quick to check.
    if search.minimum <= np.nanmin(disparity) and np.nanmax(disparity) <= search.maximum:
        return []
    markers = probable_markers(disparity, scale=scale)
    return [marker for marker in markers if not search.minimum <= marker.value <= search.maximum]


def _marker_line(marker: Marker, disparity: Disparity, name: str, remedies: Remedies) -> str:
    """Report a probable marker of a disparity map."""
    stored = _stored_text(marker.value, remedies.map_scale)
    instruction = remedies.disparity_map.format(value=stored)
    event = _event(marker, disparity, "the disparity map", stored)
    return f"{name}: {event}; if this value means no estimate, {instruction}"


def _event(marker: Marker, disparity: Disparity, noun: str, stored: str) -> str:
    """Describe a marker: its pixels, its value, and the range of the other values."""
    text = _stored_text(marker.value, 1.0)
    in_file = "" if stored == text else f" px (stored as {stored})"
    return (
        f"{marker.count} of {disparity.size} pixels of {noun} hold exactly {text}{in_file}, apart from all other values "
        f"({marker.lowest:g} to {marker.highest:g})"
    )


def _stored_text(value: float, scale: float) -> str:
    """Return the shortest number that is this value after division by the scale."""
    stored = value * scale + 0.0  # no minus before 0
    for digits in range(6, 18):
        text = f"{stored:.{digits}g}"
        if np.float32(float(text) / scale) == np.float32(value):
            return text
    return repr(stored)


def _by_range(
    disparity: Disparity,
    name: str,
    search: SearchRange,
    markers: set[np.float32],
    remedies: Remedies,
) -> list[str]:
    """Report the most frequent value outside the search range, unless it is a marker."""
    sample = disparity[:: max(1, disparity.shape[0] // _ROWS)]
    # Sub-pixel estimates may lie half a level outside.
    half = 0.5 * min(search.step, 1)
    is_outside = np.isfinite(sample) & (
        (sample < search.minimum - half) | (sample > search.maximum + half)
    )
    outside_values = sample[is_outside]
    if not outside_values.size or outside_values.size < _STUCK * sample.size:
        return []
    values, counts = np.unique(outside_values, return_counts=True)
    if counts.max() < _STUCK * sample.size:
        return []
    value = values[counts.argmax()]
    if value in markers:
        return []

    share = 100 * counts.max() / sample.size
    stored = _stored_text(float(value), remedies.map_scale)
    instruction = remedies.disparity_map.format(value=stored)
    line = (
        f"{name}: {share:.0f} % of the map hold {value:g}, outside the search range {search.minimum:g}..{search.maximum:g}; "
        f"if this value means no estimate, {instruction}"
    )
    return [line]


def _by_truth(
    disparity: Disparity, scene: Scene, truth: Disparity, remedies: Remedies
) -> list[str]:
    step = max(1, disparity.shape[0] // _ROWS)
    disparity, truth = disparity[::step], truth[::step]
    both = np.isfinite(disparity) & _is_telling(truth)
    if not both.any():
        return []
    estimate, true = disparity[both].astype(np.float64), truth[both].astype(np.float64)

    def share(scale: float) -> float:
        return float(np.mean(np.abs(estimate / scale - true) <= 1))

    as_it_is, there = share(1), _of_other_view(disparity, scene, truth)
    # On eight scenes the match frame's truth gives 0.28 to 0.53, the reference frame's and real estimates of it always more than 1.
    if there > 0.5 and 1 - there < _FEWER * (1 - as_it_is):
        return [
            f"{scene.name}: the map may belong to the other view: {100 * there:.0f} % of the estimates lie within 1 px of the truth "
            f"where the match frame shows it, {100 * as_it_is:.0f} % in the reference frame; give the map of the reference frame, or the truth of the match frame"
        ]
    if as_it_is > 0.5:
        return []
    best = max(
        (sign * scale for sign in (1, -1) for f in (1, *_FACTORS) for scale in (f, 1 / f)),
        key=share,
    )
    best = best if share(best) > 0.5 else float(np.median(estimate / true)) or 1.0
    # A map of its middle disparity alone must not agree with as much, unless that is all there is to be found.
    alike = (
        float(np.mean(np.abs(np.median(estimate) / best - true) <= 1)) if np.ptp(true) > 1 else 0.0
    )
    if share(best) <= max(0.5, alike) or as_it_is > share(best) / 2:
        return []
    instruction = remedies.other_scale.format(
        value=f"{best * remedies.map_scale:.4g}", factor=f"{best:.4g}"
    )
    return [
        f"{scene.name}: the map or the truth may have the wrong {_wrong(best)}: {100 * share(best):.0f} % of the estimates lie within "
        f"1 px of the truth when {_right(best)}, {100 * as_it_is:.0f} % as they are; {instruction}"
    ]


def _of_other_view(disparity: Disparity, scene: Scene, truth: Disparity) -> float:
    """Return the share of true disparities that the map holds in the match frame.

    A map of the other view has these disparities at the places where the match frame
    shows the pixels.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Examined rows of the map and of the ground truth. Pixels without an estimate, or
        with a small true disparity, do not count.
    scene : Scene
        Scene of the ground truth.
    """
    pixels = kept(scene, ("other view", len(truth)), lambda: _pixels_of_other_view(scene, truth))
    is_estimated = np.isfinite(disparity[pixels.rows, pixels.columns])
    with np.errstate(invalid="ignore"):
        errors = np.abs(disparity[pixels.rows, pixels.places] - pixels.true_disparities)
    is_there = errors[is_estimated] <= 1
    return float(is_there.mean()) if is_there.size else 0.0


@dataclass(frozen=True)
class _PixelsOfOtherView:
    """Pixels with ground truth, and their places in the match frame.

    Parameters
    ----------
    rows, columns : ndarray, int64
        Pixels of the reference frame.
    places : ndarray, int64
        Columns of the pixels in the match frame.
    true_disparities : ndarray, float32
        True disparities of the pixels.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    places: NDArray[np.int64]
    true_disparities: NDArray[np.float32]


def _pixels_of_other_view(scene: Scene, truth: Disparity) -> _PixelsOfOtherView:
    """Find the pixels with ground truth that the match frame contains."""
    rows, columns = np.nonzero(_is_telling(truth))
    true_disparities = truth[rows, columns]
    places = np.rint(columns - scene.direction * true_disparities)
    # A marker such as the largest float is a place that no integer can hold.
    inside = (places >= 0) & (places < truth.shape[1])
    return _PixelsOfOtherView(
        rows[inside], columns[inside], places[inside].astype(np.int64), true_disparities[inside]
    )


def _is_telling(truth: Disparity) -> NDArray[np.bool_]:
    """Return the pixels whose true disparity is known and not small.

    Small disparities prove nothing: estimates that are scaled down far enough would
    agree with all of them.
    """
    is_telling: NDArray[np.bool_] = np.abs(truth) > 2
    return is_telling


def _wrong(scale: float) -> str:
    return " and ".join(filter(None, ("sign" * (scale < 0), "scale" * (abs(scale) != 1))))


def _right(scale: float) -> str:
    size = abs(scale)
    change = (
        f"divided by {size:.3g}"
        if size > 1
        else f"multiplied by {1 / size:.3g}"
        if size < 1
        else ""
    )
    return " and ".join(filter(None, ("negated" * (scale < 0), change)))
