"""Scenes: the frames, ground truth, masks and search range that a stereo method is run and measured on.

Conventions: images are ``(rows, columns)`` or ``(rows, columns, 3)`` in RGB order, uint8 or float32 with intensities
0..255. Disparities are float32 pixels between the reference and the match frame, larger = nearer, NaN = unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import DataError, ParameterError

Image = NDArray[np.uint8] | NDArray[np.float32]
Disparity = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Search:
    """The disparities that are tried, in pixels: ``minimum, minimum + step, ..., maximum``.

    Parameters
    ----------
    minimum, maximum : float
        Ends of the range in pixels, both included; `minimum` may be negative.
    step : float
        Distance of neighbouring levels in pixels: N or 1/N. Values within 0.001 of N or 0.1 % of 1/N are snapped to it.
    direction : int
        ``x_match = x_reference - direction * d``: +1 when the match frame lies to the right of the reference frame in
        the sequence, -1 otherwise.

    Raises
    ------
    ParameterError
        `maximum` not above `minimum`, fewer than two levels, a step that is neither N nor 1/N.
    """

    minimum: float
    maximum: float
    step: float = 1
    direction: int = 1

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
                raise ParameterError(f"search.{name}: {value!r} is not a finite number")
        if not self.maximum > self.minimum:
            raise ParameterError(f"search.maximum: {self.maximum:g} is not above search.minimum, {self.minimum:g}")
        if self.direction not in (1, -1):
            raise ParameterError(f"search.direction: {self.direction!r} is neither 1 nor -1")
        if self.step <= 0:
            raise ParameterError(f"search.step: {self.step:g} is not above 0")
        object.__setattr__(self, "step", _snap(self.step))
        if self.levels < 2:
            raise ParameterError(
                f"search.step: {self.step:g} leaves one level between {self.minimum:g} and {self.maximum:g}; at least two are needed"
            )
        if self.levels > np.iinfo(np.int16).max:
            raise ParameterError(f"search: {self.levels} levels; at most {np.iinfo(np.int16).max} are possible")

    @property
    def denominator(self) -> int:
        """N for a step of 1/N, else 1."""
        return max(1, round(1 / self.step))

    @property
    def levels(self) -> int:
        """Number of disparities tried."""
        return math.floor((self.maximum - self.minimum) / self.step + 1e-6) + 1

    @property
    def disparities(self) -> Disparity:
        """The disparity of every level in pixels, float32 ``(levels,)``, ascending."""
        return (self.minimum + self.step * np.arange(self.levels)).astype(np.float32)

    @property
    def first(self) -> int:
        """Disparity of level 0 in units of ``1 / denominator`` pixels.

        Raises
        ------
        ParameterError
            `minimum` is not a multiple of 1/`denominator`.
        """
        first = self.minimum * self.denominator
        if abs(first - round(first)) > 1e-3:
            raise ParameterError(
                f"search.minimum: {self.minimum:g} is not a multiple of 1/{self.denominator} pixel; "
                "choose a minimum on the grid of the step"
            )
        return round(first)

    @property
    def stride(self) -> int:
        """Distance of neighbouring levels in units of ``1 / denominator`` pixels."""
        return round(self.step * self.denominator)

    def in_view(self, columns: int) -> Mask:
        """Which levels of a pixel the match image shows, for each column: ``0 <= x_match <= columns - 1``.

        Parameters
        ----------
        columns : int
            Width of either image in pixels.

        Returns
        -------
        ndarray, bool, (columns, levels)
            The same for every row. A level is in view in consecutive columns, a column has consecutive levels in view.

        Raises
        ------
        ParameterError
            `minimum` is not a multiple of 1/`denominator`.

        Examples
        --------
        >>> Search(0, 2).in_view(3).tolist()
        [[True, False, False], [True, True, False], [True, True, True]]
        """
        x = np.arange(columns)[:, None] * self.denominator
        position = x - self.direction * (self.first + self.stride * np.arange(self.levels))
        return (position >= 0) & (position <= (columns - 1) * self.denominator)

    def __str__(self) -> str:
        return f"{self.minimum:g}..{self.maximum:g} step {self.step:g}"


def _snap(step: float) -> float:
    """The nearest N or 1/N within 0.001, else an error."""
    if step >= 1:
        if abs(step - round(step)) <= 1e-3:
            return float(round(step))
    elif abs(1 / step - round(1 / step)) * step <= 1e-3:
        return 1 / round(1 / step)
    raise ParameterError(f"search.step: {step:g} is neither a whole number of pixels nor 1/N of one")


@dataclass(frozen=True)
class Calibration:
    """Rectified camera geometry: depth = baseline * focal_length / (disparity + doffs).

    Parameters
    ----------
    focal_length : float
        Pixels.
    baseline : float
        Distance of the two cameras; depths come out in its unit (Middlebury: mm).
    doffs : float
        Difference of the principal points' columns, match minus reference, in pixels.
    """

    focal_length: float
    baseline: float
    doffs: float = 0.0


@dataclass(frozen=True)
class Frame:
    """One image of a sequence.

    Parameters
    ----------
    name : str
        Shown in messages: a file name or a generated one.
    load : callable
        Returns the image, uint8 or float32 0..255, ``(rows, columns)`` or ``(rows, columns, 3)`` RGB.
    position : float
        Place of the camera along the baseline; larger = further right. The unit is free, ratios count.
    """

    name: str
    load: Callable[[], Image]
    position: float


@dataclass(frozen=True, eq=False)
class Scene:
    """A rectified sequence and what is known about it. Everything loads on first use.

    Parameters
    ----------
    name : str
        Path-like name, ``middlebury2001/tsukuba``.
    frames : tuple of Frame
        From left to right or in any other order; `position` counts.
    reference_index, match_index : int
        Which frames are matched.
    search : Search or None
        Disparity range of the pair; its direction is taken from the frames.
    truths : mapping of (int, int) to callable
        Ground-truth loaders by frame pair: ``truths[2, 6]`` gives the disparities of frame 2 towards frame 6 in pixels.
    masks : mapping of str to callable
        Loaders of boolean masks of the reference frame, by name (``nonocc``).
    calibration : Calibration or None
    border : int
        Pixels on all four sides that are not evaluated.
    protocol : str
        Evaluation protocol that the scene's data set is measured with unless a script says otherwise.
    reduction : int
        How many times smaller the images are, in each direction, than those that the data set's benchmark counts pixels in.
    grey_levels : float or None
        Grey levels per pixel of disparity in the data set's 8-bit maps, submitted ones included; None where maps hold fractions.
    largest_disparity : float or None
        Pixels; what the data set itself says, whatever `search` is.
    whole_truth : bool
        Whether the data set calls its truth accurate to whole pixels only.
    weight : float
        Of the scene in its benchmark's averages.
    """

    name: str
    frames: tuple[Frame, ...]
    reference_index: int = 0
    match_index: int = 1
    search: Search | None = None
    truths: Mapping[tuple[int, int], Callable[[], Disparity]] = field(default_factory=dict)
    masks: Mapping[str, Callable[[], Mask]] = field(default_factory=dict)
    calibration: Calibration | None = None
    border: int = 0
    protocol: str = "taxonomy2002"
    reduction: int = 1
    grey_levels: float | None = None
    largest_disparity: float | None = None
    whole_truth: bool = False
    weight: float = 1.0

    def __post_init__(self) -> None:
        for what in ("reference_index", "match_index"):
            if not 0 <= getattr(self, what) < len(self.frames):
                raise DataError(
                    f"scene {self.name}: {what} {getattr(self, what)} is not one of its frames 0..{len(self.frames) - 1}"
                )
        if self.frames[self.reference_index].position == self.frames[self.match_index].position:
            raise DataError(
                f"scene {self.name}: reference frame {self.reference_index} and match frame {self.match_index} have the same position"
            )
        if self.search is not None:
            object.__setattr__(self, "search", replace(self.search, direction=self.direction))

    @property
    def direction(self) -> int:
        """+1 when the match frame lies to the right of the reference frame, else -1."""
        return 1 if self.frames[self.match_index].position > self.frames[self.reference_index].position else -1

    @cached_property
    def reference(self) -> Image:
        """The reference image; read-only."""
        return self.image(self.reference_index)

    @cached_property
    def match(self) -> Image:
        """The match image, of the reference image's shape; read-only."""
        image = self.image(self.match_index)
        if image.shape != self.reference.shape:
            a, b = self.frames[self.reference_index], self.frames[self.match_index]
            raise DataError(
                f"scene {self.name}: {a.name} is {_size(self.reference)} and {b.name} is {_size(image)}; both images must be of one size"
            )
        return image

    def image(self, index: int) -> Image:
        """Frame `index` as an image; read-only, loaded once."""
        if index not in self._images:
            self._images[index] = self._load(index)
        return self._images[index]

    @cached_property
    def _images(self) -> dict[int, Image]:
        return {}

    def _load(self, index: int) -> Image:
        image = self.frames[index].load()
        if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3) or 0 in image.shape:
            raise DataError(
                f"scene {self.name}: {self.frames[index].name} has shape {image.shape}; expected (rows, columns[, 3])"
            )
        if image.dtype not in (np.uint8, np.float32):
            raise DataError(f"scene {self.name}: {self.frames[index].name} is {image.dtype}; expected uint8 or float32")
        if image.dtype == np.float32 and not np.isfinite(image).all():
            raise DataError(f"scene {self.name}: {self.frames[index].name} contains NaN or infinite intensities")
        return _read_only(image)

    @cached_property
    def truth(self) -> Disparity | None:
        """True disparities of the reference frame towards the match frame in pixels, NaN = unknown; None without truth."""
        return self._truth(self.reference_index, self.match_index)

    @cached_property
    def match_truth(self) -> Disparity | None:
        """True disparities of the match frame towards the reference frame in pixels, NaN = unknown; None where not known."""
        return self._truth(self.match_index, self.reference_index)

    def mask(self, name: str) -> Mask:
        """The mask `name` of the reference frame, bool ``(rows, columns)``.

        Raises
        ------
        DataError
            The scene has no such mask, or it has another shape than the images.
        """
        if name not in self.masks:
            raise DataError(f"scene {self.name}: no mask {name!r}; it has {', '.join(sorted(self.masks)) or 'none'}")
        mask = self.masks[name]()
        self._same_size(mask, f"mask {name}")
        return mask

    def pair(self, reference_index: int, match_index: int, search: Search | None = None) -> Scene:
        """The same sequence with another frame pair. Truth goes with its own pair, masks only with the present one; the border stays.

        Parameters
        ----------
        reference_index, match_index : int
            Frames to match.
        search : Search, optional
            Range of the new pair. Without it the present range is scaled by the ratio of the frame distances.
        """
        same = (reference_index, match_index) == (self.reference_index, self.match_index)
        pair = replace(
            self, reference_index=reference_index, match_index=match_index, search=search, masks=self.masks if same else {}
        )
        if search is not None or self.search is None:
            return pair
        scale = pair._distance / self._distance
        if scale == 1:
            return replace(pair, search=self.search)
        wide = Search(math.floor(self.search.minimum * scale), math.ceil(self.search.maximum * scale), self.search.step)
        return replace(pair, search=wide)

    @property
    def _distance(self) -> float:
        return abs(self.frames[self.match_index].position - self.frames[self.reference_index].position)

    def _truth(self, a: int, b: int) -> Disparity | None:
        if (a, b) not in self.truths:
            return None
        truth = self.truths[a, b]()
        self._same_size(truth, f"truth of {self.frames[a].name}")
        if not np.isfinite(truth).any():
            raise DataError(f"scene {self.name}: truth of {self.frames[a].name} holds no known disparity")
        return _read_only(truth)

    def _same_size(self, array: NDArray, what: str) -> None:
        if array.shape != self.reference.shape[:2]:
            raise DataError(f"scene {self.name}: {what} is {_size(array)}, its images are {_size(self.reference)}")


def _read_only(array: NDArray) -> NDArray:
    """A read-only view: the loader's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


def _size(array: NDArray) -> str:
    colours = " in colour" if array.ndim == 3 else ""
    return f"{array.shape[1]}x{array.shape[0]}{colours}"
