"""Filling of pixels without an estimate from all sides, depending on why they have none."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Disparity, Image, Mask, Status, StatusMap, kernel_array, stage

Places = NDArray[np.int64]
Found = NDArray[np.int32]
Map = NDArray[np.float32]

_FILLED, _INVALID = int(Status.FILLED), int(Status.INVALID)
# In half pixels down and to the right: all multiples of 45 degrees, and the knight's moves between them.
_EIGHT = [
    (2 * down, 2 * right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)
]
_KNIGHTS = [
    (down, right) for down in (-2, -1, 1, 2) for right in (-2, -1, 1, 2) if abs(down) != abs(right)
]
_DIRECTIONS = {
    "hirschmueller": np.array(_EIGHT, np.int64),
    "mei": np.array(_EIGHT + _KNIGHTS, np.int64),
}


@stage("refinement", source="Hirschmueller 2008, section 2.5.3; Mei et al. 2011, section 3.4")
def interpolate(
    disparity: Disparity,
    reference: Image,
    status: StatusMap,
    *,
    rule: Literal["hirschmueller", "mei"] = "hirschmueller",
) -> tuple[Disparity, StatusMap]:
    """Give every pixel without an estimate one of the nearest estimates in 8 or 16 directions.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, by whose similarity "mei" chooses.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`: pixels without an estimate are filled as occluded or else as mismatched ones; invalid pixels are not filled.
    rule : {"hirschmueller", "mei"}
        "hirschmueller": of the nearest estimates in 8 directions an occluded pixel takes the second lowest, a mismatched one the median (of an even
        number the lower of the two in the middle). Mismatched areas that touch an occluded pixel count as occluded. "mei": of those in 16 directions an
        occluded pixel takes the lowest, a mismatched one the estimate whose pixel is most similar in colour (of several the lowest).

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels; NaN where a pixel is invalid or none of its directions meets an estimate.
    status : ndarray, uint8, (rows, columns)
        Filled where a pixel was given an estimate.

    Raises
    ------
    ParameterError
        The rule is unknown.
    DataError
        The image or the status has another size than the disparities.

    Notes
    -----
    Hirschmueller 2008, section 2.5.3, equation 18; Mei et al. 2011, section 3.4. An occluded surface lies behind what occludes it, so the
    background is extended there. A pixel with a single estimate in all its directions takes that. Areas touch along rows and columns. Mei et al. specify neither
    their 16 directions nor the measure of similarity: here the directions are those to the 8 neighbours and by knight's moves, of which every other
    step is rounded outwards; colours differ by the largest difference of a channel, as elsewhere in their paper.

    Examples
    --------
    >>> import numpy as np
    >>> row = np.float32([[2, np.nan, 5]])
    >>> image = np.array([[90, 93, 95]], np.uint8)
    >>> occluded, mismatched = np.uint8([[0, 1, 0]]), np.uint8([[0, 2, 0]])
    >>> interpolate(row, image, occluded)[0].tolist(), interpolate(row, image, occluded, rule="mei")[0].tolist()
    ([[2.0, 5.0, 5.0]], [[2.0, 2.0, 5.0]])
    >>> interpolate(row, image, mismatched, rule="mei")
    (array([[2., 5., 5.]], dtype=float32), array([[0, 3, 0]], dtype=uint8))
    """
    filled, told = disparity.copy(), status.copy()
    occluded = np.isnan(disparity) & (status == Status.OCCLUDED)
    if rule == "hirschmueller":
        # Occluded is all that is connected to an occluded pixel through others without an estimate; 0 is the area of all other pixels.
        areas = cv2.connectedComponents(
            (np.isnan(disparity) & (status != Status.INVALID)).astype(np.uint8), connectivity=4
        )[1]
        touched = np.zeros(areas.max() + 1, bool)
        touched[areas[occluded]] = True
        occluded = touched[areas]
    colours = kernel_array(reference.astype(np.float32, copy=False)).reshape(disparity.size, -1)
    holes = np.flatnonzero(np.isnan(disparity))
    number = np.empty(disparity.shape, np.int32)
    number.flat[holes] = np.arange(holes.size)
    directions = _DIRECTIONS[rule]
    nearest = np.empty((len(directions), holes.size), np.int32)

    def trace(start: int, stop: int) -> None:
        _trace(disparity, holes, number, directions[start:stop], nearest[start:stop])

    def choose(start: int, stop: int) -> None:
        # Slices of `nearest` would be compiled for once more.
        _choose(
            disparity.ravel(),
            colours,
            occluded.ravel(),
            rule == "mei",
            holes,
            nearest,
            (start, stop),
            flat,
            flat_status,
        )

    flat, flat_status = filled.reshape(-1), told.reshape(-1)
    over_rows(trace, len(directions), 10 * nearest.size)
    over_rows(choose, holes.size, 10 * nearest.size)
    return filled, told


@kernel
def _trace(
    disparity: Disparity, holes: Places, number: Found, directions: Places, nearest: Found
) -> None:
    """The first pixel with an estimate that each hole meets in each direction, -1 where there is none.

    Pixels and `holes` are counted in reading order; `number` holds the index of a pixel's hole. After two steps every direction is at a whole pixel:
    from there on a hole meets what the hole at that pixel meets.
    """
    rows, columns = disparity.shape
    for k in range(directions.shape[0]):
        down, right = directions[k]
        upwards = down < 0 or (down == 0 and right < 0)
        for n in range(holes.shape[0]):
            hole = n if upwards else holes.shape[0] - 1 - n
            y, x = holes[hole] // columns, holes[hole] % columns
            nearest[k, hole] = -1
            for step in range(1, 3):
                v, u = y + _outwards(step * down), x + _outwards(step * right)
                if not (0 <= v < rows and 0 <= u < columns):
                    break
                if not np.isnan(disparity[v, u]):
                    nearest[k, hole] = v * columns + u
                    break
                if step == 2:
                    nearest[k, hole] = nearest[k, number[v, u]]


@kernel
def _outwards(halves: int) -> int:
    """Convert a distance from half pixels to whole pixels, rounded outwards."""
    return (halves + 1) // 2 if halves >= 0 else -((1 - halves) // 2)


@kernel
def _choose(
    disparity: Map,
    colours: Map,
    occluded: Mask,
    mei: bool,
    holes: Places,
    nearest: Found,
    some: tuple[int, int],
    filled: Map,
    status: StatusMap,
) -> None:
    """Fill some of the holes, from the first of the two numbers up to the second."""
    directions = nearest.shape[0]
    # The estimates found, in ascending order, and the colour differences of their pixels.
    values, differences = np.empty(directions, np.float32), np.empty(directions, np.float32)
    for hole in range(*some):
        pixel = holes[hole]
        if status[pixel] == _INVALID:
            continue
        count = 0
        for k in range(directions):
            found = nearest[k, hole]
            if found < 0:
                continue
            i = count
            while i > 0 and values[i - 1] > disparity[found]:
                values[i], differences[i] = values[i - 1], differences[i - 1]
                i -= 1
            values[i] = disparity[found]
            if mei:
                differences[i] = 0
                for c in range(colours.shape[1]):
                    differences[i] = max(differences[i], abs(colours[found, c] - colours[pixel, c]))
            count += 1
        if count == 0:
            continue
        chosen = 0
        if not mei:
            chosen = min(1, count - 1) if occluded[pixel] else (count - 1) // 2
        elif not occluded[pixel]:
            for i in range(1, count):
                chosen = i if differences[i] < differences[chosen] else chosen
        filled[pixel], status[pixel] = values[chosen], _FILLED
