"""The disparities that are tried, and the order in which they meet the positions of a match row."""

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
    """The disparities that are tried, in pixels: ``minimum, minimum + step, ..., maximum``.

    Parameters
    ----------
    minimum, maximum : float
        Ends of the range in pixels, both included; `minimum` may be negative. It is a
        multiple of 1/N for a step of 1/N pixel, and whole for a step of N pixels.
    step : float
        Distance of neighbouring levels in pixels: N or 1/N. Values within 0.001 of N or 0.1 % of 1/N are snapped to it.
    direction : int
        ``x_match = x_reference - direction * d``: +1 when the match frame lies to the right of the reference frame in
        the sequence, -1 otherwise.

    Raises
    ------
    ParameterError
        `maximum` not above `minimum`, fewer than two levels, a step that is neither N nor 1/N,
        a minimum that is not on the grid of the step.
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
            raise ParameterError(
                f"search.step: {self.step:g} leaves one level between {self.minimum:g} and {self.maximum:g}; at least two are needed"
            )
        if self.levels > np.iinfo(np.int16).max:
            raise ParameterError(
                f"search: {self.levels} levels; at most {np.iinfo(np.int16).max} are possible"
            )

    @staticmethod
    def covering(
        minimum: float, maximum: float, step: float = 1, direction: int = 1
    ) -> SearchRange:
        """Return the smallest valid search range that contains two disparities.

        Use it if the ends of a range come from a user or an estimate, because these ends
        may lie between the levels. Each end moves outwards to the next multiple of 1/N
        for a step of 1/N pixel, and to the next whole number for a step of N pixels.

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
            Search range with at least two levels; its ends are `minimum` and `maximum` if
            these lie on the grid.

        Raises
        ------
        ParameterError
            A number is not finite, `maximum` is not above `minimum`, or the step is neither
            N nor 1/N.

        Examples
        --------
        >>> print(SearchRange.covering(5.5, 58.7), SearchRange.covering(5.5, 58.7, 0.5), sep=", ")
        5..59 step 1, 5.5..59 step 0.5
        """
        lowest = _checked_number("minimum", minimum)
        highest = _checked_number("maximum", maximum)
        _check_order(lowest, highest)
        spacing = _snap(_checked_number("step", step))

        first = _grid_position(lowest, spacing, math.floor)
        last = _grid_position(highest, spacing, math.ceil)
        last = max(last, first + spacing)
        return SearchRange(first, last, spacing, direction)

    @staticmethod
    def of(given: SearchRange | Sequence[float] | NDArray) -> SearchRange:
        """Return a search range that is given as such, or by its two ends and perhaps its step.

        Raises
        ------
        ParameterError
            The argument is none of these, or there is no such range.
        """
        if isinstance(given, SearchRange):
            return given
        if are_ends(given):
            return SearchRange(*given)
        message = f"search is {describe_value(given)}; expected a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"
        raise ParameterError(message)

    @property
    def denominator(self) -> int:
        """N for a step of 1/N, else 1."""
        return max(1, round(1 / self.step))

    @property
    def levels(self) -> int:
        """Number of disparities tried."""
        return math.floor((self.maximum - self.minimum) / self.step + 1e-6) + 1

    @property
    def disparities(self) -> NDArray[np.float32]:
        """The disparity of every level in pixels, float32 ``(levels,)``, ascending."""
        return (self.minimum + self.step * np.arange(self.levels)).astype(np.float32)

    @checked()
    def disparity_of(self, levels: NDArray[np.integer]) -> NDArray[np.float32]:
        """The disparity of each level in pixels, float32 of the same shape; NaN where the level is -1.

        Raises
        ------
        ParameterError
            Not whole numbers, or a level that the range does not have.

        Examples
        --------
        >>> SearchRange(0, 2).disparity_of(np.array([2, 0, -1])).tolist()
        [2.0, 0.0, nan]
        """
        if levels.dtype.kind not in "iu":
            raise ParameterError(
                f"levels: {levels.dtype}; expected whole numbers from 0 to {self.levels - 1}, -1 = none"
            )
        least, most = levels.min(initial=0), levels.max(initial=0)
        if least < -1 or most >= self.levels:
            raise ParameterError(
                f"levels from {least} to {most}; expected 0 to {self.levels - 1}, -1 = none"
            )
        # The last place is that of -1.
        return np.append(self.disparities, np.float32(np.nan))[levels]

    @checked()
    def levels_of(self, disparity: NDArray[np.floating]) -> NDArray[np.int16]:
        """The level nearest to each disparity, int16 of the same shape; -1 where that is NaN."""
        nearest = np.clip(np.rint((disparity - self.minimum) / self.step), 0, self.levels - 1)
        return np.where(np.isnan(disparity), -1, nearest).astype(np.int16)

    @checked()
    def columns(self, width: ImageWidth) -> Iterator[tuple[slice, slice]]:
        """For each level the columns of the reference image that meet some of the match image, and those that they meet.

        Raises
        ------
        ParameterError
            Levels between whole pixels, where images would have to be sampled.

        Examples
        --------
        >>> list(SearchRange(0, 1).columns(5))
        [(slice(0, 5, None), slice(0, 5, None)), (slice(1, 5, None), slice(0, 4, None))]
        """
        if self.denominator > 1:
            raise ParameterError(
                f"search.columns: the step is {self.step:g} pixels; whole steps are needed"
            )
        for level in range(self.levels):
            moved = self.direction * (self.first + level * self.stride)
            start = min(max(moved, 0), width)
            stop = max(min(width, width + moved), start)
            yield slice(start, stop), slice(start - moved, stop - moved)

    @checked()
    def beyond(self, disparity: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Where a map of disparities lies more than half a step outside the range: these were not searched, and are no estimates.

        Half a step is what sub-pixel refinement adds to the outermost levels.
        """
        half = self.step / 2 + 1e-3 * self.step
        return (disparity < self.minimum - half) | (disparity > self.maximum + half)

    @property
    def first(self) -> int:
        """Disparity of level 0 in units of ``1 / denominator`` pixels."""
        return round(self.minimum * self.denominator)

    @property
    def stride(self) -> int:
        """Distance of neighbouring levels in units of ``1 / denominator`` pixels."""
        return round(self.step * self.denominator)

    @checked()
    def in_view(self, columns: ImageWidth) -> NDArray[np.bool_]:
        """Which levels of a pixel the match image shows, for each column: ``0 <= x_match <= columns - 1``.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        ndarray, bool, (columns, levels)
            The same for every row. A level is in view in consecutive columns, a column has consecutive levels in view.

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
        """Refuse disparities at fractions of a pixel, for a stage that matches every pixel of either image once at most.

        Raises
        ------
        ParameterError
            The step is below a pixel.
        """
        if self.denominator > 1:
            raise ParameterError(
                f"{stage}: search.step is 1/{self.denominator} pixel; pixels match one to one at whole steps alone: use a step of 1 and refine afterwards"
            )

    @checked()
    def check_width(self, columns: ImageWidth) -> str:
        """Whether a range that somebody wrote down makes sense for images of so many columns. No stage asks: they match whatever they are given.

        Returns
        -------
        str
            What is doubtful about it; empty if nothing is.

        Raises
        ------
        ParameterError
            It is wider than the images, or none of it shows in them.

        Examples
        --------
        >>> SearchRange(0, 400).check_width(741)
        'the range 0..400 of disparities is wider than half of the 741 columns of the image; most of it is out of view nearly everywhere'
        """
        said, width = (
            f"the range {self.minimum:g}..{self.maximum:g} of disparities",
            self.maximum - self.minimum + 1,
        )
        if width > columns:
            raise ParameterError(
                f"{said} has {width:g} pixels, it is wider than the image of {columns} columns"
            )
        if self.minimum >= columns or self.maximum <= -columns:
            raise ParameterError(
                f"{said} lies beyond the image of {columns} columns: no pixel has a counterpart there"
            )
        if width > columns / 2:
            return f"{said} is wider than half of the {columns} columns of the image; most of it is out of view nearly everywhere"
        return ""

    @checked()
    def scaled(self, scale: float) -> SearchRange:
        """The range of a pair whose frames are `scale` times as far apart, widened to whole pixels."""
        if scale == 1:
            return self
        return SearchRange(
            math.floor(self.minimum * scale), math.ceil(self.maximum * scale), self.step
        )

    def __str__(self) -> str:
        return f"{self.minimum:g}..{self.maximum:g} step {self.step:g}"


ImageWidth = Annotated[int, Ge(0), Le(2**31)]
"""Annotation of a number of columns."""

SearchArgument = Annotated[
    SearchRange | tuple[AnyNumber, AnyNumber] | tuple[AnyNumber, AnyNumber, AnyNumber],
    Words("a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"),
]
"""Annotation of a search range that a user gives: as such, or by its ends and perhaps its step."""


def are_ends(value: Any) -> bool:
    """Return whether a value consists of the two ends of a range, or of its ends and step."""
    if isinstance(value, np.ndarray):
        return value.shape in ((2,), (3,))
    return isinstance(value, tuple | list) and len(value) in (2, 3)


def _checked_number(name: str, value: Any) -> Any:
    """Return a number of a search range as a Python number, or refuse it.

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
    """Return whether a number is finite as a float."""
    try:
        return math.isfinite(number)
    except OverflowError:  # an int that no float can hold
        return False


