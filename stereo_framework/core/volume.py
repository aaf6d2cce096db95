"""Cost volumes, energies, and the labelings that optimizers return.

Costs have the shape (rows, columns, levels), in C order. The type is float32, or uint8
or uint16 between stages with ``integer=True``. A lower cost means a better match. The
level k stands for the disparity ``search.minimum + k * search.step`` in pixels.
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
"""Integer types that costs may have."""

EXCLUDED = 65535
"""Cost that marks excluded cells in cost volumes of type uint16."""

EXCLUDED_FLOAT = np.float32(1e6)
"""Cost that marks excluded cells in cost volumes of type float32."""


@report_attributes
@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class CostVolume:
    """A cost volume, also called a disparity space image (DSI).

    Parameters
    ----------
    costs : ndarray, float32, uint8 or uint16, (rows, columns, levels)
        Cost of each disparity at each pixel, in C order. A lower cost means a better
        match. Only stages with ``integer=True`` accept integer costs.
    search : SearchRange
        Search range, which gives the disparity of each level.
    outside_cost : float
        Finite cost of all cells with a match outside the match image.
    """

    costs: Costs
    search: SearchRange
    outside_cost: AnyNumber

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the image."""
        rows, columns = self.costs.shape[:2]
        return rows, columns

    @property
    def excluded_cost(self) -> float:
        """Cost that marks excluded cells.

        Cost volumes of type uint8 contain no excluded cells.
        """
        return float(EXCLUDED_FLOAT) if self.costs.dtype == np.float32 else EXCLUDED

    def floats(self, *, is_marked: bool = False) -> CostVolume:
        """Return the volume with float32 costs, as a copy only if needed.

        Parameters
        ----------
        is_marked : bool
            True if integer costs contain marks of excluded cells, see `excluded_cost`.
        """
        if self.costs.dtype == np.float32:
            return self
        costs = self.costs.astype(np.float32)
        if is_marked:
            costs[self.costs == EXCLUDED] = EXCLUDED_FLOAT
        return replace(self, costs=costs)

    @checked()
    def chosen(self, levels: Levels) -> Costs:
        """Return the cost of the level of each pixel, ``(rows, columns)``.

        Pixels with the level -1 (unassigned) get the cost 0.

        Raises
        ------
        DataError
            `levels` does not contain whole numbers. Its size differs from the volume. A
            level does not exist in the volume.
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
        """Cells with a match inside the match image, bool ``(columns, levels)``.

        All rows have the same cells; see `SearchRange.in_view`.
        """
        return self.search.in_view(self.shape[1])


def as_volume(costs: CostVolume | NDArray, search: SearchRange) -> CostVolume:
    """Return the result of a matching cost as a cost volume.

    Parameters
    ----------
    costs : CostVolume or ndarray, (rows, columns, levels)
        Cost volume, or array with NaN at cells with a match outside the image. These
        cells get the largest cost. Any other object is returned unchanged.
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
    """Reset the costs of matches outside the image to the outside cost.

    If a match lies outside the image, its cost is `volume.outside_cost`. An aggregation
    averages this cost with the costs of neighbouring cells. This function writes
    `volume.outside_cost` again. With a fractional step, some matches less than a pixel
    inside the image border are reset, too. The original test bed has the same rule.

    Parameters
    ----------
    volume : CostVolume
        Cost volume after aggregation.

    Returns
    -------
    CostVolume
        Changed copy of the volume.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2, describe the image borders in
    their test bed.
    """
    fresh = replace(volume, costs=volume.costs.copy())
    restore_outside_cost_inplace(fresh)
    return fresh


