"""Scenes: the images, ground truth, masks and search range of a stereo problem.

Images have the shape ``(rows, columns)`` or ``(rows, columns, 3)``, in RGB order.
Intensities are uint8 or float32, from 0 to 255. Disparities are float32, in pixels. A
larger disparity means a nearer point. NaN means an unknown disparity.
"""

from __future__ import annotations

import contextlib
import functools
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
from stereo_framework.core.other_frames import OtherFrame, baseline_fault
from stereo_framework.core.search import SearchArgument, SearchRange

EVALUATED = "evaluated"
"""Name of the mask of the evaluated pixels, for all protocols."""

_AN_IMAGE = "an image as an array; stereo_framework.datasets.pair_scene reads files"


@checked_fields(frames="a tuple of Frames, which Scene.from_images and pair_scene make")
@dataclass(frozen=True, eq=False)
class Scene:
    """A sequence of rectified images with ground truth, masks and a search range.

    Images, ground truth and masks are loaded from files at their first use.

    Parameters
    ----------
    name : str
        Name of the scene, such as ``middlebury2001/tsukuba``.
    frames : tuple of Frame
        Images of the sequence, in any order. The cameras are ordered by
        `Frame.position`.
    reference_index, match_index : int
        Indices of the two matched images in `frames`.
    search : SearchRange or None
        Search range of the two matched images. The direction is computed from the
        positions of the two frames.
    truths : mapping of (int, int) to callable
        Functions that load ground truth, by frame pair. For example, ``truths[2, 6]()``
        returns the disparities of frame 2 towards frame 6, in pixels.
    masks : mapping of str to callable
        Functions that load boolean masks of the reference frame, by name, such as
        ``nonocc``. The optional mask ``evaluated`` contains the evaluated pixels.
    calibration : Calibration or None
        Calibration of the cameras.
    border : int
        Width of the image border without evaluation, in pixels.
    protocol : str
        Name of the default evaluation protocol.
    reduction : int
        Reduction of the images compared to the benchmark. For example, 2 means half the
        width and half the height.
    grey_levels : float or None
        Scale of the 8-bit disparity maps of the data set, in grey levels per pixel of
        disparity. None if the data set has no such maps.
    largest_disparity : float or None
        Largest disparity according to the documentation of the data set, in pixels.
    whole_truth : bool
        True if the ground truth is accurate only to whole pixels.
    weight : float
        Weight of the scene in the averages of the benchmark.
    ranges : mapping of (int, int) to callable
        Functions that load a search range for each pixel, by frame pair. Each function
        returns two float32 maps: the smallest and the largest disparities, in pixels.
        NaN means no limit.
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
        if self._reference_frame.position == self._match_frame.position:
            message = (
                f"reference frame {self.reference_index} and match frame {self.match_index} "
                "have the same position"
            )
            raise self._error(message)
        if self.search is not None:
            object.__setattr__(self, "search", replace(self.search, direction=self.direction))

    def _check_index(self, name: str, index: int) -> None:
        """Raise an error if no frame has this index."""
        if not 0 <= index < len(self.frames):
            last = len(self.frames) - 1
            message = f"{name} {describe_value(index)} is not one of its frames 0..{last}"
            raise self._error(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Data are loaded before they are pickled, because lambdas cannot be pickled.
        names = [attribute.name for attribute in fields(self)]
        return Scene, tuple(load_into_memory(getattr(self, name)) for name in names)

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
        """Return a scene of two images in memory; the left one is the reference image.

        For images in files, use `stereo_framework.datasets.pair_scene`.

        Parameters
        ----------
        left, right : ndarray, uint8, uint16 or float, (rows, columns[, 3])
            Images with intensities from 0 to 255. Intensities of uint16 images are
            divided by 257. In float images, NaN marks pixels without data.
        disparities : (float, float) or SearchRange, optional
            Search range, or its smallest and largest disparity, in pixels.
        name : str
            Name of the scene.
        truth : ndarray, float32, (rows, columns), optional
            True disparities of the left image, in pixels. NaN means unknown.
        left_mask, right_mask : ndarray, bool, (rows, columns), optional
            Masks that are True at pixels with data. Pixels without data get no estimate
            and do not affect their neighbours.
        low, high : ndarray, float32, (rows, columns), optional
            Limits of the search range of each left pixel, in pixels. NaN means no
            limit.

        Raises
        ------
        ParameterError
            An argument is not an array. The contents of arrays are checked at their
            first use.

        Examples
        --------
        >>> import numpy as np
        >>> image = np.zeros((4, 9), np.float32)
        >>> image[1, 2] = np.nan
        >>> int(Scene.from_images(image, np.zeros_like(image), (0, 3)).valid(0).sum())
        35
        """
        left_valid = None if left_mask is None else InMemory(left_mask)
        right_valid = None if right_mask is None else InMemory(right_mask)
        truths = {}
        if truth is not None:
            truths[0, 1] = InMemory(truth)
        ranges = {}
        if low is not None or high is not None:
            no_limit = np.full(np.shape(left)[:2], np.nan, np.float32)
            lowest = no_limit if low is None else low
            highest = no_limit if high is None else high
            ranges[0, 1] = InMemory((lowest, highest))
        return Scene(
            name,
            frames=(
                Frame("left", InMemory(left), 0, left_valid),
                Frame("right", InMemory(right), 1, right_valid),
            ),
            search=None if disparities is None else SearchRange.of(disparities),
            truths=truths,
            ranges=ranges,
        )

    def __repr__(self) -> str:
        has_truth = (self.reference_index, self.match_index) in self.truths
        parts = [
            repr(self.name),
            f"{len(self.frames)} frames",
            f"search {self.search}" if self.search else "no search range",
            "with truth" if has_truth else "without truth",
        ]
        return f"Scene({', '.join(parts)})"

    @property
    def _reference_frame(self) -> Frame:
        return self.frames[self.reference_index]

    @property
    def _match_frame(self) -> Frame:
        return self.frames[self.match_index]

    @property
    def direction(self) -> int:
        """Return 1 if the match camera is right of the reference camera, else -1."""
        return 1 if self._match_frame.position > self._reference_frame.position else -1

    @cached_property
    def reference(self) -> Image:
        """Return the reference image as a read-only array."""
        return self.image(self.reference_index)

    @cached_property
    def match(self) -> Image:
        """Return the match image as a read-only array.

        Raises
        ------
        DataError
            The two images differ in size, in type or in the number of channels.
        """
        image = self.image(self.match_index)
        if image.shape[:2] != self.reference.shape[:2]:
            raise self._difference(_size, "both images must have the same size")
        if image.shape != self.reference.shape:
            raise self._difference(_size, "both images must be grey, or both must be in colour")
        if image.dtype != self.reference.dtype:
            raise self._difference(_bits, "save both with the same number of bits")
        return image

    def _difference(self, describe: Callable[[Image], str], remedy: str) -> DataError:
        """Return an error about two images of different sizes or types.

        Parameters
        ----------
        describe : callable
            Function that describes an image, for example by ``640x480``.
        remedy : str
            Last part of the message.
        """
        reference = f"{self._reference_frame.name} is {describe(self.reference)}"
        match = f"{self._match_frame.name} is {describe(self.image(self.match_index))}"
        return self._error(f"{reference} and {match}; {remedy}")

    @checked()
    def image(self, index: int) -> Image:
        """Return the image of a frame as a read-only array.

        A pixel without data gets the intensity of the nearest valid pixel in its row.
        If the row has no valid pixel, the intensity is 0.
        """
        self._check_index("index", index)
        return self._image_and_mask(index)[0]

    @property
    def other_frames(self) -> tuple[OtherFrame, ...]:
        """Return all frames but the reference frame and the match frame.

        The images are loaded when they are read. They have the order of the scene.

        Raises
        ------
        DataError
            The camera of a frame is more than 1000 baselines away from the pair.
        """
        origin = self._reference_frame
        baseline = self._match_frame.position - origin.position
        match_time = self._match_frame.time - origin.time
        frames = []
        for index, frame in enumerate(self.frames):
            if index in (self.reference_index, self.match_index):
                continue
            share = (frame.position - origin.position) / baseline
            if fault := baseline_fault(share):
                raise self._error(f"{frame.name}: {fault}")
            load = functools.partial(self.image, index)
            time = frame.time - origin.time
            # The name begins like all error messages of the scene.
            name = f"scene {self.name}: {frame.name}"
            frames.append(OtherFrame(load, share, time, match_time, name))
        return tuple(frames)

    @checked()
    def valid(self, index: int) -> Mask | None:
        """Return a read-only mask of the pixels with data in a frame.

        Returns
        -------
        ndarray, bool, (rows, columns), or None
            None if all pixels contain data.
        """
        self._check_index("index", index)
        return self._image_and_mask(index)[1]

    @checked()
    def range(
        self, reference_index: int, match_index: int
    ) -> tuple[Disparity | None, Disparity | None]:
        """Return the search range of each pixel.

        Parameters
        ----------
        reference_index, match_index : int
            Indices of the two frames. The limits belong to the pixels of the first
            frame.

        Returns
        -------
        low, high : ndarray, float32, (rows, columns), or None
            Smallest and largest disparities, in pixels, as read-only arrays. NaN means
            no limit. None if the scene has no limits for this pair of frames.

        Raises
        ------
        DataError
            A map has a wrong size or type. A smallest disparity exceeds the largest
            disparity of the pixel.
        """
        load = self.ranges.get((reference_index, match_index))
        if load is None:
            return None, None
        lowest, highest = load()
        low = self._checked_map("the map of smallest disparities", lowest, np.float32)
        high = self._checked_map("the map of largest disparities", highest, np.float32)
        if (low > high).any():
            y, x = np.argwhere(low > high)[0]
            message = (
                f"the smallest disparity at row {y}, column {x} is {low[y, x]:g}, "
                f"above the largest, {high[y, x]:g}"
            )
            raise self._error(message)
        return read_only(low), read_only(high)

    def _image_and_mask(self, index: int) -> tuple[Image, Mask | None]:
        """Return the image and the mask of a frame. The first call loads both."""
        if index not in self._images:
            with collecting_damage() as messages:
                image = self._load(index)
            self._damage_messages[index] = tuple(messages)
            self._images[index] = self._filled(index, image)
        return self._images[index]

    def _load(self, index: int) -> Image:
        """Load the image of a frame from its file, and check its shape and intensities.

        Returns
        -------
        ndarray, uint8 or float32
            Plain or masked array, possibly with NaN.
        """
        name = self.frames[index].name
        image = intensities(self.frames[index].load())
        if image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)) or 0 in image.shape:
            message = f"{name} has shape {image.shape}; expected (rows, columns[, 3])"
            raise self._error(message)
        if image.dtype not in (np.uint8, np.float32):
            raise self._error(f"{name} is {image.dtype}; expected uint8 or float32")
        if image.dtype == np.float32 and np.isinf(image).any():
            message = f"{name} contains infinite intensities; NaN marks pixels without data"
            raise self._error(message)
        return image

    def _filled(self, index: int, image: Image) -> tuple[Image, Mask | None]:
        """Fill pixels without data with intensities from the same row.

        Returns
        -------
        image : ndarray, uint8 or float32
            Filled image as a read-only array of the same type.
        valid : ndarray, bool, or None
            Mask of the pixels with data. None if all pixels contain data.
        """
        frame = self.frames[index]
        valid = _pixels_with_data(image)
        mask = None if frame.valid is None else unmasked("mask", frame.valid())
        if mask is not None:
            if mask.shape != valid.shape or mask.dtype != bool:
                message = (
                    f"the mask of {frame.name} is {mask.dtype} {mask.shape}; "
                    f"expected bool {valid.shape}"
                )
                raise self._error(message)
            valid &= mask
        if not valid.any():
            raise self._error(f"{frame.name} has no valid pixel")

        # The filled image keeps its type, because both images of a pair must have one
        # type.
        plain_image: Image = np.ma.getdata(image)  # type: ignore[assignment]
        if valid.all():
            return read_only(plain_image), None
        # The import of numba is slow. Tab completion of scene names does not need
        # numba.
        from stereo_framework.kernels.filling import fill_invalid

        return read_only(fill_invalid(plain_image, valid)), read_only(valid)

    @cached_property
    def _images(self) -> dict[int, tuple[Image, Mask | None]]:
        """Return the loaded images and masks by frame index."""
        return {}

    @property
    def damage(self) -> tuple[str, ...]:
        """Return messages about damage in the files of the two matched images.

        Damage is found only when an image is loaded.
        """
        messages_of_reference = self._damage_messages.get(self.reference_index, ())
        messages_of_match = self._damage_messages.get(self.match_index, ())
        return (*messages_of_reference, *messages_of_match)

    @property
    def damage_of_other_frames(self) -> tuple[str, ...]:
        """Return messages about damage in the files of all other frames.

        The property loads these frames, because a worker process may have matched them.
        Frames that cannot be loaded are left out, because a method that reads such a
        frame has no result.
        """
        messages: list[str] = []
        for index in range(len(self.frames)):
            if index in (self.reference_index, self.match_index):
                continue
            # A function of a user may load the frame, and may raise anything.
            with contextlib.suppress(Exception):
                if index not in self._damage_messages:
                    self._image_and_mask(index)
                messages += self._damage_messages[index]
        return tuple(messages)

    @cached_property
    def _damage_messages(self) -> dict[int, tuple[str, ...]]:
        """Return messages about damaged image files by frame index."""
        return {}

    @cached_property
    def truth(self) -> Disparity | None:
        """Return the true disparities of the reference image towards the match image.

        Returns
        -------
        ndarray, float32, (rows, columns), or None
            True disparities in pixels, as a read-only array. NaN means unknown. None if
            there is no ground truth for the reference image.
        """
        return self._load_truth(self.reference_index, self.match_index)

    @cached_property
    def match_truth(self) -> Disparity | None:
        """Return the true disparities of the match image towards the reference image.

        Returns
        -------
        ndarray, float32, (rows, columns), or None
            True disparities in pixels, as a read-only array. NaN means unknown. None if
            there is no ground truth for the match image.
        """
        return self._load_truth(self.match_index, self.reference_index)

    def _load_truth(self, reference_index: int, match_index: int) -> Disparity | None:
        """Load the ground truth for two frames."""
        load = self.truths.get((reference_index, match_index))
        if load is None:
            return None
        label = f"truth of {self.frames[reference_index].name}"
        truth = self._checked_map(label, load())
        if not np.isfinite(truth).any():
            raise self._error(f"{label} contains no known disparity")
        return read_only(truth)

    def forget(self) -> None:
        """Release loaded images and ground truth from memory."""
        for name in ("reference", "match", "truth", "match_truth", "_images"):
            self.__dict__.pop(name, None)

    @checked()
    def mask(self, name: str) -> Mask:
        """Return a mask of the reference image by name, bool ``(rows, columns)``.

        Raises
        ------
        DataError
            The scene has no mask of this name. The mask has a wrong size or type.
        """
        if name not in self.masks:
            names = ", ".join(sorted(self.masks)) or "none"
            raise self._error(f"no mask {name!r}; it has {names}")
        label = "the mask of evaluated pixels" if name == EVALUATED else f"mask {name}"
        return self._checked_map(label, self.masks[name](), bool, ", such as mask == 255")

    @property
    def evaluated(self) -> Mask | None:
        """Return the mask of the evaluated pixels, or None for all pixels."""
        return self.mask(EVALUATED) if EVALUATED in self.masks else None

    @checked()
    def within(self, mask: Mask) -> Scene:
        """Return a copy of the scene with fewer evaluated pixels.

        Parameters
        ----------
        mask : ndarray, bool, (rows, columns)
            True at the evaluated pixels. Pixels outside the previous mask are never
            evaluated.
        """
        # Loading the present mask loads the reference image, which the copy then
        # shares.
        current_mask = self.evaluated
        restricted = self._with_evaluated(lambda: mask)
        if current_mask is None:
            return restricted
        # The method `mask` also checks the size and the type of the new mask.
        return self._with_evaluated(lambda: restricted.mask(EVALUATED) & current_mask)

    def _with_evaluated(self, load: Callable[[], Mask]) -> Scene:
        """Return a copy of the scene with a new mask of evaluated pixels."""
        scene = replace(self, masks={**self.masks, EVALUATED: load})
        self._share_images(scene)
        return scene

    @checked()
    def pair(
        self, reference_index: int, match_index: int, search: SearchRange | None = None
    ) -> Scene:
        """Return a copy of the scene that matches two other frames of the sequence.

        The copy keeps the border, and the ground truth of all frame pairs. Masks are
        removed unless both indices stay the same.

        Parameters
        ----------
        reference_index, match_index : int
            Indices of the new reference frame and the new match frame.
        search : SearchRange, optional
            Search range of the new frames. Default: the search range of the scene,
            scaled by the ratio of the camera distances.
        """
        has_same_frames = (reference_index, match_index) == (
            self.reference_index,
            self.match_index,
        )
        pair = replace(
            self,
            reference_index=reference_index,
            match_index=match_index,
            search=search,
            masks=self.masks if has_same_frames else {},
        )
        if search is None and self.search is not None:
            pair = replace(pair, search=self.search.scaled(pair._distance / self._distance))
        self._share_images(pair)
        return pair

    def _share_images(self, scene: Scene) -> None:
        """Copy loaded images to another scene."""
        scene._images.update(self._images)
        scene._damage_messages.update(self._damage_messages)

    @property
    def _distance(self) -> float:
        """Return the distance between the cameras of the two matched frames."""
        return abs(self._match_frame.position - self._reference_frame.position)

    def _error(self, message: str) -> DataError:
        """Return an error whose message names the scene."""
        return DataError(f"scene {self.name}: {message}")

    def _checked_map(
        self, label: str, loaded: NDArray, dtype: Any = None, example: str = ""
    ) -> NDArray:
        """Check the size and type of a loaded map, and return it as a plain array.

        Parameters
        ----------
        label : str
            Name of the map, for error messages.
        loaded : ndarray
            Plain or masked array with a value for each pixel.
        dtype : type, optional
            Required type. Default: every type is allowed.
        example : str
            Example for the message about a wrong type.
        """
        plain_map: NDArray = unmasked(label, loaded)
        if plain_map.shape != self.reference.shape[:2]:
            size_of_images = _size(self.reference)
            raise self._error(f"{label} is {_size(plain_map)}, but the images are {size_of_images}")
        if dtype is not None and plain_map.dtype != dtype:
            expected = f"{np.dtype(dtype)}{example}"
            raise self._error(f"{label} is {plain_map.dtype}; expected {expected}")
        return plain_map


def _pixels_with_data(image: Image) -> Mask:
    """Return the mask of the pixels with data in all colour channels."""
    if isinstance(image, np.ma.MaskedArray):
        is_missing = np.ma.getmaskarray(image) | np.isnan(np.ma.getdata(image))
    elif image.dtype == np.float32:
        is_missing = np.isnan(image)
    else:
        is_missing = np.zeros(image.shape[:2], bool)
    channels = is_missing.reshape(*image.shape[:2], -1)
    valid: Mask = np.logical_not(channels.any(axis=2))
    return valid


def intensity_scale_warning(image: Image) -> str:
    """Return a warning if intensities seem to range from 0 to 1."""
    if image.dtype != np.float32:
        return ""
    largest = float(np.nanmax(image))
    if not 0 < largest <= 1:
        return ""
    return (
        f"intensities up to {largest:.3g}, where 0 to 255 are expected; multiply the images by "
        "255, or use match --stretch; otherwise parameters in grey levels are too large"
    )


def inside_border(shape: tuple[int, ...], border: int) -> Mask:
    """Return a mask of all pixels except the image border.

    Parameters
    ----------
    shape : tuple of int
        Shape of an image.
    border : int
        Width of the border, in pixels.

    Returns
    -------
    ndarray, bool, (rows, columns)
    """
    rows, columns = shape[:2]
    inside = np.zeros((rows, columns), bool)
    inside[border : max(rows - border, 0), border : max(columns - border, 0)] = True
    return inside


def _bits(image: Image) -> str:
    """Describe the bits per intensity of an image, such as ``of 8 bits``."""
    return "of 8 bits" if image.dtype == np.uint8 else "of 16 bits or floats"


def _size(array: NDArray) -> str:
    """Describe the size of an image or a map, such as ``640x480``."""
    if array.ndim < 2:
        return f"an array of shape {array.shape}"
    size = f"{array.shape[1]}x{array.shape[0]}"
    return f"{size} in colour" if array.ndim == 3 else size


report_attributes_of_module(__name__)
