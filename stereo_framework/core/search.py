"""Search ranges, and the order in which the pixels of a match row are compared."""

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
    """Disparities that are tried: ``minimum, minimum + step, ..., maximum``, in pixels.

    The index of a disparity in this list is called its level: `minimum` has level 0.

    Parameters
    ----------
    minimum, maximum : float
        Smallest and largest disparity that is tried, in pixels. `minimum` may be
        negative. If the step is 1/N pixel, `minimum` must be a multiple of 1/N. If the
        step is N pixels, `minimum` must be a whole number.
    step : float
        Distance between neighbouring disparities, in pixels: a whole number N or a
        fraction 1/N. A step that differs from N by at most 0.001, or from 1/N by at
        most 0.1 %, is rounded to N or 1/N.
    direction : int
        +1 if the match camera is to the right of the reference camera, otherwise -1.
        The column of the matching pixel is ``x_match = x_reference - direction *
        disparity``.

    Raises
    ------
    ParameterError
        `maximum` is not greater than `minimum`, the range has fewer than two
        disparities, the step is neither a whole number N nor 1/N, or `minimum` is not a
        multiple of 1/N for a step of 1/N (or not a whole number for a step of N).
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
        """Return the smallest valid search range that contains two disparities.

        Use this method if the minimum and maximum come from a user or from an estimate,
        because such numbers may not be multiples of the step. The minimum is rounded
        down and the maximum is rounded up: to a multiple of 1/N for a step of 1/N
        pixel, and to a whole number for a step of N pixels.

        Parameters
        ----------
        minimum, maximum : float
            Smallest and largest disparity that the search range must contain, in
            pixels.
        step : float
            Distance of neighbouring levels in pixels: N or 1/N.
        direction : int
            Direction of the search range, 1 or -1.

        Returns
        -------
        SearchRange
            Search range with at least two disparities. Its minimum and maximum are the
            given numbers if they need no rounding.

        Raises
        ------
        ParameterError
            A number is not finite, `maximum` is not greater than `minimum`, or the step
            is neither a whole number N nor 1/N.

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
        # If the rounded maximum is less than a step above the rounded minimum, the
        # maximum is increased, because a search range needs at least two disparities.
        return SearchRange(first, max(last, first + spacing), spacing, direction)

    @staticmethod
    def of(search: SearchRange | Sequence[float] | NDArray) -> SearchRange:
        """Convert an argument, such as (0, 63), to a search range.

        Parameters
        ----------
        search : SearchRange or sequence of float
            A search range, or the numbers (minimum, maximum) or (minimum, maximum,
            step).

        Raises
        ------
        ParameterError
            The argument does not have one of these forms, or its numbers are not
            allowed.
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
        """Return all disparities of the range in pixels, float32 ``(levels,)``."""
        return (self.minimum + self.step * np.arange(self.levels)).astype(np.float32)

    @checked()
    def disparity_of(self, levels: NDArray[np.integer]) -> NDArray[np.float32]:
        """Convert levels (indices of disparities) to disparities in pixels.

        Parameters
        ----------
        levels : ndarray, integer, any shape
            Level of each pixel. The value -1 means that the pixel has no disparity.

        Returns
        -------
        ndarray, float32, same shape
            Disparities in pixels. NaN at pixels with the level -1.

        Raises
        ------
        ParameterError
            The array does not contain integers, or a level is outside the search range.

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
            Disparities in pixels. NaN means that a pixel has no estimate.

        Returns
        -------
        ndarray, int16, same shape
            Level of each pixel. The level is -1 if the disparity is NaN.
        """
        nearest = np.clip(np.rint((disparity - self.minimum) / self.step), 0, self.levels - 1)
        return np.where(np.isnan(disparity), -1, nearest).astype(np.int16)

    @checked()
    def columns(self, width: ImageWidth) -> Iterator[tuple[slice, slice]]:
        """Yield, for each disparity, the columns of both images that match each other.

        Parameters
        ----------
        width : int
            Width of either image in pixels.

        Yields
        ------
        reference_columns, match_columns : slice
            Columns of the reference image whose matching pixels lie inside the match
            image, and the columns of these matching pixels. Both slices have the same
            length, which may be 0.

        Raises
        ------
        ParameterError
            The step is a fraction of a pixel. Then some matches lie between two
            columns.

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

        Sub-pixel refinement changes a disparity by at most half a step. Therefore a
        disparity that is further outside cannot result from this search range.
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
        """Mark the disparities at which a pixel's match lies inside the match image.

        A match lies inside the match image if ``0 <= x_match <= columns - 1``.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        ndarray, bool, (columns, levels)
            True if the match of a pixel in this column lies inside the image at this
            level. The mask is the same for every row of the image. The True elements of
            each column are consecutive, and so are the True elements of each level.

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

        A stage calls this method if it uses each pixel of the match image for at most
        one match. Such a stage needs matches at whole pixels.

        Parameters
        ----------
        stage : str
            Name of the stage that calls the method, for the error message.

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
        r"""Check whether a search range is plausible for images of a certain width.

        Commands call this method to check the search range of a user. Stages do not
        call it, because they accept every search range.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        str
            Warning that the search range is wider than half of the image. Empty if the
            search range is narrower.

        Raises
        ------
        ParameterError
            The search range is wider than the images, or no disparity has a match
            inside the match image.

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
        """Return a search range for cameras whose distance is `scale` times as large.

        Minimum and maximum are multiplied by `scale`. The minimum is then rounded down
        and the maximum is rounded up to whole pixels.
        """
        if scale == 1:
            return self
        return SearchRange(
            math.floor(self.minimum * scale), math.ceil(self.maximum * scale), self.step
        )

    def __str__(self) -> str:
        return f"{self.minimum:g}..{self.maximum:g} step {self.step:g}"


