"""Search ranges, and the order of the samples of a match row."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core.arguments import AnyNumber, checked, describe_value
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.parameters import Words


@dataclass(frozen=True)
class SearchRange:
    """Range of disparities, in pixels: ``minimum, minimum + step, ..., maximum``.

    The index of a disparity is called its level. For example, `minimum` has level 0.

    Parameters
    ----------
    minimum, maximum : float
        Smallest and largest disparity, in pixels. `minimum` may be negative. For a step
        of 1/N pixel, `minimum` must be a multiple of 1/N. For a step of N pixels,
        `minimum` must be a whole number.
    step : float
        Distance between neighbouring disparities, in pixels: a whole number N or a
        fraction 1/N. Small rounding errors are corrected. For example, 0.3333 becomes
        1/3.
    direction : int
        +1 if the match camera is right of the reference camera, else -1. The matching
        column is ``x_match = x_reference - direction * disparity``.

    Raises
    ------
    ParameterError
        The range has fewer than two disparities. The step is neither a whole number N
        nor 1/N. `minimum` does not fit the step.
    """

    minimum: float
    maximum: float
    step: float = 1
    direction: int = 1

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):
            object.__setattr__(self, name, _checked_number(name, getattr(self, name)))

        _check_order(self.minimum, self.maximum)
        object.__setattr__(self, "direction", _checked_direction(self.direction))
        object.__setattr__(self, "step", _snap(self.step))
        _check_grid(self.minimum, self.step, self.denominator)

        if self.levels < 2:
            message = (
                f"search.step: {self.step:g} leaves one level between {self.minimum:g} "
                f"and {self.maximum:g}; at least two are needed"
            )
            raise ParameterError(message)
        if self.levels > _MAX_LEVELS:
            message = f"search: {self.levels} levels; at most {_MAX_LEVELS} are possible"
            raise ParameterError(message)

    @staticmethod
    def covering(
        minimum: float, maximum: float, step: float = 1, direction: int = 1
    ) -> SearchRange:
        """Return the smallest search range that contains two given disparities.

        Use this method for numbers from a user or an estimate. The minimum is rounded
        down, and the maximum is rounded up. A step of 1/N pixel causes rounding to
        multiples of 1/N. A step of N pixels causes rounding to whole numbers.

        Parameters
        ----------
        minimum, maximum : float
            Smallest and largest disparity to include, in pixels.
        step : float
            Distance of neighbouring disparities, in pixels: N or 1/N.
        direction : int
            Direction of the search range, 1 or -1.

        Returns
        -------
        SearchRange
            Search range with at least two disparities.

        Raises
        ------
        ParameterError
            A number is not finite. `maximum` is not greater than `minimum`. The step is
            neither a whole number N nor 1/N.

        Examples
        --------
        >>> print(SearchRange.covering(5.5, 58.7))
        5..59 step 1
        >>> print(SearchRange.covering(5.5, 58.7, step=0.5))
        5.5..59 step 0.5
        """
        lowest = _checked_number("minimum", minimum)
        highest = _checked_number("maximum", maximum)
        _check_order(lowest, highest)
        spacing = _snap(_checked_number("step", step))

        first = _grid_position(lowest, spacing, math.floor)
        last = _grid_position(highest, spacing, math.ceil)
        # A search range needs at least two disparities.
        return SearchRange(first, max(last, first + spacing), spacing, direction)

    @staticmethod
    def of(search: SearchRange | Sequence[float] | NDArray) -> SearchRange:
        """Convert an argument, such as (0, 63), to a search range.

        Parameters
        ----------
        search : SearchRange or sequence of float
            Search range, (minimum, maximum) or (minimum, maximum, step).

        Raises
        ------
        ParameterError
            The argument has another form. A number is not allowed.
        """
        if isinstance(search, SearchRange):
            return search
        if are_ends(search):
            return SearchRange(*search)
        message = (
            f"search is {describe_value(search)}; "
            "expected a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"
        )
        raise ParameterError(message)

    @property
    def denominator(self) -> int:
        """Return N for a step of 1/N pixel, and 1 for a step of whole pixels."""
        return max(1, round(1 / self.step))

    @property
    def levels(self) -> int:
        """Return the number of disparities in the search range."""
        return math.floor((self.maximum - self.minimum) / self.step + 1e-6) + 1

    @property
    def disparities(self) -> NDArray[np.float32]:
        """Return all disparities in pixels, ascending, float32 ``(levels,)``."""
        return (self.minimum + self.step * np.arange(self.levels)).astype(np.float32)

    @checked()
    def disparity_of(self, levels: NDArray[np.integer]) -> NDArray[np.float32]:
        """Convert levels (indices of disparities) to disparities in pixels.

        Parameters
        ----------
        levels : ndarray, integer, any shape
            Level of each pixel. The value -1 means no disparity.

        Returns
        -------
        ndarray, float32, same shape
            Disparities in pixels. NaN at pixels with the level -1.

        Raises
        ------
        ParameterError
            The array does not contain integers. A level is outside the search range.

        Examples
        --------
        >>> SearchRange(0, 2).disparity_of(np.array([2, 0, -1])).tolist()
        [2.0, 0.0, nan]
        """
        if levels.dtype.kind not in "iu":
            message = (
                f"levels: {levels.dtype}; expected whole numbers from 0 to {self.levels - 1}, "
                "or -1 for a pixel without a level"
            )
            raise ParameterError(message)
        lowest = levels.min(initial=0)
        highest = levels.max(initial=0)
        if lowest < -1 or highest >= self.levels:
            message = (
                f"levels from {lowest} to {highest}; expected 0 to {self.levels - 1}, "
                "or -1 for a pixel without a level"
            )
            raise ParameterError(message)
        # The index -1 selects the last element, which is NaN.
        return np.append(self.disparities, np.float32(np.nan))[levels]

    @checked()
    def levels_of(self, disparity: NDArray[np.floating]) -> NDArray[np.int16]:
        """Convert disparities in pixels to the nearest levels of the search range.

        Parameters
        ----------
        disparity : ndarray, float, any shape
            Disparities in pixels. NaN means no estimate.

        Returns
        -------
        ndarray, int16, same shape
            Level of each pixel. NaN becomes the level -1.
        """
        nearest = np.clip(np.rint((disparity - self.minimum) / self.step), 0, self.levels - 1)
        return np.where(np.isnan(disparity), -1, nearest).astype(np.int16)

    @checked()
    def columns(self, width: ImageWidth) -> Iterator[tuple[slice, slice]]:
        """Yield the matching columns of both images for each disparity.

        Parameters
        ----------
        width : int
            Width of either image in pixels.

        Yields
        ------
        reference_columns, match_columns : slice
            Matching columns of the two images. Both slices have the same length,
            possibly 0.

        Raises
        ------
        ParameterError
            The step is a fraction of a pixel.

        Examples
        --------
        >>> list(SearchRange(0, 1).columns(5))
        [(slice(0, 5, None), slice(0, 5, None)), (slice(1, 5, None), slice(0, 4, None))]
        """
        if self.denominator > 1:
            message = f"search.columns: the step is {self.step:g} pixels; whole steps are needed"
            raise ParameterError(message)
        for level in range(self.levels):
            shift = self.direction * (self.first + level * self.stride)
            start = min(max(shift, 0), width)
            stop = max(min(width, width + shift), start)
            yield slice(start, stop), slice(start - shift, stop - shift)

    @checked()
    def beyond(self, disparity: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Mark disparities that are more than half a step outside the search range.

        Sub-pixel refinement changes a disparity by at most half a step.
        """
        half = self.step / 2 + 1e-3 * self.step
        return (disparity < self.minimum - half) | (disparity > self.maximum + half)

    @property
    def first(self) -> int:
        """Return the smallest disparity in units of ``1 / denominator`` pixels."""
        return round(self.minimum * self.denominator)

    @property
    def stride(self) -> int:
        """Return the step in units of ``1 / denominator`` pixels."""
        return round(self.step * self.denominator)

    @checked()
    def in_view(self, columns: ImageWidth) -> NDArray[np.bool_]:
        """Mark the disparities that lead to a pixel inside the match image.

        A match lies inside the match image if ``0 <= x_match <= columns - 1``.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        ndarray, bool, (columns, levels)
            True if a pixel in the column has a match inside the image. The mask is the
            same for all rows. The True elements of each column are consecutive.

        Examples
        --------
        >>> SearchRange(0, 2).in_view(3).tolist()
        [[True, False, False], [True, True, False], [True, True, True]]
        """
        x = np.arange(columns)[:, None] * self.denominator
        position = x - self.direction * (self.first + self.stride * np.arange(self.levels))
        return (position >= 0) & (position <= (columns - 1) * self.denominator)

    @checked()
    def check_whole_steps(self, stage: str) -> None:
        """Raise an error if the step is a fraction of a pixel.

        Stages that match each pixel at most once need whole steps.

        Parameters
        ----------
        stage : str
            Name of the calling stage, for the error message.

        Raises
        ------
        ParameterError
            The step of the search range is less than a pixel.
        """
        if self.denominator > 1:
            message = (
                f"{stage}: search.step is 1/{self.denominator} pixel, but the stage matches "
                "each pixel at most once; use a step of 1 and refine the disparities afterwards"
            )
            raise ParameterError(message)

    @checked()
    def check_width(self, columns: ImageWidth) -> str:
        r"""Check whether the search range is plausible for an image width.

        Commands check the search range of a user with this method. Stages accept every
        search range.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        str
            Warning if the search range is wider than half of the image. Otherwise
            empty.

        Raises
        ------
        ParameterError
            The search range is wider than the image. No disparity has a match inside
            the image.

        Examples
        --------
        >>> print(SearchRange(0, 400).check_width(741).replace("; ", ";\n"))
        the search range 0..400 is wider than half of the image (741 columns);
        for most pixels, most of it lies outside the image
        """
        label = f"the search range {self.minimum:g}..{self.maximum:g}"
        width = self.maximum - self.minimum + 1
        if width > columns:
            message = f"{label} ({width:g} pixels) is wider than the image ({columns} columns)"
            raise ParameterError(message)
        if self.minimum >= columns or self.maximum <= -columns:
            message = f"{label} contains no match inside the image ({columns} columns)"
            raise ParameterError(message)
        if width > columns / 2:
            return (
                f"{label} is wider than half of the image ({columns} columns); "
                "for most pixels, most of it lies outside the image"
            )
        return ""

    @checked()
    def scaled(self, scale: float) -> SearchRange:
        """Return a search range for a camera distance `scale` times as large.

        The scaled minimum is rounded down, and the scaled maximum is rounded up to
        whole pixels.
        """
        if scale == 1:
            return self
        return SearchRange(
            math.floor(self.minimum * scale), math.ceil(self.maximum * scale), self.step
        )

    def __str__(self) -> str:
        return f"{self.minimum:g}..{self.maximum:g} step {self.step:g}"


