"""Choice between the planes of two maps by the matching costs along them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import NDArray

from stereo_framework.artefacts import contrast_of
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.local_planes import Planes, local_planes
from stereo_framework.kernels.threads import over_rows
from stereo_framework.parameters import require
from stereo_framework.scene import Disparity, Image, Mask, Search
from stereo_framework.stage import NonNegative, Positive, PositiveInt, Unit, stage
from stereo_framework.view import View, one_of
from stereo_framework.volume import CostVolume, Status

_RADII, _GATE, _RIDGE, _FARTHEST = (4, 8), 0.8, 0.2, 0.5
"""Of the planes, and by how much they may move a pixel's disparity."""
_STEP, _OWN_BAND, _SECOND_BAND = 1.5, 7, 3
"""Neighbours that differ by this much have an edge between them; within so many pixels of either map's edges a choice is made."""
_APART, _SLOPES = 0.4, (0.15, 0.25)
"""Where both maps differ by more, or the first slopes more along rows or columns, one is made too."""
_REACHES = (4, 10, 20)
"""Distances from which the planes of other pixels are taken, in each of eight directions."""
_SAME, _SAME_SLOPE = 0.3, 0.05
"""Two candidates that differ by less than this count as one."""
_NEAR, _STEEPNESS, _MOST_NEAR = 0.3, 8.0, 1.5
"""A candidate departs from the second map by more than the smaller of the last and the sum of the first and so many times the slopes."""
_LEAST_WEIGHT = 0.02
_PIECE = 32
"""Number of samples between checks whether a candidate can still win."""
_ONE, _TWO = np.uint64(_PIECE), np.uint64(2 * _PIECE)
"""From one line of a piece to the next and the one after that; unsigned indices need no wraparound check."""
_NOWHERE = np.int32(-(2**31))
_SURE = 1.001
"""Tolerance for rounding."""


class _Costs(NamedTuple):
    """Costs of all levels, (pixels, levels), and what to make of disparities; `direction` as in `Search`, `outside` that of the volume."""

    costs: NDArray
    outside: float
    minimum: float
    step: float
    direction: int


