"""Search ranges, and the order in which levels meet the samples of a match row."""

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
    """Disparities that are tried: ``minimum, minimum + step, ..., maximum`` pixels.

    The index of a disparity in the search range is called its level.

    Parameters
    ----------
    minimum, maximum : float
        Ends of the range in pixels, both included. `minimum` may be negative. It is a
        multiple of 1/N for a step of 1/N pixel, and whole for a step of N pixels.
    step : float
        Distance of neighbouring levels in pixels: N or 1/N. A step within 0.001 of N or
        within 0.1 % of 1/N is rounded to N or 1/N.
    direction : int
        +1 if the match frame lies to the right of the reference frame in the sequence,
        otherwise -1: ``x_match = x_reference - direction * disparity``.

    Raises
    ------
    ParameterError
        `maximum` is not greater than `minimum`, the range has fewer than two levels,
        the step is neither N nor 1/N, or the minimum does not lie on the grid of the
        step.
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

        Use this method if the ends of a range come from a user or an estimate, because
        these ends may lie between the levels. Each end moves outwards to the next
        multiple of 1/N for a step of 1/N pixel, and to the next whole number for a step
        of N pixels.

        Parameters
        ----------
        minimum, maximum : float
            Disparities that the range contains, in pixels.
        step : float
            Distance of neighbouring levels in pixels: N or 1/N.
        direction : int
            Direction of the search range, 1 or -1.

        Returns
        -------
        SearchRange
            Search range with at least two levels. Its ends are `minimum` and `maximum`
            if these lie on the grid of the step.

        Raises
        ------
        ParameterError
            A number is not finite, `maximum` is not greater than `minimum`, or the step
            is neither N nor 1/N.

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
        # The range has at least two levels.
        return SearchRange(first, max(last, first + spacing), spacing, direction)

    @staticmethod
    def of(search: SearchRange | Sequence[float] | NDArray) -> SearchRange:
        """Return the search range that an argument of a user describes.

        Parameters
        ----------
        search : SearchRange or sequence of float
            A search range, its minimum and maximum, or its minimum, maximum and step.

        Raises
        ------
        ParameterError
            The argument has another form, or no such search range is possible.
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
        """Return the number of levels, which are the disparities that are tried."""
        return math.floor((self.maximum - self.minimum) / self.step + 1e-6) + 1

    @property
    def disparities(self) -> NDArray[np.float32]:
        """Return the disparities of all levels in pixels, float32 ``(levels,)``."""
        return (self.minimum + self.step * np.arange(self.levels)).astype(np.float32)

    @checked()
    def disparity_of(self, levels: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the disparity of each level.

        Parameters
        ----------
        levels : ndarray, integer, any shape
            Levels; -1 means that a pixel has no level.

        Returns
        -------
        ndarray, float32, same shape
            Disparities in pixels, NaN where the level is -1.

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
        """Return the level that is nearest to each disparity.

        Parameters
        ----------
        disparity : ndarray, float, any shape
            Disparities in pixels, NaN for a pixel without an estimate.

        Returns
        -------
        ndarray, int16, same shape
            Levels, -1 where the disparity is NaN.
        """
        nearest = np.clip(np.rint((disparity - self.minimum) / self.step), 0, self.levels - 1)
        return np.where(np.isnan(disparity), -1, nearest).astype(np.int16)

    @checked()
    def columns(self, width: ImageWidth) -> Iterator[tuple[slice, slice]]:
        """Yield the columns of both images that match at each level.

        Parameters
        ----------
        width : int
            Width of either image in pixels.

        Yields
        ------
        reference_columns, match_columns : slice
            Columns of the reference image whose match lies inside the match image, and
            the columns of these matches. Both slices have the same length, which may be
            0.

        Raises
        ------
        ParameterError
            The step is a fraction of a pixel, so that matches lie between columns.

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
        """Return where disparities lie more than half a step outside the search range.

        Sub-pixel refinement moves a disparity by at most half a step. Disparities that
        are further outside do not come from this search range.
        """
        half = self.step / 2 + 1e-3 * self.step
        return (disparity < self.minimum - half) | (disparity > self.maximum + half)

    @property
    def first(self) -> int:
        """Return the disparity of level 0 in units of ``1 / denominator`` pixels."""
        return round(self.minimum * self.denominator)

    @property
    def stride(self) -> int:
        """Return the distance of levels in units of ``1 / denominator`` pixels."""
        return round(self.step * self.denominator)

    @checked()
    def in_view(self, columns: ImageWidth) -> NDArray[np.bool_]:
        """Return at which levels the match of a pixel lies inside the match image.

        This is the case if ``0 <= x_match <= columns - 1``.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        ndarray, bool, (columns, levels)
            Mask that applies to every row. The levels of a column whose matches lie
            inside the image are consecutive, and so are the columns of a level.

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
        """Refuse a step of a fraction of a pixel.

        Stages call this method if they match each pixel of both images at most once.
        Such stages need matches at whole pixels.

        Parameters
        ----------
        stage : str
            Name of the stage, for the message.

        Raises
        ------
        ParameterError
            The step is less than a pixel.
        """
        if self.denominator > 1:
            message = (
                f"{stage}: search.step is 1/{self.denominator} pixel, but the stage matches "
                "each pixel at most once; use a step of 1 and refine the disparities afterwards"
            )
            raise ParameterError(message)

    @checked()
    def check_width(self, columns: ImageWidth) -> str:
        r"""Check whether the search range of a user is plausible for images of a width.

        No stage calls this method, because stages accept every search range.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        str
            Warning about a range that is wider than half of the image; empty if there
            is no reason for a warning.

        Raises
        ------
        ParameterError
            The range is wider than the images, or no match lies inside the match image.

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
        """Return the search range for frames whose distance is `scale` times as large.

        The ends are moved outwards to whole pixels.
        """
        if scale == 1:
            return self
        return SearchRange(
            math.floor(self.minimum * scale), math.ceil(self.maximum * scale), self.step
        )

    def __str__(self) -> str:
        return f"{self.minimum:g}..{self.maximum:g} step {self.step:g}"


ImageWidth = Annotated[int, Ge(0), Le(2**31)]
"""Annotation of the width of an image in pixels."""

SearchArgument = Annotated[
    SearchRange | tuple[AnyNumber, AnyNumber] | tuple[AnyNumber, AnyNumber, AnyNumber],
    Words("a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"),
]
"""Annotation of a search range, or of its ends with or without its step."""

_MAX_LEVELS = int(np.iinfo(np.int16).max)
"""Maximum number of levels. Maps of levels are int16."""


def are_ends(value: Any) -> bool:
    """Return whether a value has the form of (minimum, maximum[, step])."""
    if isinstance(value, np.ndarray):
        return value.shape in ((2,), (3,))
    return isinstance(value, tuple | list) and len(value) in (2, 3)


def _checked_number(name: str, value: Any) -> Any:
    """Return a field of a search range as a Python number.

    Parameters
    ----------
    name : {"minimum", "maximum", "step"}
        Name of the field.
    value : object

    Raises
    ------
    ParameterError
        The value is not a finite number, or it is a step that is not above 0.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    if not is_number or not _is_finite(value):
        raise ParameterError(f"search.{name}: {describe_value(value)} is not a finite number")
    if name == "step" and value <= 0:
        raise ParameterError(f"search.step: {value:g} is not above 0")
    # int8(-100) - int8(100) would wrap around.
    return value.item() if isinstance(value, np.number) else value


def _is_finite(number: float) -> bool:
    """Return whether a number is finite and in the range of a float."""
    try:
        return math.isfinite(number)
    except OverflowError:  # The number is an int beyond the range of a float.
        return False


def _check_order(minimum: float, maximum: float) -> None:
    """Refuse a search range whose maximum is not greater than its minimum."""
    if not maximum > minimum:
        message = f"search.maximum: {maximum:g} is not above search.minimum, {minimum:g}"
        raise ParameterError(message)


def _checked_direction(value: Any) -> int:
    """Return a direction as a Python int; refuse any value other than 1 and -1."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or value not in (1, -1):
        raise ParameterError(f"search.direction: {describe_value(value)} is neither 1 nor -1")
    return int(value)


def _snap(step: float) -> float:
    """Round a step to the nearest N or 1/N.

    Raises
    ------
    ParameterError
        The step differs by more than 0.001 from N, or by more than 0.1 % from 1/N.
    """
    if step >= 1:
        if abs(step - round(step)) <= 1e-3:
            return float(round(step))
    # The inverse of a very small number is infinite.
    elif math.isfinite(1 / step) and abs(1 / step - round(1 / step)) * step <= 1e-3:
        return 1 / round(1 / step)
    message = f"search.step: {step:g} is neither a whole number of pixels nor 1/N of one"
    raise ParameterError(message)


_GRID_TOLERANCE = 1e-3
"""Maximum distance of a disparity on the grid from the grid, in grid spacings."""


def _check_grid(minimum: float, step: float, denominator: int) -> None:
    """Refuse a minimum that does not lie on the grid of the step.

    Parameters
    ----------
    minimum, step : float
        Fields of the search range.
    denominator : int
        N for a step of 1/N pixel, whose grid is the multiples of 1/N. 1 for a step of N
        pixels, whose grid is the whole numbers.

    Raises
    ------
    ParameterError
        The minimum lies between two points of the grid. The message gives both.
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
    """Round a disparity to the grid of a step, unless it lies on the grid already.

    Parameters
    ----------
    disparity, step : float
        Disparity and step in pixels.
    rounding : callable
        `math.floor` or `math.ceil`.
    """
    denominator = max(1, round(1 / step))
    position = disparity * denominator
    if abs(position - round(position)) <= _GRID_TOLERANCE:
        return disparity
    return rounding(position) / denominator


class Geometry(NamedTuple):
    """The samples that a row of the reference image meets at all levels.

    The samples of a match row are all positions that a disparity can reach: the pixels
    and, for a step of 1/N pixel, N - 1 positions between neighbouring pixels.

    A *line* contains the samples of a match row in an order in which the samples of the
    levels 0, 1, 2, ... of a pixel are neighbours. Therefore a loop over the levels
    reads consecutive memory. Before and after the samples, the line has as many free
    elements as there are levels. Therefore a loop over all levels of a pixel stays in
    the line even if matches lie outside the image. The content of the free elements
    does not matter, because costs of such matches are overwritten or never used.

    Parameters
    ----------
    starts, stops : ndarray, int64, (columns,)
        At the levels from `starts` to `stops` - 1 of a column of the reference image,
        the match lies inside the match image.
    origins : ndarray, int64, (columns,)
        Index in the line of the sample of level 0. The sample of level k has the index
        ``origin + k``.
    clipped : ndarray, int64
        The columns at which some matches lie outside the match image.
    levels : int
        Number of levels, and of free elements at either end of the line.
    samples : int
        Number of samples of a match row.
    stride : int
        Number of samples from one level to the next.
    reverse : bool
        Whether higher levels meet samples further to the left.
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
    """Return the geometry of rows of an image.

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

    With `-` for a free element and columns for samples, the line is ``- - 2 1 0 - -``.
    Pixel 2 meets column 2 at disparity 0 and column 1 at disparity 1. Pixel 0 meets
    only column 0.

    >>> rows.origins.tolist()
    [4, 3, 2]
    """
    samples = (columns - 1) * search.denominator + 1
    is_inside = search.in_view(columns)
    start = is_inside.argmax(axis=1)
    stop = start + is_inside.sum(axis=1)

    # The sample that the first level inside the image meets. Samples are counted in the
    # direction in which higher levels lie.
    sample_of_start = np.arange(columns) * search.denominator - search.direction * (
        search.first + search.stride * start
    )
    if search.direction > 0:
        sample_of_start = samples - 1 - sample_of_start

    # The samples that a pixel meets have the same remainder of the division by the
    # stride. In a line, the samples of remainder 0 come first, then those of remainder
    # 1, and so on. Each group has `samples // stride` elements, and one more in each of
    # the first `samples % stride` groups.
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
    """Arrange the samples of match rows in lines, as `Geometry` describes.

    Parameters
    ----------
    samples : ndarray, (..., samples)
        Samples of match rows.
    rows : Geometry

    Returns
    -------
    ndarray, same type, (..., samples + 2 * levels)
        Lines, with 0 in the free elements.
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