def _check_order(minimum: float, maximum: float) -> None:
    """Refuse a range whose maximum is not above its minimum."""
    if not maximum > minimum:
        raise ParameterError(
            f"search.maximum: {maximum:g} is not above search.minimum, {minimum:g}"
        )


def _checked_direction(value: Any) -> int:
    """Return a direction as a Python int, or refuse it."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or value not in (1, -1):
        raise ParameterError(f"search.direction: {describe_value(value)} is neither 1 nor -1")
    return int(value)


def _snap(step: float) -> float:
    """Return the nearest N or 1/N within 0.001, or raise an error."""
    if step >= 1:
        if abs(step - round(step)) <= 1e-3:
            return float(round(step))
    # The inverse of the smallest numbers is infinite.
    elif math.isfinite(1 / step) and abs(1 / step - round(1 / step)) * step <= 1e-3:
        return 1 / round(1 / step)
    raise ParameterError(
        f"search.step: {step:g} is neither a whole number of pixels nor 1/N of one"
    )


_GRID_TOLERANCE = 1e-3
"""Largest distance from the grid at which a disparity lies on it, in units of the grid."""


def _check_grid(minimum: float, step: float, denominator: int) -> None:
    """Refuse a minimum that is not a multiple of 1/N pixel, or not whole for a step of N pixels.

    Raises
    ------
    ParameterError
        The minimum lies between two points of the grid; the message gives both.
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
    """Return a disparity rounded to the grid of a step; unchanged if it lies on the grid."""
    denominator = max(1, round(1 / step))
    position = disparity * denominator
    if abs(position - round(position)) <= _GRID_TOLERANCE:
        return disparity
    return rounding(position) / denominator


