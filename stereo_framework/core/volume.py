"""Cost volumes, energies, and the labelings that optimizers return.

The costs of a `CostVolume` have the shape (rows, columns, levels), in C order. Costs
are float32. Between stages that declare ``integer=True``, they may also be uint8 or
uint16. A lower cost means a better match. The level k stands for the disparity
``search.minimum + k * search.step`` in pixels.
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
    """A cost volume, also called the disparity space image (DSI), of a pair.

    Parameters
    ----------
    costs : ndarray, float32, uint8 or uint16, (rows, columns, levels)
        Cost of each disparity at each pixel, in C order. A lower cost means a better
        match. Only stages that are declared with ``integer=True`` accept integer costs.
    search : SearchRange
        Search range, which gives the disparity of each level.
    outside_cost : float
        Finite cost of all cells whose match lies outside the other image.
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
        """Cost that marks excluded cells, which an optimizer must not choose.

        A cost volume of type uint8 contains no excluded cells, because each uint8
        number may be a cost.
        """
        return float(EXCLUDED_FLOAT) if self.costs.dtype == np.float32 else EXCLUDED

    def floats(self) -> CostVolume:
        """Return the volume with float32 costs; copy the costs only if needed."""
        if self.costs.dtype == np.float32:
            return self
        return replace(self, costs=self.costs.astype(np.float32))

    @checked()
    def chosen(self, levels: Levels) -> Costs:
        """Return the cost of the chosen level of each pixel, ``(rows, columns)``.

        Pixels with the level -1 (unassigned) get the cost 0. The result has the same
        type as the costs of the volume.

        Raises
        ------
        DataError
            `levels` does not contain whole numbers, it has another size than the
            volume, or a level does not exist in the volume.
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
    """Reset the cells whose match lies outside the match image to the outside cost.

    The matching cost gives the cost `volume.outside_cost` to each cell whose match lies
    outside the match image. An aggregation then averages this cost with the costs of
    neighbouring cells. This function writes `volume.outside_cost` into these cells
    again. If the step is a fraction of a pixel, some cells whose match lies inside the
    match image are reset too, as in the original test bed. Their match is less than a
    pixel away from the image border towards which a larger disparity moves the match.

    Parameters
    ----------
    volume : CostVolume
        Cost volume after aggregation. It is not changed.

    Returns
    -------
    CostVolume
        Copy of the volume with the reset cells. All other cells keep their costs.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2, describe how their test bed treats image
    borders.
    """
    fresh = replace(volume, costs=volume.costs.copy())
    restore_outside_cost_inplace(fresh)
    return fresh


def restore_outside_cost_inplace(volume: CostVolume) -> None:
    """Reset the cells whose match lies outside the match image; change the array."""
    search = volume.search
    # Positions in the match image are counted in samples. One pixel has `denominator`
    # samples.
    last_sample = (volume.shape[1] - 1) * search.denominator
    disparities = search.first + search.stride * np.arange(search.levels)
    # If the step is a whole number of pixels, the reset cells are those that are False
    # in `SearchRange.in_view`.
    shifts = -search.direction * (disparities + search.denominator - 1)
    for level, shift in enumerate(shifts):
        # The columns x with 0 <= x * denominator + shift <= last_sample keep their
        # costs. The costs are written into slices, because this is faster than using a
        # mask.
        start = max(0, -(shift // search.denominator))
        stop = max(0, (last_sample - shift) // search.denominator + 1)
        volume.costs[:, :start, level] = volume.outside_cost
        volume.costs[:, stop:, level] = volume.outside_cost


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Smoothness:
    """The smoothness term of an energy: costs of disparity differences of neighbours.

    An edge connects two neighbouring pixels. Its cost is the weight of the edge,
    multiplied by the penalty of the difference between the levels of the two pixels.

    Parameters
    ----------
    right : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its right neighbour. The last column is 0,
        because its pixels have no right neighbour.
    down : ndarray, float32, (rows, columns)
        Weight of the edge from each pixel to its lower neighbour. The last row is 0,
        because its pixels have no lower neighbour.
    rho : ndarray, float32, (levels,)
        Penalties of the level differences 0, 1, ..., levels - 1. Each penalty is a
        function of the corresponding disparity difference in pixels. ``rho[0]`` is 0.
    """

    right: NDArray[np.float32]
    down: NDArray[np.float32]
    rho: NDArray[np.float32]

    @checked()
    def of(self, levels: Levels) -> float:
        """Return the smoothness cost of a level map: the sum over all edges.

        The cost of an edge is its weight times the penalty of its level difference. The
        sum is computed in float64. Every pixel must have a level; -1 is not allowed.

        Raises
        ------
        DataError
            `levels` does not contain whole numbers, it has another size than
            `right`, or a level difference has no penalty in `rho`.
        """
        _check_levels("Smoothness.of", levels, self.right.shape, len(self.rho))
        # Levels are converted, because the difference of two int16 numbers could
        # overflow.
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
        Smoothness term. If it is None, the energy consists only of data costs.

    Notes
    -----
    Scharstein & Szeliski 2002, equations 3 to 5.
    """

    volume: CostVolume
    smoothness: Smoothness | None = None

    @checked()
    def of(self, levels: Levels) -> float:
        """Return the energy of a map of levels, computed in float64.

        Before the energy is computed, `fill_levels` fills pixels without a level from
        the background.

        Parameters
        ----------
        levels : ndarray, int16, (rows, columns)
            Level of each pixel. The value -1 means that no level is assigned to the
            pixel.

        Raises
        ------
        DataError
            `levels` does not contain whole numbers, it has another size than the
            volume, or a level does not exist in the volume.
        """
        _check_levels("Energy.of", levels, self.volume.shape, self.volume.costs.shape[2])
        levels = fill_levels(levels)
        total = float(self.volume.chosen(levels).sum(dtype=np.float64))
        return total + self.smoothness.of(levels) if self.smoothness else total