ImageWidth = Annotated[int, Ge(0), Le(2**31)]
"""Width of an image, in pixels."""

SearchArgument = Annotated[
    SearchRange | tuple[AnyNumber, AnyNumber] | tuple[AnyNumber, AnyNumber, AnyNumber],
    Words("a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"),
]
"""Search range, or the numbers (minimum, maximum[, step])."""

_MAX_LEVELS = int(np.iinfo(np.int16).max)
"""Maximum number of disparities in a search range, because maps of levels are int16."""


def are_ends(value: Any) -> bool:
    """Return whether a value has two or three elements, such as (0, 63)."""
    if isinstance(value, np.ndarray):
        return value.shape in ((2,), (3,))
    return isinstance(value, tuple | list) and len(value) in (2, 3)


def _checked_number(name: str, value: Any) -> Any:
    """Check a field of a search range, and convert it to a Python number.

    Parameters
    ----------
    name : {"minimum", "maximum", "step"}
        Name of the field, for error messages.
    value : object

    Raises
    ------
    ParameterError
        The value is not a finite number. The step is not greater than 0.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    if not is_number or not _is_finite(value):
        raise ParameterError(f"search.{name}: {describe_value(value)} is not a finite number")
    if name == "step" and value <= 0:
        raise ParameterError(f"search.step: {value:g} is not above 0")
    # Small NumPy types may overflow, for example in int8(-100) - int8(100).
    return value.item() if isinstance(value, np.number) else value


def _is_finite(number: float) -> bool:
    """Return whether a number is finite and can be converted to a float."""
    try:
        return math.isfinite(number)
    except OverflowError:  # The number is an int that is too large for a float.
        return False


def _check_order(minimum: float, maximum: float) -> None:
    """Raise an error if the maximum of a search range is not above its minimum."""
    if not maximum > minimum:
        message = f"search.maximum: {maximum:g} is not above search.minimum, {minimum:g}"
        raise ParameterError(message)


def _checked_direction(value: Any) -> int:
    """Check a direction, 1 or -1, and convert it to a Python int."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or value not in (1, -1):
        raise ParameterError(f"search.direction: {describe_value(value)} is neither 1 nor -1")
    return int(value)