@stage("refinement", source="ours, unpublished; Bleyer, Rhemann & Rother 2011 for costs along planes", integer=True)
def plane_choice(
    disparity: Disparity,
    reference: Image,
    match: Image,
    search: Search,
    raw: CostVolume,
    status: NDArray[np.uint8],
    alternatives: Mapping[str, View],
    *,
    first: str | None = None,
    second: str | None = None,
    radius: Annotated[PositiveInt, Unit("pixels")] = 21,
    spacing: Annotated[PositiveInt, Unit("pixels")] = 3,
    colour_scale: Annotated[Positive, Unit("grey levels")] = 15.0,
    preference: Annotated[float, Gt(0), Le(1)] = 0.97,
    loyalty: NonNegative = 0.4,
    contrast: Annotated[Positive, Unit("grey levels")] = 3.3,
) -> tuple[Disparity, NDArray[np.uint8]]:
    """Where two maps differ, and near their edges, choose among the planes that both maps have nearby the one along which costs are lowest.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate; the first map, which has fine detail where it is right.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : Search
        The search range of the volume.
    raw : CostVolume
        Costs before aggregation, float32, uint8 or uint16.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`. Only matched pixels count as having an estimate.
    alternatives : mapping of str to View
        The second map, which is robust where there is little texture, is one of them; the first map may be one too.
    first : str, optional
        Name of the alternative that is the first map; null: the method's own map is.
    second : str, optional
        Name of the alternative that is the second map; null: the only one.
    radius : int
        Costs are averaged over windows of this radius, in pixels.
    spacing : int
        Distance of the pixels of the window that are sampled, in each direction, in pixels.
    colour_scale : float
        Difference of colours, the largest of a channel, at which a weight is 1/e, in grey levels.
    preference : float
        Factor by which the cost of a pixel's own plane in the first map is multiplied.
    loyalty : float
        The cost of planes that depart from the second map is multiplied by 1 + `loyalty` in images of `contrast`; it falls to 0 at half of that contrast.
    contrast : float
        Median difference of neighbouring pixels of both images from which on the full loyalty holds, in grey levels.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels; NaN where neither map has an estimate.
    status : ndarray, uint8, (rows, columns)
        Matched where there is an estimate.

    Raises
    ------
    ParameterError
        A parameter is out of its range, there is no such alternative, or none is named although there are several.
    DataError
        The images, the status or the costs have another size than the disparities.

    Notes
    -----
    Ours, unpublished. Planes are those of `plane_smooth` with radii of 4 and 8 pixels, a gate of 0.8 and a ridge of 0.2. They are fitted to the first map, whose
    holes are filled from the second, and to the second; they may move a disparity by half a pixel. Candidates are both planes at the pixel and at 8 directions x 4, 10 and 20
    pixels; those that hardly differ count once, those beyond the range not at all. The cost of a candidate is the mean of `raw` along it, linear between levels, with weights
    ``exp(-(difference in the reference image + difference in the match image) / colour_scale)`` to the pixel itself and to its match; where the plane leads out of
    view a sample costs `outside`. A choice is made within 7 pixels of edges of the first map and 3 of the second, where both differ by more than 0.4, where the first
    slopes by more than 0.15 along rows or 0.25 along columns, and where it has no estimate. All other pixels take the value of their own plane.

    Examples
    --------
    The second map knows the surface that the first has wrong in the middle.

    >>> import numpy as np
    >>> image = np.full((9, 9), 90, np.uint8)
    >>> costs = np.ones((9, 9, 5), np.float32)
    >>> costs[..., 1] = 0
    >>> first, matched = np.full((9, 9), 1, np.float32), np.zeros((9, 9), np.uint8)
    >>> first[3:6, 3:6] = 4
    >>> robust = View(np.full((9, 9), 1, np.float32), matched, Search(0, 4))
    >>> plane_choice(first, image, image, Search(0, 4), CostVolume(costs, Search(0, 4), 0.5), matched, {"robust": robust})[0].max().round(2)
    np.float32(1.0)
    """
    require(plane_choice, first=first, second=second, radius=radius, spacing=spacing, colour_scale=colour_scale)
    require(plane_choice, preference=preference, loyalty=loyalty, contrast=contrast)
    other = one_of("plane_choice.second", alternatives, second)
    if first is not None:
        chosen_first = one_of("plane_choice.first", alternatives, first)
        disparity, status = chosen_first.disparity, np.where(status == Status.INVALID, status, chosen_first.status)
    raw.check_whole("plane_choice")
    unsure = np.isnan(disparity) | (status != Status.MATCHED)
    ours = _planes(np.where(unsure, other.disparity, disparity), reference, colour_scale)
    theirs = _planes(other.disparity, reference, colour_scale)
    # With a single level there is nothing to choose.
    doubtful = _doubtful(ours, theirs, unsure) & ~np.isnan(ours.value) & (search.levels > 1)
    chosen = np.flatnonzero(doubtful)
    value = ours.value.copy()
    share = np.clip(((contrast_of(reference) + contrast_of(match)) / 2 / contrast - 0.5) / 0.5, 0, 1)
    costs = _Costs(
        raw.costs.reshape(-1, search.levels), float(raw.outside), float(search.minimum), float(search.step), search.direction
    )
    alike = np.exp(-np.arange(256) / colour_scale).astype(np.float32)
    images = _colours(reference), _colours(match)

    def run(start: int, stop: int) -> None:
        penalty = np.float32(1 + loyalty * share)
        _kernel(
            chosen[start:stop],
            ours,
            theirs,
            costs,
            *images,
            alike,
            radius,
            spacing,
            _OFFSETS,
            np.float32(preference),
            penalty,
            value,
        )

    over_rows(run, chosen.size, 1000 * chosen.size)
    told = np.where(np.isnan(value) | (status == Status.INVALID), status, Status.MATCHED).astype(np.uint8)
    return value, told


def _planes(disparity: Disparity, image: Image, colour_scale: float) -> Planes:
    found = local_planes(disparity, image, _RADII, _GATE, colour_scale, _RIDGE)
    return found._replace(value=np.clip(found.value, disparity - np.float32(_FARTHEST), disparity + np.float32(_FARTHEST)))


def _doubtful(ours: Planes, theirs: Planes, unsure: Mask) -> Mask:
    """The pixels for which a choice is made."""
    found: Mask = unsure | _near_edges(ours.value, _OWN_BAND) | _near_edges(theirs.value, _SECOND_BAND)
    found |= np.abs(ours.value - theirs.value) > _APART
    found |= (np.abs(ours.right) > _SLOPES[0]) | (np.abs(ours.down) > _SLOPES[1])
    return found


def _near_edges(disparity: Disparity, reach: int) -> Mask:
    import cv2

    edges = np.zeros(disparity.shape, np.uint8)
    across = np.abs(np.diff(disparity, axis=1)) >= _STEP
    along = np.abs(np.diff(disparity, axis=0)) >= _STEP
    for side, steps in ((np.s_[:, :-1], across), (np.s_[:, 1:], across), (np.s_[:-1], along), (np.s_[1:], along)):
        edges[side] |= steps
    near: Mask = cv2.dilate(edges, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)) > 0
    return near