def _check_levels(function: str, levels: NDArray, shape: tuple[int, ...], count: int) -> None:
    """Raise an error if levels do not fit a cost volume or a smoothness term.

    Raises
    ------
    DataError
        The array does not contain whole numbers, it has another size than the image, or
        a level is less than -1 or not less than `count`.
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

    An unassigned pixel has a nearest pixel with a level to its left and to its right in
    the same row. Of these two levels, the unassigned pixel gets the level that is
    farther from the camera. If a row contains no levels, all its pixels get the level
    0. If no pixel is unassigned, the input array itself is returned.
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


def status_of(disparity: Disparity) -> StatusMap:
    """Return a status map that is computed only from a disparity map.

    Pixels with a disparity get the status MATCHED. Pixels without a disparity (NaN) get
    the status OCCLUDED.
    """
    is_missing = np.isnan(disparity)
    return np.where(is_missing, np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class SearchMask:
    """A mask of the pixels, and limits of the disparities, that may be matched.

    A cell of a cost volume is one disparity of one pixel. The cell is excluded if the
    pixel is not valid, if a pixel at the matching position in the match image is not
    valid, or if the disparity is outside the limits of the pixel. A pixel never gets a
    disparity whose cell is excluded. If all cells of a pixel are excluded, the pixel is
    invalid.

    Parameters
    ----------
    valid, match_valid : ndarray, bool, (rows, columns), or None
        True at pixels of the reference image and of the match image that contain data.
        None means that all pixels contain data.
    low, high : ndarray, float32, (rows, columns), or None
        Smallest and largest allowed disparity of each pixel of the reference image, in
        pixels. NaN means that the pixel has no limit. None means that no pixel has a
        limit.
    match_low, match_high : ndarray, float32, (rows, columns), or None
        Smallest and largest allowed disparity of each pixel of the match image, in
        pixels. They are used if the match image is matched against the reference image,
        for example in a left-right consistency check.

    Raises
    ------
    DataError
        The arrays have different shapes, or an array has a wrong type.
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
        """Return a mask for only the rows `top` to `bottom` - 1 of the images."""
        rows = {
            name: None if array is None else array[top:bottom] for name, array in vars(self).items()
        }
        return SearchMask(**rows)

    def exchanged(self, search: SearchRange) -> SearchMask:
        """Return the mask for a pair whose reference and match images are exchanged.

        If `match_low` and `match_high` are None, the limits of the pixels of the match
        image are computed from the reference image. A pixel of the match image gets the
        smallest range that contains the allowed disparities of all reference pixels
        that can match this pixel. If no reference pixel can match it, the range is
        empty.

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
        """Return the mask of the pixels whose level belongs to an excluded cell.

        The mask is False at unassigned pixels (level -1).
        """
        return find_excluded_levels(levels, self.maps(levels.shape), _grid(search))

    def beside_excluded(self, disparity: Disparity, search: SearchRange) -> Mask:
        """Return the mask of pixels at which a parabola cannot be fitted to the costs.

        A sub-pixel refinement fits a curve to the costs of a level and of its two
        neighbouring levels. The mask is True if at least one of these three cells is
        excluded. If the level is the first or the last level of the search range, the
        first or the last three levels are used. The mask is False at pixels without a
        disparity.
        """
        levels = search.levels_of(disparity)
        middle = np.clip(levels, 1, search.levels - 2)
        is_excluded = np.zeros(levels.shape, np.bool_)
        for offset in (-1, 0, 1):
            neighbours = np.where(levels < 0, levels, middle + np.int16(offset))
            is_excluded |= self.excluded(neighbours, search)
        return is_excluded

    def exclude(self, volume: CostVolume, value: float) -> None:
        """Write `value` into all excluded cells of a cost volume; change its array."""
        maps = self.maps(volume.shape)
        costs = volume.costs
        grid = _grid(volume.search)

        def run(start: int, stop: int) -> None:
            strip_maps = tuple([array[start:stop] for array in maps])
            exclude_cells(costs[start:stop], strip_maps, grid, costs.dtype.type(value))

        over_rows(run, len(costs), costs.size)

    def ranges(self, search: SearchRange, shape: tuple[int, int]) -> tuple[Disparity, Disparity]:
        """Return maps of the smallest and the largest allowed disparity of each pixel.

        Disparities between these two limits may still be excluded by the masks of valid
        pixels. Both maps are float32 ``(rows, columns)``, in pixels.
        """
        _, _, low, high = self.maps(shape)
        lowest = np.maximum(low, np.float32(search.minimum))
        highest = np.minimum(high, np.float32(search.maximum))
        return lowest, highest

    def maps(self, shape: tuple[int, ...]) -> tuple[Mask, Mask, Disparity, Disparity]:
        """Return masks and limits in which arrays replace None, as kernels expect them.

        Parameters
        ----------
        shape : (rows, columns)

        Returns
        -------
        valid, match_valid : ndarray, bool, (rows, columns)
            True at pixels that contain data. If the mask is None, all pixels are True.
        low, high : ndarray, float32, (rows, columns)
            Smallest and largest allowed disparity. They are -inf and inf at pixels
            without a limit.
        """
        valid = _complete_mask(self.valid, shape)
        match_valid = _complete_mask(self.match_valid, shape)
        low = _complete_limits(self.low, np.float32(-np.inf), shape)
        high = _complete_limits(self.high, np.float32(np.inf), shape)
        return valid, match_valid, low, high


def _complete_mask(valid: Mask | None, shape: tuple[int, ...]) -> Mask:
    """Return a read-only mask in C order; if `valid` is None, all pixels are True."""
    mask = np.ones(shape[:2], bool) if valid is None else np.ascontiguousarray(valid)
    return read_only(mask)


def _complete_limits(
    limits: Disparity | None, unlimited: np.float32, shape: tuple[int, ...]
) -> Disparity:
    """Return limits in which `unlimited` replaces NaN, and None becomes a full map."""
    if limits is None:
        return read_only(np.full(shape[:2], unlimited, np.float32))
    return read_only(np.where(np.isnan(limits), unlimited, limits))


def _grid(search: SearchRange) -> tuple[int, int, int, int, int]:
    """Return the search range as five numbers, which kernels expect."""
    return search.first, search.stride, search.denominator, search.direction, search.levels


@brief
@dataclass(frozen=True, eq=False)
class Labeling:
    """The result of an optimizer: a level for each pixel, with energies and bounds.

    Parameters
    ----------
    levels : ndarray, int16, (rows, columns)
        Level (index of the disparity) of each pixel. The value -1 means that no level
        is assigned, because the pixel is occluded.
    costs : ndarray, float32, (rows, columns)
        Data cost of the level of each pixel. It is 0 at pixels without a level.
    volume : CostVolume, optional
        Costs that the optimizer computed for all levels, such as costs summed over
        paths. Later stages get this volume instead of the aggregated cost volume.
    trace : tuple of (float, float) or (float, float, float)
        Progress of the optimizer after each iteration: the seconds since the start, the
        energy and, if the optimizer computes one, a lower bound of the energy. The
        bound is -inf as long as it is not computed. If an optimizer in a pipeline
        returns lists, arrays or NumPy numbers instead, they are converted.
    lower_bound : float, optional
        Lower bound of the energy of all possible labelings. The value -inf has the same
        meaning as None: the bound is unknown.
    objective : float, optional
        Value of the function that the optimizer minimizes, if this function differs
        from the energy.
    search : SearchRange, optional
        Search range that converts levels to disparities. It is set if a user calls the
        optimizer directly, and None inside a pipeline.
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

        The disparity is NaN if no level is assigned to the pixel.

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