ImageWidth = Annotated[int, Ge(0), Le(2**31)]
"""Type annotation for the width of an image, in pixels."""

SearchArgument = Annotated[
    SearchRange | tuple[AnyNumber, AnyNumber] | tuple[AnyNumber, AnyNumber, AnyNumber],
    Words("a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"),
]
"""Type annotation for a search range, also written as (minimum, maximum[, step])."""

_MAX_LEVELS = int(np.iinfo(np.int16).max)
"""Maximum number of disparities in a search range, because maps of levels are int16."""


def are_ends(value: Any) -> bool:
    """Return whether a value has two or three elements, such as (0, 63)."""
    if isinstance(value, np.ndarray):
        return value.shape in ((2,), (3,))
    return isinstance(value, tuple | list) and len(value) in (2, 3)


def _checked_number(name: str, value: Any) -> Any:
    """Check a field of a search range, and return it as a Python number.

    Parameters
    ----------
    name : {"minimum", "maximum", "step"}
        Name of the field of the search range, for error messages.
    value : object

    Raises
    ------
    ParameterError
        The value is not a finite number, or it is the step and not greater than 0.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    if not is_number or not _is_finite(value):
        raise ParameterError(f"search.{name}: {describe_value(value)} is not a finite number")
    if name == "step" and value <= 0:
        raise ParameterError(f"search.step: {value:g} is not above 0")
    # Small NumPy types are converted, because for example int8(-100) - int8(100) would
    # wrap around.
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
    """Return a direction as a Python int; raise an error if it is neither 1 nor -1."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or value not in (1, -1):
        raise ParameterError(f"search.direction: {describe_value(value)} is neither 1 nor -1")
    return int(value)


