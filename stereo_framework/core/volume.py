"""Cost volumes, and the terms and results of their optimization.

The costs of a `CostVolume` have the shape (rows, columns, levels), in C order. They are
float32, or uint8 or uint16 between stages that declare ``integer=True``. Lower costs
are better. Level k is the disparity ``search.minimum + k * search.step`` in pixels.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import AnyNumber, checked, checked_fields
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.former_names import report_attributes, report_attributes_of_module
from stereo_framework.core.parameters import brief, in_short
from stereo_framework.core.scene import Disparity, Mask, SearchRange, read_only
from stereo_framework.kernels.excluded_cells import (
    exclude_cells,
    find_excluded_levels,
    find_excluded_pixels,
    find_limits_of_match_pixels,
)
from stereo_framework.kernels.filling import fill_rows
from stereo_framework.kernels.threads import over_rows

Costs = NDArray[np.float32]
Levels = NDArray[np.int16]
StatusMap = NDArray[np.uint8]
ConfidenceMap = NDArray[np.float32]
INTEGERS = (np.uint8, np.uint16)
"""Types of integer costs."""

EXCLUDED = 65535
"""Marker of excluded cells in volumes of uint16 costs."""

EXCLUDED_FLOAT = np.float32(1e6)
"""Marker of excluded cells in volumes of float32 costs."""


@report_attributes
@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class CostVolume:
    """The disparity space image (DSI) of a pair.

    Parameters
    ----------
    costs : ndarray, float32, uint8 or uint16, (rows, columns, levels)
        Cost of each disparity at each pixel; lower is better. C order. Only stages that
        are declared with ``integer=True`` take integer costs.
    search : SearchRange
        Disparity of each level.
    outside_cost : float
        Finite cost of cells whose match lies outside the other image.
    """

    costs: Costs
    search: SearchRange
    outside_cost: AnyNumber

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image."""
        rows, columns = self.costs.shape[:2]
        return rows, columns

    @property
    def excluded_cost(self) -> float:
        """Marker of the cells that must not be chosen.

        A volume of uint8 costs has no excluded cells.
        """
        return float(EXCLUDED_FLOAT) if self.costs.dtype == np.float32 else EXCLUDED

    def floats(self) -> CostVolume:
        """Return the volume with float32 costs; the volume itself if it has them."""
        if self.costs.dtype == np.float32:
            return self
        return replace(self, costs=self.costs.astype(np.float32))

    @checked()
    def chosen(self, levels: Levels) -> Costs:
        """Return the cost of every pixel's level ``(rows, columns)``, 0 where it is -1.

        The costs have the type of the volume.

        Raises
        ------
        DataError
            `levels` are no whole numbers, of another size, or beyond the volume.
        """
        _check_levels("CostVolume.chosen", levels, self.shape, self.costs.shape[2])
        cells = np.where(
            levels < 0,
            -1,
            np.arange(levels.size).reshape(levels.shape) * self.costs.shape[2] + levels,
        )
        costs = self.costs.reshape(-1)[cells]
        return np.where(cells < 0, costs.dtype.type(0), costs)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Cells whose match lies inside the other image, bool ``(columns, levels)``.

        They are equal in all rows; see `SearchRange.in_view`.
        """
        return self.search.in_view(self.shape[1])


def as_volume(costs: CostVolume | NDArray, search: SearchRange) -> CostVolume:
    """Return the result of a matching cost as a cost volume.

    Parameters
    ----------
    costs : CostVolume or ndarray, (rows, columns, levels)
        In an array, cells whose match lies outside the other image are NaN. They get
        the largest cost. Any other object is returned as it is, and is refused by the
        check of the stage's result.
    search : SearchRange
    """
    is_array = isinstance(costs, np.ndarray) and costs.ndim == 3 and costs.dtype.kind in "fu"
    if isinstance(costs, CostVolume) or not is_array:
        return costs  # type: ignore[return-value]
    is_known = ~np.isnan(costs)
    outside_cost = float(costs.max(initial=0, where=is_known))
    if costs.dtype in INTEGERS:
        complete_costs = costs.copy()
    else:
        complete_costs = np.where(is_known, costs, outside_cost).astype(np.float32)
    return CostVolume(np.ascontiguousarray(complete_costs), search, outside_cost)


@checked()
def restore_outside_cost(volume: CostVolume) -> CostVolume:
    """Reset the cells out of view to `volume.outside_cost`.

    A cell is out of view when its disparity points beyond the border of the match
    image. The matching cost gives such cells the `outside_cost`; aggregation then mixes
    it with costs of cells in view, and this undoes the mixing. At fractional steps of
    1/N pixel some cells in view are reset as well, as the original test bed does: those
    whose position lies less than a pixel from the border that larger disparities point
    to.

    Parameters
    ----------
    volume : CostVolume
        Aggregated costs; left unchanged.

    Returns
    -------
    CostVolume
        A copy; cells in view are untouched.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2 (the test bed's treatment of image borders).
    """
    fresh = replace(volume, costs=volume.costs.copy())
    restore_outside_cost_inplace(fresh)
    return fresh


def restore_outside_cost_inplace(volume: CostVolume) -> None:
    """Reset the cells out of view to `volume.outside_cost` in the array itself."""
    search = volume.search
    # Positions in the match image are counted in samples, `denominator` to a pixel.
    last_sample = (volume.shape[1] - 1) * search.denominator
    disparities = search.first + search.stride * np.arange(search.levels)
    # At whole steps these are the cells that `SearchRange.in_view` does not contain.
    shifts = -search.direction * (disparities + search.denominator - 1)
    for level, shift in enumerate(shifts):
        # The columns x with 0 <= x * denominator + shift <= last_sample keep their
        # costs. Writing into slices is faster than using a mask.
        start = max(0, -(shift // search.denominator))
        stop = max(0, (last_sample - shift) // search.denominator + 1)
        volume.costs[:, :start, level] = volume.outside_cost
        volume.costs[:, stop:, level] = volume.outside_cost


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Smoothness:
    """The smoothness term of an energy: costs of level differences between neighbours.

    The cost of two neighbouring pixels is the weight of their edge times the penalty of
    the difference of their levels.

    Parameters
    ----------
    right : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its right neighbour. The last column is
        unused and 0.
    down : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its lower neighbour. The last row is
        unused and 0.
    rho : ndarray, float32, (levels,)
        Penalty of a level difference of 0, 1, ..., levels - 1. It is computed from the
        difference in pixels; ``rho[0] == 0``.
    """

    right: NDArray[np.float32]
    down: NDArray[np.float32]
    rho: NDArray[np.float32]

    @checked()
    def of(self, levels: Levels) -> float:
        """Return the sum of weight times rho of the level difference over all edges.

        The sum is computed in float64. All levels must be assigned.

        Raises
        ------
        DataError
            `levels` are no whole numbers, of another size, or beyond `rho`.
        """
        _check_levels("Smoothness.of", levels, self.right.shape, len(self.rho))
        # Differences of int16 levels could overflow.
        levels = levels.astype(np.int32)
        right_penalties = self.rho[np.abs(np.diff(levels, axis=1))].astype(np.float64)
        down_penalties = self.rho[np.abs(np.diff(levels, axis=0))].astype(np.float64)
        right_costs = right_penalties * self.right[:, :-1]
        down_costs = down_penalties * self.down[:-1]
        return float(right_costs.sum() + down_costs.sum())


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Energy:
    """The energy of global methods: data costs plus smoothness costs.

    Parameters
    ----------
    volume : CostVolume
    smoothness : Smoothness or None
        None: only the data costs count.

    Notes
    -----
    Scharstein & Szeliski 2002, equations 3 to 5.
    """

    volume: CostVolume
    smoothness: Smoothness | None = None

    @checked()
    def of(self, levels: Levels) -> float:
        """Return the energy of levels, computed in float64.

        Unassigned pixels are filled from the background first; see `fill_levels`.

        Parameters
        ----------
        levels : ndarray, int16, (rows, columns)
            -1 means that a pixel is unassigned.

        Raises
        ------
        DataError
            `levels` are no whole numbers, of another size, or beyond the volume.
        """
        _check_levels("Energy.of", levels, self.volume.shape, self.volume.costs.shape[2])
        levels = fill_levels(levels)
        total = float(self.volume.chosen(levels).sum(dtype=np.float64))
        return total + self.smoothness.of(levels) if self.smoothness else total


def _check_levels(function: str, levels: NDArray, shape: tuple[int, ...], count: int) -> None:
    """Refuse levels that a volume or a smoothness term does not have.

    Raises
    ------
    DataError
        The array holds no whole numbers, has another size, or contains other levels.
    """
    is_array = not isinstance(levels, np.ma.MaskedArray) and levels.dtype.kind in "iu"
    if not is_array or levels.shape != shape:
        message = (
            f"{function}: levels is {in_short(levels)}; expected an array of whole numbers, {shape}"
        )
        raise DataError(message)
    lowest = int(levels.min(initial=0))
    highest = int(levels.max(initial=0))
    if lowest < -1 or highest >= count:
        message = (
            f"{function}: levels from {lowest} to {highest}; "
            f"expected 0 to {count - 1}, -1 = unassigned"
        )
        raise DataError(message)


def fill_levels(levels: Levels) -> Levels:
    """Fill unassigned pixels (-1) from the background.

    Each of them gets the farther level of its nearest assigned neighbours to the left
    and right. A row without any assigned pixel gets level 0. The input itself is
    returned if all pixels are assigned.
    """
    if levels.min(initial=0) >= 0:
        return levels
    filled = fill_rows(np.where(levels < 0, np.nan, levels).astype(np.float32))
    return np.nan_to_num(filled).astype(levels.dtype)


class Status(enum.IntEnum):
    """Values of status maps: the origin of a pixel's disparity, or why it has none."""

    MATCHED = 0
    OCCLUDED = 1
    MISMATCHED = 2
    FILLED = 3
    INVALID = 4


def status_of(disparity: Disparity) -> StatusMap:
    """Return the status of disparities about which nothing else is known.

    Pixels with a disparity are matched, and pixels without one are occluded.
    """
    is_missing = np.isnan(disparity)
    return np.where(is_missing, np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class SearchMask:
    """The pixels and disparities that take part in matching.

    A cell of a cost volume is excluded if its pixel or a pixel that it meets in the
    match image is not valid, or if its disparity lies outside the pixel's own range. A
    pixel never gets the disparity of an excluded cell. A pixel of which all cells are
    excluded is invalid.

    Parameters
    ----------
    valid, match_valid : ndarray, bool, (rows, columns), or None
        Pixels of the reference image and of the match image that contain data. None:
        all pixels.
    low, high : ndarray, float32, (rows, columns), or None
        Smallest and largest allowed disparity of each reference pixel, in pixels. NaN:
        the pixel has no such limit. None: no pixel has one.
    match_low, match_high : ndarray, float32, (rows, columns), or None
        Smallest and largest allowed disparity of each match pixel towards the reference
        image, for the exchanged pair.

    Raises
    ------
    DataError
        The maps have different shapes or wrong types.
    """

    valid: Mask | None = None
    match_valid: Mask | None = None
    low: Disparity | None = None
    high: Disparity | None = None
    match_low: Disparity | None = None
    match_high: Disparity | None = None

    def __post_init__(self) -> None:
        maps = {name: array for name, array in vars(self).items() if array is not None}
        for name, array in maps.items():
            dtype = bool if name.endswith("valid") else np.float32
            if array.ndim != 2 or array.dtype != dtype:
                message = (
                    f"mask.{name}: {array.dtype} {array.shape}; "
                    f"expected {np.dtype(dtype)} (rows, columns)"
                )
                raise DataError(message)
        if len({array.shape for array in maps.values()}) > 1:
            sizes = ", ".join(f"{name} {array.shape}" for name, array in maps.items())
            raise DataError(f"mask: maps of different sizes: {sizes}")

    def rows(self, top: int, bottom: int) -> SearchMask:
        """Return the mask of the rows `top` to `bottom` - 1."""
        rows = {
            name: None if array is None else array[top:bottom] for name, array in vars(self).items()
        }
        return SearchMask(**rows)

    def exchanged(self, search: SearchRange) -> SearchMask:
        """Return the mask of the exchanged pair.

        If the match pixels have no limits of their own, each gets the smallest range
        that contains the allowed cells of all reference pixels that can match it. This
        range is empty if there is no such pixel.

        Parameters
        ----------
        search : SearchRange
            Search range of this pair, not of the exchanged one.
        """
        low, high = self.match_low, self.match_high
        limits = [limit for limit in (self.low, self.high) if limit is not None]
        if low is None and high is None and limits:
            low, high = find_limits_of_match_pixels(self.maps(limits[0].shape), _grid(search))
        return SearchMask(self.match_valid, self.valid, low, high, self.low, self.high)

    def invalid(self, search: SearchRange, shape: tuple[int, int]) -> Mask:
        """Return the pixels without an allowed cell, bool ``(rows, columns)``."""
        return find_excluded_pixels(self.maps(shape), _grid(search))

    def excluded(self, levels: Levels, search: SearchRange) -> Mask:
        """Return the pixels whose level is excluded, bool ``(rows, columns)``.

        Unassigned levels (-1) are not excluded.
        """
        return find_excluded_levels(levels, self.maps(levels.shape), _grid(search))

    def beside_excluded(self, disparity: Disparity, search: SearchRange) -> Mask:
        """Return the pixels whose level or a neighbour of it is excluded.

        A refinement fits no curve to the three costs of such a pixel. At either end of
        the search range, the three outermost levels count. The result is bool
        ``(rows, columns)``, and False for pixels without a disparity.
        """
        levels = search.levels_of(disparity)
        middle = np.clip(levels, 1, search.levels - 2)
        is_excluded = np.zeros(levels.shape, np.bool_)
        for offset in (-1, 0, 1):
            neighbours = np.where(levels < 0, levels, middle + np.int16(offset))
            is_excluded |= self.excluded(neighbours, search)
        return is_excluded

    def exclude(self, volume: CostVolume, value: float) -> None:
        """Write `value` into the excluded cells of a volume, in place."""
        maps = self.maps(volume.shape)
        costs = volume.costs
        grid = _grid(volume.search)

        def run(start: int, stop: int) -> None:
            strip_maps = tuple([array[start:stop] for array in maps])
            exclude_cells(costs[start:stop], strip_maps, grid, costs.dtype.type(value))

        over_rows(run, len(costs), costs.size)

    def ranges(self, search: SearchRange, shape: tuple[int, int]) -> tuple[Disparity, Disparity]:
        """Return the smallest and the largest disparity that each pixel may have.

        Single cells between them may be excluded. Both maps are float32
        ``(rows, columns)``, in pixels.
        """
        _, _, low, high = self.maps(shape)
        lowest = np.maximum(low, np.float32(search.minimum))
        highest = np.minimum(high, np.float32(search.maximum))
        return lowest, highest

    def maps(self, shape: tuple[int, ...]) -> tuple[Mask, Mask, Disparity, Disparity]:
        """Return complete masks and limits, as kernels take them.

        Parameters
        ----------
        shape : (rows, columns)

        Returns
        -------
        valid, match_valid : ndarray, bool, (rows, columns)
            True at all pixels if there is no mask.
        low, high : ndarray, float32, (rows, columns)
            Infinite at pixels without a limit.
        """
        valid = _complete_mask(self.valid, shape)
        match_valid = _complete_mask(self.match_valid, shape)
        low = _complete_limits(self.low, np.float32(-np.inf), shape)
        high = _complete_limits(self.high, np.float32(np.inf), shape)
        return valid, match_valid, low, high


def _complete_mask(valid: Mask | None, shape: tuple[int, ...]) -> Mask:
    """Return a mask in C order and read-only; without a mask, all pixels are valid."""
    mask = np.ones(shape[:2], bool) if valid is None else np.ascontiguousarray(valid)
    return read_only(mask)


def _complete_limits(
    limits: Disparity | None, unlimited: np.float32, shape: tuple[int, ...]
) -> Disparity:
    """Return limits in which pixels without a limit have the value `unlimited`."""
    if limits is None:
        return read_only(np.full(shape[:2], unlimited, np.float32))
    return read_only(np.where(np.isnan(limits), unlimited, limits))


def _grid(search: SearchRange) -> tuple[int, int, int, int, int]:
    """Return the numbers by which the kernels of excluded cells compute disparities."""
    return search.first, search.stride, search.denominator, search.direction, search.levels


@brief
@dataclass(frozen=True, eq=False)
class Labeling:
    """The levels that an optimizer chose, with its own figures.

    Parameters
    ----------
    levels : ndarray, int16, (rows, columns)
        Chosen level of each pixel; -1 means unassigned (occluded).
    costs : ndarray, float32, (rows, columns)
        Data cost of the chosen level; 0 at unassigned pixels.
    volume : CostVolume, optional
        The optimizer's own costs of all levels, such as sums over paths or messages.
        Later stages get this volume instead of the aggregated one.
    trace : tuple of (float, float) or (float, float, float)
        Seconds since the start and energy after each iteration, and the lower bound if
        the optimizer has one: -inf as long as it is not known. Lists, arrays and
        numbers of NumPy are converted when a pipeline runs the optimizer.
    lower_bound : float, optional
        No labelling has a lower energy than this. -inf counts as no bound.
    objective : float, optional
        Value of the optimizer's own objective, if this is not the energy.
    search : SearchRange, optional
        Search range of the levels. A direct call of an optimizer returns it.
    """

    levels: Levels
    costs: Costs
    volume: CostVolume | None = None
    trace: tuple[tuple[float, ...], ...] = ()
    lower_bound: float | None = None
    objective: float | None = None
    search: SearchRange | None = None

    @property
    def disparity(self) -> Disparity:
        """The disparities of the levels in pixels, float32 ``(rows, columns)``.

        NaN means that no level is assigned.

        Raises
        ------
        ParameterError
            The search range is not known.
        """
        if self.search is None:
            message = (
                "labeling.disparity: its search range is not known; "
                "search.disparity_of(levels) gives disparities"
            )
            raise ParameterError(message)
        return self.search.disparity_of(self.levels)


report_attributes_of_module(__name__)