def _colours(image: Image) -> NDArray[np.int32]:
    """The three channels in whole grey levels, packed as one byte each, (pixels,)."""
    whole = image if image.dtype == np.uint8 else np.rint(np.clip(image, 0, 255)).astype(np.uint8)
    channels = np.broadcast_to(whole.reshape(*whole.shape[:2], -1), (*whole.shape[:2], 3)).astype(np.int32)
    return (channels[..., 0] << 16 | channels[..., 1] << 8 | channels[..., 2]).reshape(-1)


# Row and column offsets: the pixel itself, then those around it.
_OFFSETS = np.array(
    [(0, 0), *((round(r * np.sin(k * np.pi / 4)), round(r * np.cos(k * np.pi / 4))) for r in _REACHES for k in range(8))],
    np.int64,
)


@kernel
def _kernel(
    chosen: NDArray[np.int64],
    ours: Planes,
    theirs: Planes,
    costs: _Costs,
    reference: NDArray[np.int32],
    match: NDArray[np.int32],
    alike: NDArray[np.float32],
    radius: int,
    spacing: int,
    offsets: NDArray[np.int64],
    preference: float,
    penalty: float,
    value: Disparity,
) -> None:
    """Choose the planes of some pixels, which are counted in reading order."""
    rows, columns = value.shape
    levels = costs.costs.shape[1]
    maximum = np.float32(costs.minimum + (levels - 1) * costs.step)
    minimum = np.float32(costs.minimum)
    room = (2 * (radius // spacing) + 1) ** 2
    # Piece by piece: columns and rows from the middle of the window, and weights by the reference image. A sample that does not count is written where
    # the next one will be.
    samples, rest = np.zeros(3 * (room + _PIECE), np.float32), np.empty(room + 1, np.float32)
    flat = costs.costs.reshape(-1)
    floats, places, colours = np.empty(3 * _PIECE, np.float32), np.empty(2 * _PIECE, np.int32), np.empty(_PIECE, np.int32)
    tried = np.empty((2 * offsets.shape[0], 3), np.float32)
    reach = radius // spacing * spacing
    for pixel in chosen:
        y, x = pixel // columns, pixel % columns
        count, own_colour = np.uint64(0), reference[pixel]
        for dy in range(max(-reach, -(y // spacing) * spacing), min(reach, rows - 1 - y) + 1, spacing):
            for dx in range(max(-reach, -(x // spacing) * spacing), min(reach, columns - 1 - x) + 1, spacing):
                weight = alike[np.uint64(_unlike(reference[np.uint64(pixel + dy * columns + dx)], own_colour))]
                at = _at(count)
                samples[at], samples[at + _ONE], samples[at + _TWO] = dx, dy, weight
                count += np.uint64(weight >= np.float32(_LEAST_WEIGHT))
        many = np.int64(count)
        # To the end of their piece there are those of another pixel, which weigh nothing.
        for i in range(many, -(-many // _PIECE) * _PIECE):
            at = _at(np.uint64(i))
            samples[at], samples[at + _ONE], samples[at + _TWO] = 0, 0, 0
        rest[many] = 0
        for i in range(many, 0, -1):
            rest[i - 1] = rest[i] + samples[_at(np.uint64(i - 1)) + _TWO]
        usual, slopes = theirs.value[y, x], abs(theirs.right[y, x]) + abs(theirs.down[y, x])
        limit = min(np.float32(_MOST_NEAR), np.float32(_NEAR) + np.float32(_STEEPNESS) * slopes)
        known, least, best = 0, np.float32(np.inf), value[y, x]
        for k in range(2 * offsets.shape[0]):
            # The pixel's own plane in the first map comes first, the one in the second map last.
            dy, dx = offsets[min(k, 2 * offsets.shape[0] - 1 - k)]
            v, u = y + dy, x + dx
            if not (0 <= v < rows and 0 <= u < columns):
                continue
            planes = ours if k < offsets.shape[0] else theirs
            right, down = planes.right[v, u], planes.down[v, u]
            level = planes.value[v, u] - right * np.float32(dx) - down * np.float32(dy)
            # False for NaN.
            own = (dy == 0 and dx == 0 and not np.isnan(level)) or minimum <= level <= maximum
            if not own:
                continue
            new = True
            for i in range(known):
                if (
                    abs(tried[i, 0] - level) < np.float32(_SAME)
                    and abs(tried[i, 1] - right) < np.float32(_SAME_SLOPE)
                    and abs(tried[i, 2] - down) < np.float32(_SAME_SLOPE)
                ):
                    new = False
                    break
            if not new:
                continue
            tried[known, 0], tried[known, 1], tried[known, 2] = level, right, down
            known += 1
            factor = preference if k == 0 else np.float32(1)
            # False where the second map has no estimate.
            if abs(level - usual) > limit:
                factor *= penalty
            bound = np.float32(_SURE) * least / factor
            plane = level, right, down
            cost = factor * _along(
                plane, x, pixel, columns, costs, flat, match, alike, samples, many, rest, floats, places, colours, bound
            )
            if cost < least:
                least, best = cost, level
        value[y, x] = best


@kernel(inline="always")
def _at(i: Any) -> Any:
    """The index of a sample's first number."""
    return i // _ONE * np.uint64(3 * _PIECE) + i % _ONE


@kernel(inline="always")
def _unlike(one: Any, other: Any) -> Any:
    """The largest difference between corresponding bytes of two packed colours."""
    # Without explicit types Numba would use wider ones.
    first = np.int32(abs(np.int32((one >> 16) - (other >> 16))))
    second = np.int32(abs(np.int32((one >> 8 & 255) - (other >> 8 & 255))))
    third = np.int32(abs(np.int32((one & 255) - (other & 255))))
    return max(first, max(second, third))


@kernel
def _along(
    plane: tuple[float, float, float],
    x: int,
    pixel: int,
    columns: int,
    costs: _Costs,
    flat: NDArray,
    match: NDArray[np.int32],
    alike: NDArray[np.float32],
    samples: NDArray[np.float32],
    count: int,
    rest: NDArray[np.float32],
    floats: NDArray[np.float32],
    places: NDArray[np.int32],
    colours: NDArray[np.int32],
    limit: float,
) -> np.float32:
    """Mean cost along a plane (disparity at the pixel, slopes to the right and down); infinite if it exceeds `limit` whatever the remaining samples cost.

    `rest` holds the largest possible sum of weights from each sample on.
    """
    level, right, down = plane
    levels, outside, direction = costs.costs.shape[1], np.float32(costs.outside), np.int32(costs.direction)
    minimum, step, inverse = np.float32(costs.minimum), np.float32(costs.step), np.float32(1 / costs.step)
    top, last, wide = np.float32(levels - 1), np.int32(levels - 2), np.int32(columns)
    many, own, cell = np.int32(levels), np.int32(x), pixel * levels
    target = x - costs.direction * int(np.floor(level + np.float32(0.5)))
    in_view = 0 <= target < columns
    centre = match[pixel - x + target] if in_view else np.int32(0)
    compared = np.int32(-1 if in_view else 0)
    total, whole = np.float32(0), np.float32(1e-6)
    for start in range(0, count, _PIECE):
        if total > limit * (whole + rest[start]):
            return np.float32(np.inf)
        # Loops over few arrays, which the compiler can vectorize.
        for n in range(_PIECE):
            i, at = np.uint64(n), np.uint64(3 * start + n)
            across, along = samples[at], samples[at + _ONE]
            place = min(max((level + right * across + down * along - minimum) * inverse, np.float32(0)), top)
            # Truncation rounds down here.
            below = min(np.int32(place), last)
            shift = np.int32(direction * np.int32(np.floor(place * step + minimum + np.float32(0.5))))
            u = np.int32(np.int32(own + np.int32(across)) - shift)
            offset = np.int32(np.int32(np.int32(along) * wide) + np.int32(across))
            floats[i] = place - np.float32(below)
            places[i] = np.int32(np.int32(offset * many) + below)
            places[i + _ONE] = np.int32(offset - shift) if (u >= np.int32(0)) & (u < wide) else _NOWHERE
        for n in range(_PIECE):
            i = np.uint64(n)
            if places[i + _ONE] != _NOWHERE:
                at = np.uint64(cell + places[i])
                floats[i + _ONE], floats[i + _TWO] = flat[at], flat[at + np.uint64(1)]
                colours[i] = match[np.uint64(pixel + places[i + _ONE])]
            else:
                floats[i + _ONE], floats[i + _TWO], colours[i] = outside, outside, centre
        for n in range(_PIECE):
            i = np.uint64(n)
            colours[i] = _unlike(colours[i], centre) & compared
        for n in range(_PIECE):
            i = np.uint64(n)
            floats[i] = floats[i + _ONE] + floats[i] * (floats[i + _TWO] - floats[i + _ONE])
        for n in range(_PIECE):
            i = np.uint64(n)
            weight = samples[np.uint64(3 * start) + _TWO + i] * alike[np.uint64(colours[i])]
            total += weight * floats[i]
            whole += weight
    return total / whole
