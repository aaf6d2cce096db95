"""The disparity space image and what is optimized on it: CostVolume, SearchMask, Smoothness, Energy, Labeling.

Volumes are ``(rows, columns, levels)``, level fastest, C order, float32 or, between stages that say so, uint8 or uint16; lower costs are
better. Level k means the disparity ``search.minimum + k * search.step`` pixels.
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
    exclude_cells as close_cells,
)
from stereo_framework.kernels.excluded_cells import (
    find_excluded_levels as closed_levels,
)
from stereo_framework.kernels.excluded_cells import (
    find_excluded_pixels as without_open_cell,
)
from stereo_framework.kernels.excluded_cells import (
    find_limits_of_match_pixels as reached,
)
from stereo_framework.kernels.filling import fill_rows
from stereo_framework.kernels.threads import over_rows

Costs = NDArray[np.float32]
Levels = NDArray[np.int16]
StatusMap = NDArray[np.uint8]
ConfidenceMap = NDArray[np.float32]
INTEGERS = (np.uint8, np.uint16)
"""Types of the costs of integer volumes."""
CLOSED, CLOSED_FLOAT = 65535, np.float32(1e6)
"""What cells hold that take no part, in volumes of whole numbers and of float32."""


@report_attributes
@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class CostVolume:
    """The disparity space image (DSI).

    Parameters
    ----------
    costs : ndarray, float32, uint8 or uint16, (rows, columns, levels)
        Cost of giving a pixel a disparity; lower is better. C order. Only stages declared with ``integer=True`` take integer costs.
    search : SearchRange
        Disparity of each level.
    outside_cost : float
        The finite cost held by cells whose match position lies outside the match image.
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
    def closed(self) -> float:
        """What cells hold that take no part; none does in a volume of uint8."""
        return float(CLOSED_FLOAT) if self.costs.dtype == np.float32 else CLOSED

    def floats(self) -> CostVolume:
        """The same volume with float32 costs; itself where it has them already."""
        return (
            self
            if self.costs.dtype == np.float32
            else replace(self, costs=self.costs.astype(np.float32))
        )

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
        found = self.costs.reshape(-1)[cells]
        return np.where(cells < 0, found.dtype.type(0), found)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Cells in view, bool ``(columns, levels)``, the same for every row: `SearchRange.in_view`."""
        return self.search.in_view(self.shape[1])


def as_volume(costs: CostVolume | NDArray, search: SearchRange) -> CostVolume:
    """A volume, or what a cost returned in its place: an array (rows, columns, levels), whose cells out of view are NaN and get the largest cost."""
    if (
        isinstance(costs, CostVolume)
        or not isinstance(costs, np.ndarray)
        or costs.ndim != 3
        or costs.dtype.kind not in "fu"
    ):
        return costs  # type: ignore[return-value]  # whoever asked for it refuses what is none
    known = ~np.isnan(costs)
    outside_cost = float(costs.max(initial=0, where=known))
    kept = (
        costs.copy()
        if costs.dtype in INTEGERS
        else np.where(known, costs, outside_cost).astype(np.float32)
    )
    return CostVolume(np.ascontiguousarray(kept), search, outside_cost)


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
    # At whole steps the cells out of `SearchRange.in_view`. Slices: no mask is as fast.
    columns = volume.shape[1]
    last = (columns - 1) * search.denominator
    fine = search.first + search.stride * np.arange(search.levels)
    position = -search.direction * (fine + search.denominator - 1)
    for level, shift in enumerate(position):
        # What stays are the columns x with 0 <= x * denominator + shift <= last.
        volume.costs[:, : max(0, -(shift // search.denominator)), level] = volume.outside_cost
        volume.costs[:, max(0, (last - shift) // search.denominator + 1) :, level] = (
            volume.outside_cost
        )


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Smoothness:
    """The prior: what it costs that neighbouring pixels differ in level.

    Parameters
    ----------
    right : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its right neighbour; the last column is unused and 0.
    down : ndarray, float32, (rows, columns)
        Weight of the edge to the lower neighbour; the last row is unused and 0.
    rho : ndarray, float32, (levels,)
        Penalty of a level difference of 0, 1, ..., levels - 1 between two neighbours, computed in pixels; ``rho[0] == 0``.
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
        wide = levels.astype(np.int32)
        across = self.rho[np.abs(np.diff(wide, axis=1))].astype(np.float64) * self.right[:, :-1]
        along = self.rho[np.abs(np.diff(wide, axis=0))].astype(np.float64) * self.down[:-1]
        return float(across.sum() + along.sum())


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Energy:
    """What global methods minimize: data costs plus smoothness (Scharstein & Szeliski 2002, equations 3 to 5).

    Parameters
    ----------
    volume : CostVolume
    smoothness : Smoothness or None
        None: data costs alone.
    """

    volume: CostVolume
    smoothness: Smoothness | None = None

    @checked()
    def of(self, levels: Levels) -> float:
        """Energy of a labelling in float64; unassigned pixels (-1) are filled from the background first.

        Parameters
        ----------
        levels : ndarray, int16, (rows, columns)
            Levels, -1 = unassigned.

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
    """Refuse levels that a volume or a prior does not have.

    Raises
    ------
    DataError
        The array holds no whole numbers, has another size, or contains other levels.
    """
    if (
        isinstance(levels, np.ma.MaskedArray)
        or levels.dtype.kind not in "iu"
        or levels.shape != shape
    ):
        message = (
            f"{function}: levels is {in_short(levels)}; expected an array of whole numbers, {shape}"
        )
        raise DataError(message)
    lowest = int(levels.min(initial=0))
    highest = int(levels.max(initial=0))
    if lowest < -1 or highest >= count:
        message = f"{function}: levels from {lowest} to {highest}; expected 0 to {count - 1}, -1 = unassigned"
        raise DataError(message)


def fill_levels(levels: Levels) -> Levels:
    """Levels with every unassigned pixel (-1) given the farther of its nearest assigned neighbours in the row.

    A row without any assigned pixel gets level 0. Returns the input itself when nothing is unassigned.
    """
    if levels.min(initial=0) >= 0:
        return levels
    filled = fill_rows(np.where(levels < 0, np.nan, levels).astype(np.float32))
    return np.nan_to_num(filled).astype(levels.dtype)


class Status(enum.IntEnum):
    """What is known about a pixel's disparity; the values of status maps."""

    MATCHED = 0
    OCCLUDED = 1
    MISMATCHED = 2
    FILLED = 3
    INVALID = 4