class Geometry(NamedTuple):
    """Which levels each column of the reference image has in view, and where in a line of match samples its levels lie.

    A line holds the samples of a match row in an order in which the levels 0, 1, 2 ... of a pixel lie side by side, so that a loop over levels
    reads consecutive memory. Before and after them there is room for as many samples as there are levels: a loop over all levels of a pixel never leaves the
    line, whether they are in view or not. What it finds in that room does not matter: costs out of view
    are overwritten or never used.

    Parameters
    ----------
    starts, stops : ndarray, int64, (columns,)
        In view are the levels from `starts` to `stops` - 1.
    origins : ndarray, int64, (columns,)
        Where in the line level 0 lies; level k lies k places after it.
    clipped : ndarray, int64
        The columns that have levels out of view.
    levels : int
        Levels of a pixel, and free places at either end of the line.
    samples : int
        Samples of a match row.
    stride : int
        Samples from one level to the next.
    reverse : bool
        Levels meet the samples from right to left.
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
    """The geometry of rows of `columns` pixels.

    Examples
    --------
    >>> found = geometry(3, SearchRange(0, 1))
    >>> found.starts.tolist(), found.stops.tolist(), found.clipped.tolist()
    ([0, 0, 0], [1, 2, 2], [0])

    From right to left the line is ``- - 2 1 0 - -``: pixel 2 meets match column 2 at disparity 0 and then 1; pixel 0 meets column 0 alone.

    >>> found.origins.tolist()
    [4, 3, 2]
    """
    samples = (columns - 1) * search.denominator + 1
    seen = search.in_view(columns)
    start = seen.argmax(axis=1)
    stop = start + seen.sum(axis=1)
    # The sample that the first level in view meets, counted in the direction in which levels go.
    position = np.arange(columns) * search.denominator - search.direction * (
        search.first + search.stride * start
    )
    if search.direction > 0:
        position = samples - 1 - position
    # Samples that one pixel's levels can meet leave the same residue. `arranged` puts residue after residue; each of those before this one fills
    # the quotient of places, the first few of them one more.
    residue = position % search.stride
    place = (
        residue * (samples // search.stride)
        + np.minimum(residue, samples % search.stride)
        + position // search.stride
    )
    origins = np.where(start < stop, search.levels + place - start, 0)
    clipped = np.flatnonzero((start > 0) | (stop < search.levels))
    return Geometry(
        start, stop, origins, clipped, search.levels, samples, search.stride, search.direction > 0
    )


def arranged(samples: NDArray, view: Geometry) -> NDArray:
    """Samples of rows (the last axis) in lines: those a level apart side by side, reversed where levels meet them from right to left; 0 in the room around them."""
    lines = np.zeros((*samples.shape[:-1], view.samples + 2 * view.levels), samples.dtype)
    at, ordered = view.levels, samples[..., ::-1] if view.reverse else samples
    for residue in range(view.stride):
        part = ordered[..., residue :: view.stride]
        lines[..., at : at + part.shape[-1]] = part
        at += part.shape[-1]
    return lines


report_attributes_of_module(__name__)