def _snap(step: float) -> float:
    """Round a step to the nearest whole number N or fraction 1/N.

    Raises
    ------
    ParameterError
        The step is not close to a whole number N or a fraction 1/N.
    """
    if step >= 1:
        if abs(step - round(step)) <= 1e-3:
            return float(round(step))
    # The inverse of a very small step is infinite and cannot be rounded.
    elif math.isfinite(1 / step) and abs(1 / step - round(1 / step)) * step <= 1e-3:
        return 1 / round(1 / step)
    message = f"search.step: {step:g} is neither a whole number of pixels nor 1/N of one"
    raise ParameterError(message)


_GRID_TOLERANCE = 1e-3
"""Maximum rounding error of a minimum, as a fraction of the grid spacing."""


def _check_grid(minimum: float, step: float, denominator: int) -> None:
    """Raise an error if the minimum is not a multiple of ``1 / denominator``.

    Parameters
    ----------
    minimum, step : float
        Minimum and step of the search range, in pixels.
    denominator : int
        N for a step of 1/N pixel. 1 for a step of whole pixels.

    Raises
    ------
    ParameterError
        The minimum lies between two allowed numbers. The message gives both numbers.
    """
    position = minimum * denominator
    if abs(position - round(position)) <= _GRID_TOLERANCE:
        return

    below = math.floor(position) / denominator
    above = math.ceil(position) / denominator
    if denominator > 1:
        grid = f"a multiple of 1/{denominator} pixel"
    else:
        grid = "a whole number of pixels"
    message = (
        f"search.minimum: {minimum:g} is not {grid}, as a step of {step:g} needs; "
        f"use {below:g} or {above:g}, or a step of which {minimum:g} is a multiple"
    )
    raise ParameterError(message)