def status_of(disparity: Disparity) -> StatusMap:
    """The status map of disparities of which nothing else is known: matched, and occluded where there is none."""
    return np.where(np.isnan(disparity), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class SearchMask:
    """Which pixels and disparities take part in matching; None = no limit.

    A cell is closed when its pixel or one that it meets in the match image is masked out, or its disparity lies outside its pixel's range. It takes
    part in nothing: a pixel never gets a disparity whose cell is closed, and one without an open cell is invalid.

    Parameters
    ----------
    valid, match_valid : ndarray, bool, (rows, columns), or None
        The pixels of the reference and match image that hold data.
    low, high : ndarray, float32, (rows, columns), or None
        Smallest and largest disparity of each reference pixel, pixels, both included; NaN = no limit.
    match_low, match_high : ndarray, float32, (rows, columns), or None
        The same of each match pixel towards the reference image, for the exchanged pair.

    Raises
    ------
    DataError
        Maps of different shapes or types.
    """

    valid: Mask | None = None
    match_valid: Mask | None = None
    low: Disparity | None = None
    high: Disparity | None = None
    match_low: Disparity | None = None
    match_high: Disparity | None = None

    def __post_init__(self) -> None:
        given = {name: array for name, array in vars(self).items() if array is not None}
        for name, array in given.items():
            dtype = bool if name.endswith("valid") else np.float32
            if array.ndim != 2 or array.dtype != dtype:
                raise DataError(
                    f"mask.{name}: {array.dtype} {array.shape}; expected {np.dtype(dtype)} (rows, columns)"
                )
        if len({array.shape for array in given.values()}) > 1:
            raise DataError(
                f"mask: maps of different sizes: {', '.join(f'{k} {v.shape}' for k, v in given.items())}"
            )

    def rows(self, top: int, bottom: int) -> SearchMask:
        """The same for the rows `top` to `bottom` - 1."""
        return SearchMask(
            **{
                name: None if array is None else array[top:bottom]
                for name, array in vars(self).items()
            }
        )

    def exchanged(self, search: SearchRange) -> SearchMask:
        """The mask of the exchanged pair.

        Parameters
        ----------
        search : SearchRange
            Of this pair. Where no range of the match pixels is given, each gets the smallest interval over the open cells of the reference
            pixels that reach it, which is empty where none does.
        """
        low, high = self.match_low, self.match_high
        limits = [limit for limit in (self.low, self.high) if limit is not None]
        if low is None and high is None and limits:
            low, high = reached(self.maps(limits[0].shape), _grid(search))
        return SearchMask(self.match_valid, self.valid, low, high, self.low, self.high)

    def invalid(self, search: SearchRange, shape: tuple[int, int]) -> Mask:
        """The pixels without an open cell, bool ``(rows, columns)``."""
        return without_open_cell(self.maps(shape), _grid(search))

    def closed(self, levels: Levels, search: SearchRange) -> Mask:
        """The pixels whose level lies in a closed cell, bool ``(rows, columns)``; unassigned levels (-1) lie in none."""
        return closed_levels(levels, self.maps(levels.shape), _grid(search))

    def beside_closed(self, disparity: Disparity, search: SearchRange) -> Mask:
        """The pixels whose level or one of its neighbours is closed, bool ``(rows, columns)``: no curve goes through their three costs.

        At either end of the range the three outermost levels count. Pixels without a disparity lie in none.
        """
        levels = search.levels_of(disparity)
        middle = np.clip(levels, 1, search.levels - 2)
        moved = (np.where(levels < 0, levels, middle + np.int16(side)) for side in (-1, 0, 1))
        return np.logical_or.reduce([self.closed(some, search) for some in moved])

    def close(self, volume: CostVolume, value: float) -> None:
        """Write `value` into the closed cells of a volume, in place."""
        maps, costs, grid = self.maps(volume.shape), volume.costs, _grid(volume.search)

        def run(start: int, stop: int) -> None:
            close_cells(
                costs[start:stop],
                tuple([a[start:stop] for a in maps]),
                grid,
                costs.dtype.type(value),
            )

        over_rows(run, len(costs), costs.size)

    def ranges(self, search: SearchRange, shape: tuple[int, int]) -> tuple[Disparity, Disparity]:
        """The smallest and the largest disparity that each reference pixel may have, float32 ``(rows, columns)``, whatever is closed between them."""
        _, _, low, high = self.maps(shape)
        return np.maximum(low, np.float32(search.minimum)), np.minimum(
            high, np.float32(search.maximum)
        )

    def maps(self, shape: tuple[int, ...]) -> tuple[Mask, Mask, Disparity, Disparity]:
        """The masks of both images, and the lowest and highest disparity of each reference pixel; what is not given sets no limit. Read-only."""
        low, high = (
            np.full(shape[:2], wide, np.float32)
            if limit is None
            else np.where(np.isnan(limit), np.float32(wide), limit)
            for limit, wide in ((self.low, -np.inf), (self.high, np.inf))
        )
        masks = (
            np.ones(shape[:2], bool) if valid is None else np.ascontiguousarray(valid)
            for valid in (self.valid, self.match_valid)
        )
        return tuple(map(read_only, (*masks, low, high)))  # type: ignore[return-value]


def _grid(search: SearchRange) -> tuple[int, int, int, int, int]:
    """The levels of a search as the kernels of closed cells count them."""
    return search.first, search.stride, search.denominator, search.direction, search.levels


@brief
@dataclass(frozen=True, eq=False)
class Labeling:
    """What an optimizer decided.

    Parameters
    ----------
    levels : ndarray, int16, (rows, columns)
        Chosen level per pixel; -1 = unassigned (occluded).
    costs : ndarray, float32, (rows, columns)
        Data cost of the chosen level; 0 where unassigned.
    volume : CostVolume, optional
        The optimizer's own costs per level (path sums, messages); later stages then see it in place of the aggregated one.
    trace : tuple of (float, float) or (float, float, float)
        Seconds since the start and energy after each iteration, and the lower bound if
        the optimizer has one: -inf as long as it is not known. Lists, arrays and numbers
        of NumPy are converted when a pipeline runs the optimizer.
    lower_bound : float, optional
        No labelling has a lower energy than this. -inf counts as no bound.
    objective : float, optional
        Value of the optimizer's own objective where that is not the energy.
    search : SearchRange, optional
        The disparities of the levels.
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
        """Pixels, float32 ``(rows, columns)``, NaN where no level is assigned; of what a stage returned that was called directly."""
        if self.search is None:
            raise ParameterError(
                "labeling.disparity: its search range is not known; search.disparity_of(levels) gives disparities"
            )
        return self.search.disparity_of(self.levels)


report_attributes_of_module(__name__)