def restore_outside_cost_inplace(volume: CostVolume) -> None:
    """Reset the costs of matches outside the image in the array of the volume."""
    search = volume.search
    # Positions are counted in samples. One pixel has `denominator` samples.
    last_sample = (volume.shape[1] - 1) * search.denominator
    disparities = search.first + search.stride * np.arange(search.levels)
    # If the step is a whole number, `SearchRange.in_view` is False for the reset cells.
    shifts = -search.direction * (disparities + search.denominator - 1)
    for level, shift in enumerate(shifts):
        # The columns x with 0 <= x * denominator + shift <= last_sample keep their
        # costs. Slices are faster than a mask.
        start = max(0, -(shift // search.denominator))
        stop = max(0, (last_sample - shift) // search.denominator + 1)
        volume.costs[:, :start, level] = volume.outside_cost
        volume.costs[:, stop:, level] = volume.outside_cost


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Smoothness:
    """The smoothness term of an energy.

    An edge connects two neighbouring pixels. The cost of an edge is its weight times
    the penalty of the level difference.

    Parameters
    ----------
    right : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its right neighbour. The last column is 0.
    down : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its lower neighbour. The last row is 0.
    rho : ndarray, float32, (levels,)
        Penalties of the level differences 0, 1, ..., levels - 1. ``rho[0]`` is 0.
    """

    right: NDArray[np.float32]
    down: NDArray[np.float32]
    rho: NDArray[np.float32]

    @checked()
    def of(self, levels: Levels) -> float:
        """Return the sum of the costs of all edges of a level map.

        The sum is computed in float64. The level -1 is not allowed.

        Raises
        ------
        DataError
            `levels` does not contain whole numbers. Its size differs from `right`. A
            level difference has no penalty in `rho`.
        """
        _check_levels("Smoothness.of", levels, self.right.shape, len(self.rho))
        # The difference of two int16 numbers could overflow.
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
        Smoothness term. None means only data costs.

    Notes
    -----
    Scharstein & Szeliski 2002, equations 3 to 5.
    """

    volume: CostVolume
    smoothness: Smoothness | None = None

    @checked()
    def of(self, levels: Levels) -> float:
        """Return the energy of a map of levels, computed in float64.

        Pixels without a level are first filled by `fill_levels`.

        Parameters
        ----------
        levels : ndarray, int16, (rows, columns)
            Level of each pixel. The value -1 means unassigned.

        Raises
        ------
        DataError
            `levels` does not contain whole numbers. Its size differs from the volume. A
            level does not exist in the volume.
        """
        _check_levels("Energy.of", levels, self.volume.shape, self.volume.costs.shape[2])
        levels = fill_levels(levels)
        total = float(self.volume.chosen(levels).sum(dtype=np.float64))
        return total + self.smoothness.of(levels) if self.smoothness else total


def _check_levels(function: str, levels: NDArray, shape: tuple[int, ...], count: int) -> None:
    """Raise an error if levels have a wrong type, size or value.

    Raises
    ------
    DataError
        The array does not contain whole numbers. The array and the image differ in
        size. A level is not between -1 and `count` - 1.
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
    """Fill pixels without a level (-1) with levels of the background.

    A pixel gets the smaller of the nearest levels to its left and right. In a row
    without levels, all pixels get the level 0. A complete array is returned unchanged.
    """
    if levels.min(initial=0) >= 0:
        return levels
    filled = fill_rows(np.where(levels < 0, np.nan, levels).astype(np.float32))
    return np.nan_to_num(filled).astype(levels.dtype)


class Status(enum.IntEnum):
    """Status of a pixel: how its disparity was computed, or why it has no disparity."""

    MATCHED = 0
    OCCLUDED = 1
    MISMATCHED = 2
    FILLED = 3
    INVALID = 4


def status_after_refinement(
    disparity_before: Disparity, status_before: StatusMap, disparity: Disparity
) -> StatusMap:
    """Compute the status of each pixel after a refinement returned only disparities.

    A pixel gets the status FILLED if the refinement has added a disparity. A pixel gets
    the status MISMATCHED if the refinement has removed the disparity.

    Parameters
    ----------
    disparity_before, disparity : ndarray, float32, (rows, columns)
        Disparity maps before and after the refinement, in pixels, NaN = no estimate.
    status_before : ndarray, uint8, (rows, columns)
    """
    status = status_before.copy()
    had_disparity = ~np.isnan(disparity_before)
    has_disparity = ~np.isnan(disparity)
    status[~had_disparity & has_disparity] = Status.FILLED
    status[had_disparity & ~has_disparity] = Status.MISMATCHED
    return status


def status_of(disparity: Disparity) -> StatusMap:
    """Compute a status map from a disparity map.

    Pixels with a disparity are MATCHED. Pixels without a disparity (NaN) are OCCLUDED.
    """
    is_missing = np.isnan(disparity)
    return np.where(is_missing, np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class SearchMask:
    """A mask of the allowed pixels, with limits of the disparities.

    A cell of a cost volume is one disparity of one pixel. A cell is excluded if the
    pixel or its match is not valid. A disparity outside the limits is excluded, too. No
    pixel gets the disparity of an excluded cell. A pixel without an allowed cell is
    invalid.

    Parameters
    ----------
    valid, match_valid : ndarray, bool, (rows, columns), or None
        True at pixels with data. None means all pixels.
    low, high : ndarray, float32, (rows, columns), or None
        Smallest and largest allowed disparity of each reference pixel, in pixels. NaN
        and None mean no limit.
    match_low, match_high : ndarray, float32, (rows, columns), or None
        Smallest and largest allowed disparity of each match pixel, in pixels. A
        left-right consistency check needs these limits.

    Raises
    ------
    DataError
        The arrays have different shapes. An array has a wrong type.
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
        """Return the mask for exchanged images.

        Missing limits of the match image are computed from the reference image. The
        limits of a match pixel then include the allowed disparities of all possible
        reference pixels. Without a possible reference pixel, the range is empty.

        Parameters
        ----------
        search : SearchRange
            Search range of the pair before the exchange.
        """
        low, high = self.match_low, self.match_high
        limits = [limit for limit in (self.low, self.high) if limit is not None]
        if low is None and high is None and limits:
            low, high = find_limits_of_match_pixels(self.maps(limits[0].shape), _grid(search))
        return SearchMask(self.match_valid, self.valid, low, high, self.low, self.high)

    def invalid(self, search: SearchRange, shape: tuple[int, int]) -> Mask:
        """Return the mask of the pixels without an allowed disparity."""
        return find_excluded_pixels(self.maps(shape), _grid(search))

    def excluded(self, levels: Levels, search: SearchRange) -> Mask:
        """Return the mask of the pixels with an excluded level.

        The mask is False at unassigned pixels (level -1).
        """
        return find_excluded_levels(levels, self.maps(levels.shape), _grid(search))

    def beside_excluded(self, disparity: Disparity, search: SearchRange) -> Mask:
        """Return the mask of the pixels without a valid parabola fit.

        A sub-pixel refinement fits a curve to the costs of three neighbouring levels.
        The mask is True if one of the three cells is excluded. At an end of the search
        range, the first or last three levels are used. The mask is False at pixels
        without a disparity.
        """
        levels = search.levels_of(disparity)
        middle = np.clip(levels, 1, search.levels - 2)
        is_excluded = np.zeros(levels.shape, np.bool_)
        for offset in (-1, 0, 1):
            neighbours = np.where(levels < 0, levels, middle + np.int16(offset))
            is_excluded |= self.excluded(neighbours, search)
        return is_excluded

    def exclude(self, volume: CostVolume, value: float) -> None:
        """Write `value` into all excluded cells of a cost volume, in place.

        Parameters
        ----------
        volume : CostVolume
            Volume whose array is changed.
        value : float
            New cost of the excluded cells.
        """
        maps = self.maps(volume.shape)
        costs = volume.costs
        grid = _grid(volume.search)

        def run(start: int, stop: int) -> None:
            strip_maps = tuple([array[start:stop] for array in maps])
            exclude_cells(costs[start:stop], strip_maps, grid, costs.dtype.type(value))

        over_rows(run, len(costs), costs.size)

    def ranges(self, search: SearchRange, shape: tuple[int, int]) -> tuple[Disparity, Disparity]:
        """Return the smallest and the largest allowed disparity of each pixel.

        Both maps are float32 ``(rows, columns)``, in pixels. The masks of valid pixels
        are ignored.
        """
        _, _, low, high = self.maps(shape)
        lowest = np.maximum(low, np.float32(search.minimum))
        highest = np.minimum(high, np.float32(search.maximum))
        return lowest, highest

    def maps(self, shape: tuple[int, ...]) -> tuple[Mask, Mask, Disparity, Disparity]:
        """Return all masks and limits as arrays without None, for kernels.

        Parameters
        ----------
        shape : (rows, columns)

        Returns
        -------
        valid, match_valid : ndarray, bool, (rows, columns)
            True at pixels with data.
        low, high : ndarray, float32, (rows, columns)
            Smallest and largest allowed disparity, with -inf and inf for no limit.
        """
        valid = _complete_mask(self.valid, shape)
        match_valid = _complete_mask(self.match_valid, shape)
        low = _complete_limits(self.low, np.float32(-np.inf), shape)
        high = _complete_limits(self.high, np.float32(np.inf), shape)
        return valid, match_valid, low, high


def _complete_mask(valid: Mask | None, shape: tuple[int, ...]) -> Mask:
    """Return a read-only mask in C order. None becomes True at all pixels."""
    mask = np.ones(shape[:2], bool) if valid is None else np.ascontiguousarray(valid)
    return read_only(mask)


def _complete_limits(
    limits: Disparity | None, unlimited: np.float32, shape: tuple[int, ...]
) -> Disparity:
    """Return limits in which `unlimited` replaces NaN and None."""
    if limits is None:
        return read_only(np.full(shape[:2], unlimited, np.float32))
    return read_only(np.where(np.isnan(limits), unlimited, limits))


def _grid(search: SearchRange) -> tuple[int, int, int, int, int]:
    """Return the search range as five numbers for kernels."""
    return search.first, search.stride, search.denominator, search.direction, search.levels


@brief
@dataclass(frozen=True, eq=False)
class Labeling:
    """The result of an optimizer: the level and the cost of each pixel.

    Parameters
    ----------
    levels : ndarray, int16, (rows, columns)
        Level (index of the disparity) of each pixel. The value -1 means an occluded
        pixel.
    costs : ndarray, float32, (rows, columns)
        Data cost of the level of each pixel. The cost is 0 at pixels without a level.
    volume : CostVolume, optional
        Costs of all levels from the optimizer, such as costs summed over paths. Later
        stages read this volume instead of the aggregated cost volume.
    trace : tuple of (float, float) or (float, float, float)
        Seconds since the start, energy and optionally a lower bound of the energy,
        after each iteration. An unknown lower bound is -inf. Pipelines convert lists,
        arrays and NumPy numbers.
    lower_bound : float, optional
        Lower bound of the energy of all possible labelings. The values None and -inf
        mean unknown.
    objective : float, optional
        Value of the minimized function, if this function differs from the energy.
    search : SearchRange, optional
        Search range of the levels. None inside a pipeline.
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
        """The disparity of each pixel in pixels, float32 ``(rows, columns)``.

        Pixels without a level have the disparity NaN.

        Raises
        ------
        ParameterError
            The search range of the labeling is None.
        """
        if self.search is None:
            message = (
                "labeling.disparity: its search range is not known; "
                "search.disparity_of(levels) gives disparities"
            )
            raise ParameterError(message)
        return self.search.disparity_of(self.levels)


report_attributes_of_module(__name__)
