"""Functions that compute parts of built-in stages, for the author of a new method.

Each function of this module computes one part of a built-in stage. These parts are the
path costs of semi-global matching, the planes of a disparity map, and averages along
trees of an image. You can call each function with NumPy arrays, outside a pipeline.
Each function checks its arguments. The module `stereo_framework.stages` contains all
other names that you need for a new stage.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.aggregation._trees import (
    PixelTree,
    average_along_tree,
    build_segment_tree,
    build_spanning_tree,
)
from stereo_framework.core.arguments import checked
from stereo_framework.core.grey import GreyConversion
from stereo_framework.core.input_checks import check_sizes, convert_data
from stereo_framework.core.parameters import Words
from stereo_framework.kernels import local_planes, segment_planes, segments
from stereo_framework.kernels.local_planes import Planes
from stereo_framework.optimization._semi_global_paths import path_costs_along
from stereo_framework.optimization._semi_global_penalties import (
    STEPS,
    PenaltyRule,
    PenaltyRules,
    penalties_of_steps,
)
from stereo_framework.optimization.semi_global import fault_of_penalties, without_nan
from stereo_framework.stages import (
    CostVolume,
    DataError,
    Disparity,
    Fraction01,
    Image,
    NonNegative,
    NonNegativeInt,
    ParameterError,
    Positive,
    PositiveInt,
    Unit,
)

__all__ = [
    "PATH_DIRECTIONS",
    "PixelTree",
    "Planes",
    "average_along_tree",
    "build_segment_tree",
    "build_spanning_tree",
    "compute_path_costs",
    "compute_plane_disparities",
    "fit_local_planes",
    "fit_segment_planes",
    "segment_image",
]

PATH_DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1))
"""Directions of the paths of `semi_global`, as numbers of rows and columns.