def _grid_position(disparity: float, step: float, rounding: Callable[[float], int]) -> float:
    """Round a disparity down or up to an allowed minimum of a search range.

    Parameters
    ----------
    disparity, step : float
        Disparity and step, in pixels. A step of 1/N pixel allows multiples of 1/N. A
        step of N pixels allows whole numbers.
    rounding : callable
        `math.floor` to round down, or `math.ceil` to round up.
    """
    denominator = max(1, round(1 / step))
    position = disparity * denominator
    if abs(position - round(position)) <= _GRID_TOLERANCE:
        return disparity
    return rounding(position) / denominator


class Geometry(NamedTuple):
    """Matching positions of the pixels of a row.

    The samples of a match row are its pixels and the positions between pixels. A step
    of 1/N pixel has N - 1 samples between two neighbouring pixels.

    A *line* contains the samples of a match row in a different order. The samples for
    the levels 0, 1, 2, ... of a pixel are neighbours in the line. Therefore, a loop
    over the levels of a pixel reads consecutive memory. Each end of the line has
    `levels` free elements for matches outside the image. Costs of matches outside the
    image are overwritten or never used.

    Parameters
    ----------
    starts, stops : ndarray, int64, (columns,)
        First level, and last level plus one, with a match inside the image, for each
        reference column.
    origins : ndarray, int64, (columns,)
        Index of the sample for level 0 in the line, for each reference column. The
        sample for level k has the index ``origin + k``.
    clipped : ndarray, int64
        Reference columns with a match outside the image at any level.
    levels : int
        Number of levels.
    samples : int
        Number of samples of a match row.
    stride : int
        Distance between the samples of neighbouring levels, in samples.
    reverse : bool
        True if the samples of higher levels lie further left.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    origins: NDArray[np.int64]
    clipped: NDArray[np.int64]
    levels: int
    samples: int
    stride: int
    reverse: bool


@functools.lru_cache(maxsize=64)
def geometry(columns: int, search: SearchRange) -> Geometry:
    """Compute the matching samples of each pixel of a row.

    Parameters
    ----------
    columns : int
        Width of either image in pixels.
    search : SearchRange

    Examples
    --------
    >>> rows = geometry(3, SearchRange(0, 1))
    >>> rows.starts.tolist(), rows.stops.tolist(), rows.clipped.tolist()
    ([0, 0, 0], [1, 2, 2], [0])

    The line contains the columns ``- - 2 1 0 - -``, with `-` for free elements. Pixel 2
    is compared with column 2 at disparity 0, and with column 1 at disparity 1. Pixel 0
    is compared only with column 0.

    >>> rows.origins.tolist()
    [4, 3, 2]
    """
    samples = (columns - 1) * search.denominator + 1
    is_inside = search.in_view(columns)
    start = is_inside.argmax(axis=1)
    stop = start + is_inside.sum(axis=1)

    # The first level with a match inside the image has this sample. Sample numbers
    # increase with the disparity.
    sample_of_start = np.arange(columns) * search.denominator - search.direction * (
        search.first + search.stride * start
    )
    if search.direction > 0:
        sample_of_start = samples - 1 - sample_of_start

    # All sample numbers of a pixel have the same remainder modulo the stride. A line
    # begins with all samples of remainder 0, followed by remainder 1. The first
    # `samples % stride` groups have one element more than the remaining groups.
    group = sample_of_start % search.stride
    size_of_earlier_groups = group * (samples // search.stride) + np.minimum(
        group, samples % search.stride
    )
    index = size_of_earlier_groups + sample_of_start // search.stride
    origins = np.where(start < stop, search.levels + index - start, 0)
    return Geometry(
        starts=start,
        stops=stop,
        origins=origins,
        clipped=np.flatnonzero((start > 0) | (stop < search.levels)),
        levels=search.levels,
        samples=samples,
        stride=search.stride,
        reverse=search.direction > 0,
    )


def arrange_samples(samples: NDArray, rows: Geometry) -> NDArray:
    """Arrange the samples of match rows in lines. `Geometry` defines the order.

    Parameters
    ----------
    samples : ndarray, (..., samples)
        Intensities or features at the samples of match rows, from left to right.
    rows : Geometry

    Returns
    -------
    ndarray, same type, (..., samples + 2 * levels)
        The lines. Elements without a sample are 0.
    """
    lines = np.zeros((*samples.shape[:-1], rows.samples + 2 * rows.levels), samples.dtype)
    ordered = samples[..., ::-1] if rows.reverse else samples
    start = rows.levels
    for remainder in range(rows.stride):
        group = ordered[..., remainder :: rows.stride]
        stop = start + group.shape[-1]
        lines[..., start:stop] = group
        start = stop
    return lines


report_attributes_of_module(__name__)