def _snap(step: float) -> float:
    """Round the step of a search range to the nearest whole number N or fraction 1/N.

    Raises
    ------
    ParameterError
        A step of 1 or more differs by more than 0.001 from every whole number N, or a
        step below 1 differs by more than 0.1 % from every fraction 1/N.
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
"""Maximum rounding error of a multiple of 1/N (or 1), as a fraction of 1/N (or 1)."""


def _check_grid(minimum: float, step: float, denominator: int) -> None:
    """Raise an error if the minimum is not a multiple of ``1 / denominator``.

    Parameters
    ----------
    minimum, step : float
        Minimum and step of the search range, in pixels.
    denominator : int
        N for a step of 1/N pixel: then the minimum must be a multiple of 1/N. 1 for a
        step of N pixels: then the minimum must be a whole number.

    Raises
    ------
    ParameterError
        The minimum lies between two allowed numbers. The message gives both of these
        numbers.
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
    """Round a disparity down or up to a number that a search range can start with.

    Parameters
    ----------
    disparity, step : float
        Disparity and step in pixels. The disparity is rounded to a multiple of 1/N if
        the step is 1/N pixel, and to a whole number if the step is N pixels. It stays
        unchanged if it is such a number already, up to rounding errors.
    rounding : callable
        `math.floor` to round down, or `math.ceil` to round up.
    """
    denominator = max(1, round(1 / step))
    position = disparity * denominator
    if abs(position - round(position)) <= _GRID_TOLERANCE:
        return disparity
    return rounding(position) / denominator


class Geometry(NamedTuple):
    """Positions in a match row with which the pixels of a reference row are compared.

    The samples of a match row are the positions that the disparities of the search
    range can reach. They are the pixels and, for a step of 1/N pixel, also N - 1
    positions between each two neighbouring pixels.

    A *line* is an array with the samples of a match row in a special order: the samples
    that a pixel is compared with at the levels 0, 1, 2, ... are neighbours. Therefore a
    loop over the levels of a pixel reads consecutive memory. The line has free elements
    before and after the samples, as many as there are levels. Therefore a loop over all
    levels of a pixel stays inside the line even if matches lie outside the image. The
    free elements may have any content, because the costs of matches outside the image
    are overwritten or never used.

    Parameters
    ----------
    starts, stops : ndarray, int64, (columns,)
        First level, and last level plus one, at which the match of a pixel in this
        column of the reference image lies inside the match image.
    origins : ndarray, int64, (columns,)
        For each column of the reference image, index in the line of the sample for
        level 0. The sample for level k has the index ``origin + k``.
    clipped : ndarray, int64
        Columns of the reference image with a match outside the match image, at any
        level.
    levels : int
        Number of levels. The line has as many free elements at each of its ends.
    samples : int
        Number of samples of a match row.
    stride : int
        Distance of the samples of two neighbouring levels, in samples of the match row.
    reverse : bool
        True if a higher level compares a pixel with a sample further to the left.
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
    """Compute which samples of a match row each pixel is compared with.

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

    Here the samples are the pixels of the match row. If each sample is written as its
    column and each free element as `-`, the line is ``- - 2 1 0 - -``. Pixel 2 of the
    reference row is compared with column 2 at disparity 0, and with column 1 at
    disparity 1. Pixel 0 is compared only with column 0.

    >>> rows.origins.tolist()
    [4, 3, 2]
    """
    samples = (columns - 1) * search.denominator + 1
    is_inside = search.in_view(columns)
    start = is_inside.argmax(axis=1)
    stop = start + is_inside.sum(axis=1)

    # For each column, this is the sample for the first level whose match lies inside
    # the image. Samples are counted in the direction in which the disparity increases.
    sample_of_start = np.arange(columns) * search.denominator - search.direction * (
        search.first + search.stride * start
    )
    if search.direction > 0:
        sample_of_start = samples - 1 - sample_of_start

    # If the sample numbers of a pixel are divided by the stride, they all have the same
    # remainder. In a line, the samples with the remainder 0 come first, followed by the
    # samples with the remainder 1, and so on. The first `samples % stride` groups have
    # `samples // stride + 1` elements, and the remaining groups have `samples //
    # stride` elements.
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
    """Sort the samples of match rows into the lines that are described in `Geometry`.

    Parameters
    ----------
    samples : ndarray, (..., samples)
        Intensities or other values at the samples of match rows, from left to right.
    rows : Geometry

    Returns
    -------
    ndarray, same type, (..., samples + 2 * levels)
        Lines. Their free elements are 0.
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
