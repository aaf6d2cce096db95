"""Scenes: the frames, ground truth, masks and search range that a stereo method is run and measured on.

Conventions: images are ``(rows, columns)`` or ``(rows, columns, 3)`` in RGB order, uint8 or float32 with intensities
0..255. Disparities are float32 pixels between the reference and the match frame, larger = nearer, NaN = unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked, checked_fields, describe_value
from stereo_framework.core.errors import DataError
from stereo_framework.core.file_damage import collecting_damage
from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.frames import (
    Calibration,
    Disparity,
    Frame,
    Image,
    InMemory,
    Mask,
    intensities,
    load_into_memory,
    read_only,
    unmasked,
)
from stereo_framework.core.search import SearchArgument, SearchRange

EVALUATED = "evaluated"
"""The mask of a scene outside of which nothing is evaluated, whatever the protocol."""


_AN_IMAGE = "an image as an array; stereo_framework.datasets.pair_scene reads files"


@checked_fields(frames="a tuple of Frames, which Scene.from_images and pair_scene make")
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
    search : SearchRange or None
        Disparity range of the pair; its direction is taken from the frames.
    truths : mapping of (int, int) to callable
        Ground-truth loaders by frame pair: ``truths[2, 6]`` gives the disparities of frame 2 towards frame 6 in pixels.
    masks : mapping of str to callable
        Loaders of boolean masks of the reference frame, by name (``nonocc``). Outside the one called ``evaluated`` nothing is evaluated under any protocol.
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
    ranges : mapping of (int, int) to callable
        Loaders of disparity ranges of each pixel's own by frame pair, as for `truths`: smallest and largest disparity, two float32 maps in
        pixels, NaN = no limit.
    """

    name: str
    frames: tuple[Frame, ...]
    reference_index: int = 0
    match_index: int = 1
    search: SearchRange | None = None
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
    ranges: Mapping[tuple[int, int], Callable[[], tuple[Disparity, Disparity]]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self._check_index("reference_index", self.reference_index)
        self._check_index("match_index", self.match_index)
        if self.frames[self.reference_index].position == self.frames[self.match_index].position:
            raise self._fault(
                f"reference frame {self.reference_index} and match frame {self.match_index} have the same position"
            )
        if self.search is not None:
            object.__setattr__(self, "search", replace(self.search, direction=self.direction))

    def _check_index(self, name: str, index: int) -> None:
        """Refuse an index that no frame has."""
        if not 0 <= index < len(self.frames):
            raise self._fault(
                f"{name} {describe_value(index)} is not one of its frames 0..{len(self.frames) - 1}"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Scene, tuple(load_into_memory(getattr(self, f.name)) for f in fields(self))

    @staticmethod
    @checked(left=_AN_IMAGE, right=_AN_IMAGE)
    def from_images(
        left: Image,
        right: Image,
        disparities: SearchArgument | None = None,
        *,
        name: str = "images",
        truth: Disparity | None = None,
        left_mask: Mask | None = None,
        right_mask: Mask | None = None,
        low: Disparity | None = None,
        high: Disparity | None = None,
    ) -> Scene:
        """A scene of two images in memory; the left one is the reference. `stereo_framework.datasets.pair_scene` takes files.

        Parameters
        ----------
        left, right : ndarray, uint8, uint16 or float, (rows, columns) or (rows, columns, 3)
            Intensities 0..255, those of 16 bits are divided by 257; NaN = no data.
        disparities : (float, float) or SearchRange, optional
            Smallest and largest disparity in pixels, both included.
        name : str
        truth : ndarray, float32, (rows, columns), optional
            True disparities of the left image in pixels, NaN = unknown.
        left_mask, right_mask : ndarray, bool, (rows, columns), optional
            True where the image holds data. What it does not hold gets no estimate and takes part in nothing.
        low, high : ndarray, float32, (rows, columns), optional
            Smallest and largest disparity of each pixel of the left image in pixels, both included, NaN = no limit.

        Raises
        ------
        ParameterError
            An argument is no array. The images are checked when they are first used.

        Examples
        --------
        >>> import numpy as np
        >>> image = np.zeros((4, 9), np.float32)
        >>> image[1, 2] = np.nan
        >>> int(Scene.from_images(image, np.zeros_like(image), (0, 3)).valid(0).sum())
        35
        """
        optional = {
            "truth": truth,
            "left_mask": left_mask,
            "right_mask": right_mask,
            "low": low,
            "high": high,
        }
        arrays = {"left": left, "right": right} | {
            what: array for what, array in optional.items() if array is not None
        }
        limits = [arrays[what] for what in ("low", "high") if what in arrays]
        nothing = np.full_like(limits[0], np.nan) if limits else None
        frames = (
            Frame("left", InMemory(left), 0, None if left_mask is None else InMemory(left_mask)),
            Frame(
                "right", InMemory(right), 1, None if right_mask is None else InMemory(right_mask)
            ),
        )
        return Scene(
            name,
            frames,
            search=None if disparities is None else SearchRange.of(disparities),
            truths={} if truth is None else {(0, 1): InMemory(truth)},
            ranges={
                (0, 1): InMemory(
                    (nothing if low is None else low, nothing if high is None else high)
                )
            }
            if limits
            else {},
        )

    def __repr__(self) -> str:
        truth = (
            "with truth"
            if (self.reference_index, self.match_index) in self.truths
            else "without truth"
        )
        searched = f"search {self.search}" if self.search else "no search range"
        return f"Scene({self.name!r}, {len(self.frames)} frames, {searched}, {truth})"

    @property
    def direction(self) -> int:
        """+1 when the match frame lies to the right of the reference frame, else -1."""
        return (
            1
            if self.frames[self.match_index].position > self.frames[self.reference_index].position
            else -1
        )

    @cached_property
    def reference(self) -> Image:
        """The reference image; read-only."""
        return self.image(self.reference_index)

    @cached_property
    def match(self) -> Image:
        """The match image, of the reference image's shape; read-only."""
        image = self.image(self.match_index)
        if image.shape != self.reference.shape:
            alike = image.shape[:2] == self.reference.shape[:2]
            raise self._fault(
                self._apart(
                    _size, f"both images must be {'grey or in colour' if alike else 'of one size'}"
                )
            )
        if image.dtype != self.reference.dtype:
            kinds = {"uint8": "of 8 bits", "float32": "of 16 bits or floats"}
            raise self._fault(
                self._apart(
                    lambda i: kinds.get(str(i.dtype), str(i.dtype)), "save both with as many bits"
                )
            )
        return image

    def _apart(self, told: Callable[[Image], str], cure: str) -> str:
        """In what the two images differ, with the names of their files."""
        parts = (
            f"{self.frames[i].name} is {told(self.image(i))}"
            for i in (self.reference_index, self.match_index)
        )
        return f"{' and '.join(parts)}; {cure}"

    @checked()
    def image(self, index: int) -> Image:
        """Frame `index` as an image; read-only, loaded once.

        Pixels that hold no data have the intensity of the nearest one in their row that does, 0 in a row without any.
        """
        self._check_index("index", index)
        return self._loaded(index)[0]

    @checked()
    def valid(self, index: int) -> Mask | None:
        """The pixels of frame `index` that hold data, bool ``(rows, columns)``, read-only; None where all do."""
        self._check_index("index", index)
        return self._loaded(index)[1]

    @checked()
    def range(
        self, reference_index: int, match_index: int
    ) -> tuple[Disparity | None, Disparity | None]:
        """Smallest and largest disparity of each pixel of a frame towards another in pixels, NaN = no limit; None where not given."""
        if (reference_index, match_index) not in self.ranges:
            return None, None
        given = zip(
            ("smallest", "largest"), self.ranges[reference_index, match_index](), strict=True
        )
        low, high = (
            self._map(f"the map of {which} disparities", limits, np.float32)
            for which, limits in given
        )
        if (low > high).any():
            y, x = np.argwhere(low > high)[0]
            raise self._fault(
                f"the smallest disparity at row {y}, column {x} is {low[y, x]:g}, above the largest, {high[y, x]:g}"
            )
        return read_only(low), read_only(high)

    def _loaded(self, index: int) -> tuple[Image, Mask | None]:
        if index not in self._images:
            with collecting_damage() as messages:
                loaded = self._load(index)
            self._damage_messages[index] = tuple(messages)
            name, load = self.frames[index].name, self.frames[index].valid
            # The intensities keep their type, as those of the other image do.
            image: Image = np.ma.getdata(loaded)  # type: ignore[assignment]
            missing = (
                np.isnan(image) if image.dtype == np.float32 else np.zeros(image.shape[:2], bool)
            )
            if isinstance(loaded, np.ma.MaskedArray):
                missing = np.ma.getmaskarray(loaded) | np.isnan(image)
            valid: Mask = np.logical_not(missing.reshape(*image.shape[:2], -1).any(axis=2))
            given = None if load is None else unmasked("mask", load())
            if given is not None:
                if given.shape != valid.shape or given.dtype != bool:
                    raise self._fault(
                        f"the mask of {name} is {given.dtype} {given.shape}; expected bool {valid.shape}"
                    )
                valid &= given
            if not valid.any():
                raise self._fault(f"{name} has no valid pixel")
            if valid.all():
                self._images[index] = read_only(image), None
            else:
                # On use: it brings numba, which shells that complete names of scenes do not wait for.
                from stereo_framework.kernels.filling import fill_invalid

                self._images[index] = read_only(fill_invalid(image, valid)), read_only(valid)
        return self._images[index]

    @cached_property
    def _images(self) -> dict[int, tuple[Image, Mask | None]]:
        return {}

    @property
    def damage(self) -> tuple[str, ...]:
        """Messages about damage in the files of the two images, as far as they are loaded."""
        pair = (self.reference_index, self.match_index)
        return tuple(message for index in pair for message in self._damage_messages.get(index, ()))

    @cached_property
    def _damage_messages(self) -> dict[int, tuple[str, ...]]:
        return {}

    def _load(self, index: int) -> Image:
        image, name = intensities(self.frames[index].load()), self.frames[index].name
        if image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)) or 0 in image.shape:
            raise self._fault(f"{name} has shape {image.shape}; expected (rows, columns[, 3])")
        if image.dtype not in (np.uint8, np.float32):
            raise self._fault(f"{name} is {image.dtype}; expected uint8 or float32")
        if image.dtype == np.float32 and np.isinf(image).any():
            raise self._fault(
                f"{name} contains infinite intensities; NaN marks pixels without data"
            )
        return image

    @cached_property
    def truth(self) -> Disparity | None:
        """True disparities of the reference frame towards the match frame in pixels, NaN = unknown; None without truth."""
        return self._truth(self.reference_index, self.match_index)

    @cached_property
    def match_truth(self) -> Disparity | None:
        """True disparities of the match frame towards the reference frame in pixels, NaN = unknown; None where not known."""
        return self._truth(self.match_index, self.reference_index)

    def forget(self) -> None:
        """Let go of all that was loaded; it is loaded again when it is asked for."""
        for name in ("reference", "match", "truth", "match_truth", "_images"):
            self.__dict__.pop(name, None)

    @checked()
    def mask(self, name: str) -> Mask:
        """The mask `name` of the reference frame, bool ``(rows, columns)``.

        Raises
        ------
        DataError
            The scene has no such mask, or it has another shape than the images.
        """
        if name not in self.masks:
            raise self._fault(f"no mask {name!r}; it has {', '.join(sorted(self.masks)) or 'none'}")
        what = "the mask of evaluated pixels" if name == EVALUATED else f"mask {name}"
        return self._map(what, self.masks[name](), bool, ", such as mask == 255")

    @property
    def evaluated(self) -> Mask | None:
        """The mask outside of which nothing is evaluated, bool ``(rows, columns)``; None: everything is."""
        return self.mask(EVALUATED) if EVALUATED in self.masks else None

    @checked()
    def within(self, mask: Mask) -> Scene:
        """The same scene, of which only the pixels are evaluated where a mask, bool ``(rows, columns)``, is True, and its own mask, if it has one, too."""
        inside, own = replace(self, masks={**self.masks, EVALUATED: lambda: mask}), self.evaluated
        inside._images.update(self._images)
        inside._damage_messages.update(self._damage_messages)
        return (
            inside
            if own is None
            else replace(
                self, masks={**self.masks, EVALUATED: lambda: inside.mask(EVALUATED) & own}
            )
        )

    @checked()
    def pair(
        self, reference_index: int, match_index: int, search: SearchRange | None = None
    ) -> Scene:
        """The same sequence with another frame pair. Truth goes with its own pair, masks and the stand-in only with the present one; the border stays.

        Parameters
        ----------
        reference_index, match_index : int
            Frames to match.
        search : SearchRange, optional
            Range of the new pair. Without it the present range is scaled by the ratio of the frame distances.
        """
        same = (reference_index, match_index) == (self.reference_index, self.match_index)
        masks = self.masks if same else {}
        pair = replace(
            self,
            reference_index=reference_index,
            match_index=match_index,
            search=search,
            masks=masks,
        )
        if search is None and self.search is not None:
            pair = replace(pair, search=self.search.scaled(pair._distance / self._distance))
        # The frames are the same; what was loaded need not be again.
        pair._images.update(self._images)
        pair._damage_messages.update(self._damage_messages)
        return pair

    @property
    def _distance(self) -> float:
        return abs(
            self.frames[self.match_index].position - self.frames[self.reference_index].position
        )

    def _truth(self, a: int, b: int) -> Disparity | None:
        if (a, b) not in self.truths:
            return None
        truth = self._map(f"truth of {self.frames[a].name}", self.truths[a, b]())
        if not np.isfinite(truth).any():
            raise self._fault(f"truth of {self.frames[a].name} holds no known disparity")
        return read_only(truth)

    def _fault(self, said: str) -> DataError:
        return DataError(f"scene {self.name}: {said}")

    def _map(self, what: str, array: NDArray, dtype: Any = None, such: str = "") -> NDArray:
        """A map of the scene's, of its images' size and, where one is asked for, of a type."""
        found: NDArray = unmasked(what, array)
        if found.shape != self.reference.shape[:2]:
            raise self._fault(f"{what} is {_size(found)}, its images are {_size(self.reference)}")
        if dtype is not None and found.dtype != dtype:
            raise self._fault(f"{what} is {found.dtype}; expected {np.dtype(dtype)}{such}")
        return found


def intensity_scale_warning(image: Image) -> str:
    """What is doubtful about the scale of an image's intensities; empty if nothing is."""
    if image.dtype == np.float32 and 0 < (largest := float(np.nanmax(image))) <= 1:
        return f"intensities up to {largest:.3g}, where 0 to 255 are expected: multiply the images by 255 (match --stretch spreads them); what counts in grey levels is wrong"
    return ""


def inside_border(shape: tuple[int, ...], border: int) -> Mask:
    """The pixels that lie `border` pixels or more from all four sides, bool ``(rows, columns)``."""
    rows, columns = shape[:2]
    inside = np.zeros((rows, columns), bool)
    inside[border : max(rows - border, 0), border : max(columns - border, 0)] = True
    return inside


def _size(array: NDArray) -> str:
    """Return columns and rows of an image or map; for any other array, its shape."""
    if array.ndim < 2:
        return f"an array of shape {array.shape}"
    colours = " in colour" if array.ndim == 3 else ""
    return f"{array.shape[1]}x{array.shape[0]}{colours}"


report_attributes_of_module(__name__)