A path reaches the pixel p from the pixel p - direction. For example, the path of the
direction (1, 0) walks down a column. With ``paths=4``, `semi_global` uses only the
first four directions.
"""

Direction = Annotated[tuple[int, int], Words("one of PATH_DIRECTIONS, such as (0, 1) or (-1, 1)")]


# --- Path costs of semi-global matching -----------------------------------------------


@checked()
def compute_path_costs(
    volume: CostVolume | NDArray,
    reference: Image | None = None,
    match: Image | None = None,
    *,
    direction: Direction = (0, 1),
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 100.0,
    penalties: PenaltyRule = "constant",
    edge_threshold: Annotated[NonNegative, Unit("grey levels")] = 15.0,
    grey_conversion: GreyConversion = "luma",
) -> CostVolume:
    """Compute the path costs of semi-global matching for one direction.

    The stage `semi_global` adds the path costs of four or eight directions, and selects
    the level with the lowest sum. Use this function if your method combines the
    directions in another way. Each call returns a new float32 volume. If the volume is
    large, process one direction after another to save memory.

    Parameters
    ----------
    volume : CostVolume or ndarray, float32, uint8 or uint16, (rows, columns, levels)
        Matching costs. If you give an array, its levels are the disparities 0, 1, 2 and
        so on. NaN marks an excluded cell.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Images with intensities in 0..255. The rules "gradient" and "edges" need both
        images. The default value None is allowed only for the rule "constant".
    direction : tuple of int
        Numbers of rows and columns by which a path moves in one step, such as (0, 1) or
        (1, -1). `PATH_DIRECTIONS` contains all eight directions. For example, the paths
        of the direction (1, 0) walk down the columns.
    p1 : float
        Penalty for a change by one level between neighbouring pixels of a path, in
        units of the matching cost.
    p2 : float
        Penalty for a change by more than one level between neighbouring pixels of a
        path, in units of the matching cost. `p2` must be at least `p1`.
    penalties : {"constant", "gradient", "edges"}
        Rule for the penalties at image edges. The stage `semi_global` has the same
        rules.
    edge_threshold : float
        Minimum difference of intensities at an image edge, in grey levels. Only the
        rule "edges" uses this threshold.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to grey values. Only the rule "gradient" uses this
        conversion.

    Returns
    -------
    CostVolume
        Path costs L of the direction, float32 (rows, columns, levels), with the search
        range and the outside cost of `volume`. Excluded cells have a cost of at least
        1000000.

    Raises
    ------
    ParameterError
        The direction does not exist, a parameter is out of its range, `p2` is below
        `p1`, or the rule for the penalties needs an image that is missing.
    DataError
        An array has a wrong type or shape, or the sizes of the arrays differ.

    Notes
    -----
    Hirschmueller 2008, section 2.2. The path of the direction r reaches the pixel p
    from the pixel p - r::

        M = min_k L(p-r, k)
        R(d) = min(L(p-r, d), L(p-r, d-1) + p1, L(p-r, d+1) + p1, M + p2)
        L(p, d) = C(p, d) + R(d) - M

    If p - r lies outside the image, L(p, d) is C(p, d). Excluded cells stay excluded in
    the result. No path leads through an excluded cell if `p2` and the costs of all
    allowed cells are smaller than the cost of an excluded cell.

    The rounding of a float32 sum depends on the order of its summands. `semi_global`
    starts with the sum 0. In the rows ``y < rows // 2``, `semi_global` first adds the
    path costs of the directions (0, 1), (1, 0), (1, 1) and (1, -1) in this order. It
    then adds the path costs of the four opposite directions in the same order. In the
    rows ``y >= rows // 2``, `semi_global` adds the four opposite directions first. Sums
    that are computed in this order equal the sums of `semi_global` to the last bit. If
    all costs and penalties are whole numbers, the order has no effect on the sums.

    Examples
    --------
    A change by one level has the penalty 2. Therefore, level 0 has the lowest path cost
    at the middle pixel:

    >>> import numpy as np
    >>> costs = np.array([[[0, 9], [5, 4], [0, 9]]], np.uint8)
    >>> compute_path_costs(costs, direction=(0, 1), p1=2, p2=2).costs.tolist()
    [[[0.0, 9.0], [5.0, 6.0], [0.0, 10.0]]]

    The sum of the path costs over four directions equals the volume of `semi_global`:

    >>> from stereo_framework import CostVolume, SearchRange
    >>> from stereo_framework.optimization import semi_global
    >>> volume = CostVolume(costs, SearchRange(0, 1), 9.0)
    >>> total = np.zeros(costs.shape, np.float32)
    >>> for direction in PATH_DIRECTIONS[:4]:
    ...     total += compute_path_costs(volume, direction=direction, p1=2, p2=2).costs
    >>> total[0, 1].tolist()
    [20.0, 20.0]
    >>> semi_global(volume, paths=4, p1=2, p2=2).volume.costs[0, 1].tolist()
    [20, 20]
    """
    name = "compute_path_costs"
    direction_index, is_opposite = _index_of_direction(name, direction)
    if misfit := fault_of_penalties(p1, p2):
        raise ParameterError(f"{name}: {misfit}")

    data = {"volume": _with_excluded_cells(volume), "reference": reference, "match": match}
    inputs = convert_data(name, data, names=data, integer=True)
    images = inputs["reference"], inputs["match"]
    checked_volume = inputs["volume"]
    rules = PenaltyRules(p1, p2, penalties, edge_threshold, grey_conversion)
    # The call computes the penalties of all directions up to the requested direction.
    penalties_of_directions = penalties_of_steps(
        name, checked_volume.shape, images, direction_index + 1, rules
    )
    costs = path_costs_along(
        checked_volume.costs,
        checked_volume.search,
        penalties_of_directions,
        direction_index,
        upwards=is_opposite,
    )
    return replace(checked_volume, costs=costs)


def _index_of_direction(function: str, direction: tuple[int, int]) -> tuple[int, bool]:
    """Return the index of a direction in `STEPS`, and False.

    If `STEPS` contains only the opposite direction, the function returns the index of
    the opposite direction, and True.
    """
    if direction not in PATH_DIRECTIONS:
        names = ", ".join(map(str, PATH_DIRECTIONS))
        message = (
            f"{function}: direction is {direction}; expected rows and columns of a step: "
            f"one of {names}"
        )
        raise ParameterError(message)
    if direction in STEPS:
        return STEPS.index(direction), False
    return STEPS.index((-direction[0], -direction[1])), True


def _with_excluded_cells(volume: CostVolume | NDArray) -> CostVolume | NDArray:
    """Replace NaN costs by the cost that pipelines give to excluded cells."""
    if not isinstance(volume, CostVolume):
        return without_nan(volume) if volume.size else volume
    return replace(volume, costs=without_nan(volume.costs)) if volume.costs.size else volume


# --- Planes of a disparity map --------------------------------------------------------


@checked()
def fit_local_planes(
    disparity: Disparity,
    image: Image,
    *,
    radii: tuple[PositiveInt, ...] = (3, 5),
    gate: Annotated[Positive, Unit("pixels")] = 0.5,
    gamma_c: Annotated[Positive, Unit("grey levels")] = 15.0,
    ridge: Positive = 0.05,
) -> Planes:
    """Fit a plane to the disparities around each pixel by robust least squares.

    The plane at the pixel (x, y) is ``d(x + u, y + v) = value + right * u + down * v``.
    The stage `plane_smooth` returns `value`. Neighbours with another colour have a
    small weight. Neighbours beyond a disparity edge have a small weight or the weight
    0.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN marks a pixel without an estimate. Pixels without an
        estimate get no plane, and they have no influence on the planes of their
        neighbours.
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image with intensities in 0..255. The colour difference of two pixels is the
        maximum of the absolute differences of their channels.
    radii : tuple of int
        Radii of the square windows in the order of the fits, in pixels. Each radius
        must be at least 1. Each fit starts from the planes of the previous fit. In each
        window, the fit uses every ``max(1, radius // 4)``-th row and column.
    gate : float
        Maximum distance between the disparity of a neighbour and the plane, in pixels.
        In the first fit, the maximum distance is ``gate + 0.2`` pixels.
    gamma_c : float
        Colour difference that multiplies the weight of a neighbour by 1/e, in grey
        levels.
    ridge : float
        Weight that keeps the slopes close to the slopes of the previous fit, in units
        of the squared radius. Before the first fit, the slopes are 0. Larger values
        change the slopes less.

    Returns
    -------
    Planes
        Named tuple of three arrays, float32 (rows, columns). `value` is the disparity
        of the plane at each pixel, in pixels. `right` is the change of the disparity
        per pixel to the right, and its maximum absolute value is 1. `down` is the
        change of the disparity per pixel downwards, and its maximum absolute value is
        1.5. If a pixel has no estimate, `value` is NaN, and `right` and `down` are 0.

    Raises
    ------
    ParameterError
        A parameter is out of its range.
    DataError
        An array has a wrong type or shape, or the sizes of the arrays differ.

    Notes
    -----
    The method is moving least squares (Lancaster & Salkauskas 1981). The weight of a
    neighbour is ``exp(-difference / gamma_c) (1 - (e / gate)^2)^2``. Here, difference
    is the colour difference, and e is the distance between the disparity of the
    neighbour and the previous plane. The weight is 0 if e exceeds `gate`.

    Examples
    --------
    >>> import numpy as np
    >>> y, x = np.mgrid[:9, :9]
    >>> slanted = (5 + 0.25 * x - 0.125 * y).astype(np.float32)
    >>> planes = fit_local_planes(slanted, np.zeros((9, 9), np.uint8), ridge=1e-6)
    >>> [round(float(part[4, 4]), 2) for part in planes]
    [5.5, 0.25, -0.12]
    """
    if not radii:
        message = "fit_local_planes: radii is (); expected one radius or more, such as (3, 5)"
        raise ParameterError(message)
    data = {"disparity": disparity, "image": image}
    inputs = convert_data("fit_local_planes", data, names=data, integer=False)
    return local_planes.fit_local_planes(
        inputs["disparity"], inputs["image"], radii, gate, gamma_c, ridge
    )


@checked()
def segment_image(
    image: Image,
    *,
    sigma: Annotated[NonNegative, Unit("pixels")] = 0.5,
    k: Annotated[Positive, Unit("grey levels")] = 150.0,
    min_segment: Annotated[PositiveInt, Unit("pixels")] = 60,
) -> NDArray[np.int32]:
    """Divide an image into segments of similar colour.

    The stage `segment_planes` fits a plane to the disparities of each segment.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image with intensities in 0..255. The difference of two pixels is the Euclidean
        distance of their colours.
    sigma : float
        Standard deviation, in pixels, of the Gaussian filter that smooths the image
        before the segmentation. With 0, the image is not smoothed.
    k : float
        Parameter k of Felzenszwalb & Huttenlocher 2004, in grey levels. Larger values
        give larger segments.
    min_segment : int
        Minimum number of pixels of a segment. A smaller segment is joined with the most
        similar neighbouring segment.

    Returns
    -------
    ndarray, int32, (rows, columns)
        Segment number of each pixel. Segments are numbered from 0 in the raster order
        of their first pixels.

    Raises
    ------
    ParameterError
        A parameter is out of its range.
    DataError
        The image has a wrong type or shape.

    Notes
    -----
    The method is the segmentation of Felzenszwalb & Huttenlocher 2004. Each pixel is
    compared with its eight neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[10, 10, 90, 90]] * 2, np.uint8)
    >>> segment_image(image, sigma=0, k=5, min_segment=1).tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1]]
    """
    inputs = convert_data("segment_image", {"image": image}, names=["image"], integer=False)
    return segments.segment_image(inputs["image"], float(sigma), float(k), min_segment)


@checked()
def fit_segment_planes(
    disparity: Disparity,
    segment_numbers: NDArray[np.int32],
    *,
    plane_tolerance: Annotated[Positive, Unit("pixels")] = 1.0,
    min_count: Annotated[PositiveInt, Unit("pixels")] = 20,
    min_share: Fraction01 = 0.5,
    plane_iterations: PositiveInt = 200,
    seed: NonNegativeInt = 0,
) -> NDArray[np.float64]:
    """Fit a plane d = a x + b y + c to the disparities of each segment by RANSAC.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN marks a pixel without an estimate.
    segment_numbers : ndarray, integer, (rows, columns)
        Segment number of each pixel, as returned by `segment_image`. Each number must
        be at least 0 and less than the number of pixels.
    plane_tolerance : float
        Maximum distance of an estimate that belongs to a plane, in pixels.
    min_count : int
        Minimum number of estimates in a segment. A segment with fewer estimates gets no
        plane.
    min_share : float
        Minimum share of the estimates of a segment that must belong to the plane, in
        0..1. If the share is smaller, the segment gets no plane.
    plane_iterations : int
        Number of random planes that are tested for each segment. Larger values take
        more time and may find a better plane if many estimates are wrong.
    seed : int
        Seed of the random choice of estimates. Equal seeds give equal planes.

    Returns
    -------
    ndarray, float64, (segments, 3)
        Coefficients (a, b, c) of each plane, in pixels. The coefficient a is the slope
        per column, b is the slope per row, and c is the disparity at the pixel (0, 0).
        The coefficients are NaN if the segment has no plane.

    Raises
    ------
    ParameterError
        A parameter is out of its range.
    DataError
        An array has a wrong type or shape, the sizes of the arrays differ, or a segment
        number is out of its range.

    Notes
    -----
    The score of a plane is the sum of ``1 - (e / plane_tolerance)^2`` over all
    estimates whose distance e from the plane is below `plane_tolerance`. The first
    tested plane is level and has the median disparity of the segment. Each other plane
    contains three random estimates, as in RANSAC (Fischler & Bolles 1981). Planes with
    ``abs(a) >= 1`` are not tested, because one of the two cameras cannot see them. The
    plane with the highest score is then fitted twice by least squares to the estimates
    that belong to it. Klaus, Sormann & Karner 2006 describe segments by such planes.

    Examples
    --------
    >>> import numpy as np
    >>> y, x = np.mgrid[:6, :8]
    >>> slanted = (3 + 0.5 * x - 0.25 * y).astype(np.float32)
    >>> slanted[2, 3] = 40
    >>> planes = fit_segment_planes(slanted, np.zeros((6, 8), np.int32))
    >>> planes.round(3).tolist()
    [[0.5, -0.25, 3.0]]
    """
    name = "fit_segment_planes"
    data = {"disparity": disparity}
    inputs = convert_data(name, data, names=data, integer=False)
    numbers = _segment_numbers(name, segment_numbers)
    check_sizes(name, disparity=inputs["disparity"], segment_numbers=numbers)
    is_fitted = np.ones(int(numbers.max()) + 1, np.bool_)
    planes = segment_planes.fit_segment_planes(
        inputs["disparity"],
        numbers,
        is_fitted,
        plane_tolerance,
        min_count,
        min_share,
        plane_iterations,
        seed,
    )
    # The kernel stores the planes as (c, b, a).
    return np.ascontiguousarray(planes[:, ::-1])


@checked()
def compute_plane_disparities(
    planes: NDArray[np.float64], segment_numbers: NDArray[np.int32]
) -> Disparity:
    """Compute the disparity of each pixel from the plane of its segment.

    Parameters
    ----------
    planes : ndarray, float64, (segments, 3)
        Coefficients (a, b, c) of each plane d = a x + b y + c, as returned by
        `fit_segment_planes`.
    segment_numbers : ndarray, integer, (rows, columns)
        Segment number of each pixel. Each number must be at least 0 and less than the
        number of planes.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. The disparity is NaN if the segment of the pixel has no
        plane.

    Raises
    ------
    DataError
        An array has a wrong type or shape, or a segment number has no row in `planes`.

    Examples
    --------
    >>> import numpy as np
    >>> planes = np.array([[0.5, 0, 3], [0, 0, 7]])
    >>> compute_plane_disparities(planes, np.array([[0, 0, 1]], np.int32)).tolist()
    [[3.0, 3.5, 7.0]]
    """
    name = "compute_plane_disparities"
    numbers = _segment_numbers(name, segment_numbers)
    if planes.ndim != 2 or planes.shape[1] != 3:
        message = f"{name}: planes has shape {planes.shape}; expected (segments, 3)"
        raise DataError(message)
    if int(numbers.max()) >= len(planes):
        message = (
            f"{name}: segment_numbers has the number {numbers.max()}, but planes has only "
            f"{len(planes)} rows; give the planes of the same segments"
        )
        raise DataError(message)

    y, x = np.indices(numbers.shape)
    a, b, c = np.moveaxis(planes[numbers], 2, 0)
    return (a * x + b * y + c).astype(np.float32)


def _segment_numbers(function: str, numbers: NDArray) -> NDArray[np.int32]:
    """Check segment numbers, and convert them to int32."""
    label = f"{function}: segment_numbers"
    check_sizes(function, segment_numbers=numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 2 or not numbers.size:
        message = (
            f"{label} is {numbers.dtype} {numbers.shape}; expected whole numbers "
            "(rows, columns), such as the result of segment_image"
        )
        raise DataError(message)
    lowest = int(numbers.min())
    highest = int(numbers.max())
    if lowest < 0 or highest >= numbers.size:
        message = (
            f"{label} has numbers from {lowest} to {highest}; expected numbers from 0 to "
            f"{numbers.size - 1}, the number of pixels minus 1; "
            "numpy.unique(..., return_inverse=True) renumbers segments"
        )
        raise DataError(message)
    return np.ascontiguousarray(numbers, np.int32)
