"""Scenes: the images, ground truth, masks and search range of a stereo problem.

Conventions: images are ``(rows, columns)`` or ``(rows, columns, 3)`` in RGB order,
uint8 or float32, with intensities 0..255. Disparities are float32, in pixels, between
the reference frame and the match frame. A larger disparity means a nearer point, and
NaN means that the disparity is unknown.
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
"""Name of the mask of the pixels that are evaluated, under every protocol."""

_AN_IMAGE = "an image as an array; stereo_framework.datasets.pair_scene reads files"


@checked_fields(frames="a tuple of Frames, which Scene.from_images and pair_scene make")
@dataclass(frozen=True, eq=False)
class Scene:
    """A rectified sequence with its ground truth, masks, calibration and search range.

    Images, ground truth and masks are loaded when they are used for the first time.

    Parameters
    ----------
    name : str
        Name in the form of a path, such as ``middlebury2001/tsukuba``.
    frames : tuple of Frame
        Frames in any order. Their positions on the baseline define the order of the
        cameras.
    reference_index, match_index : int
        Indices of the frames that are matched.
    search : SearchRange or None
        Search range of the pair. Its direction is computed from the frames.
    truths : mapping of (int, int) to callable
        Loaders of ground truth by frame pair: ``truths[2, 6]`` returns the disparities
        of frame 2 towards frame 6 in pixels.
    masks : mapping of str to callable
        Loaders of boolean masks of the reference frame by name, such as ``nonocc``. If
        there is a mask ``evaluated``, only its pixels are evaluated, under every
        protocol.
    calibration : Calibration or None
        Calibration of the cameras.
    border : int
        Width in pixels of a border on all four sides that is not evaluated.
    protocol : str
        Name of the evaluation protocol that applies if a script names no other one.
    reduction : int
        Factor by which the images are smaller, in each direction, than the images of
        the data set's benchmark.
    grey_levels : float or None
        Grey levels per pixel of disparity in 8-bit disparity maps of the data set,
        including submitted ones. None if its disparity maps contain fractions.
    largest_disparity : float or None
        Largest disparity in pixels that the data set documents. It does not depend on
        `search`.
    whole_truth : bool
        Whether the data set documents that its ground truth is accurate only to whole
        pixels.
    weight : float
        Weight of the scene in averages of its benchmark.
    ranges : mapping of (int, int) to callable
        Loaders of search ranges per pixel, by frame pair as in `truths`: smallest and
        largest disparity, two float32 maps in pixels, NaN = no limit.
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
        """Refuse an index that no frame has."""
        if not 0 <= index < len(self.frames):
            last = len(self.frames) - 1
            message = f"{name} {describe_value(index)} is not one of its frames 0..{last}"
            raise self._error(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Loaders may be lambdas, which cannot be pickled. Therefore the data are
        # loaded.
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
        """Return a scene of two images in memory, of which the left is the reference.

        Use `stereo_framework.datasets.pair_scene` for files.

        Parameters
        ----------
        left, right : ndarray, uint8, uint16 or float, (rows, columns[, 3])
            Images with intensities 0..255. Intensities of uint16 are divided by 257.
            NaN marks pixels without data.
        disparities : (float, float) or SearchRange, optional
            Search range, or its smallest and largest disparity in pixels.
        name : str
            Name of the scene.
        truth : ndarray, float32, (rows, columns), optional
            Ground truth of the left image in pixels, NaN = unknown.
        left_mask, right_mask : ndarray, bool, (rows, columns), optional
            Masks of the pixels that contain data. Other pixels get no estimate and have
            no influence on the estimates of their neighbours.
        low, high : ndarray, float32, (rows, columns), optional
            Smallest and largest disparity that is tried at each pixel of the left
            image, in pixels, NaN = no limit.

        Raises
        ------
        ParameterError
            An argument is not an array. The content of the arrays is checked when they
            are used for the first time.

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
        """Return 1 if the match frame lies right of the reference frame, or -1."""
        return 1 if self._match_frame.position > self._reference_frame.position else -1

    @cached_property
    def reference(self) -> Image:
        """Return the reference image, read-only."""
        return self.image(self.reference_index)

    @cached_property
    def match(self) -> Image:
        """Return the match image, read-only.

        Raises
        ------
        DataError
            The match image differs from the reference image in its size, in its number
            of channels or in its type.
        """
        image = self.image(self.match_index)
        if image.shape[:2] != self.reference.shape[:2]:
            raise self._difference(_size, "both images must be of one size")
        if image.shape != self.reference.shape:
            raise self._difference(_size, "both images must be grey or in colour")
        if image.dtype != self.reference.dtype:
            raise self._difference(_bits, "save both with as many bits")
        return image

    def _difference(self, describe: Callable[[Image], str], remedy: str) -> DataError:
        """Return an error about a difference of the two images.

        Parameters
        ----------
        describe : callable
            Returns the differing property of an image.
        remedy : str
            Clause about the remedy.
        """
        reference = f"{self._reference_frame.name} is {describe(self.reference)}"
        match = f"{self._match_frame.name} is {describe(self.image(self.match_index))}"
        return self._error(f"{reference} and {match}; {remedy}")

    @checked()
    def image(self, index: int) -> Image:
        """Return the image of a frame, read-only.

        A pixel without data gets the intensity of the nearest pixel with data in its
        row, or 0 if its row has no data.
        """
        self._check_index("index", index)
        return self._image_and_mask(index)[0]

    @checked()
    def valid(self, index: int) -> Mask | None:
        """Return the mask of the pixels of a frame that contain data, read-only.

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
        """Return the smallest and largest disparity that is tried at each pixel.

        Parameters
        ----------
        reference_index, match_index : int
            Indices of two frames.

        Returns
        -------
        low, high : ndarray, float32, (rows, columns), or None
            Disparities of the first frame towards the second one in pixels, read-only,
            NaN = no limit. Both are None if the scene has no limits for these frames.

        Raises
        ------
        DataError
            A map has another size than the images, it is not float32, or a smallest
            disparity is larger than the largest one.
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
        """Return the image of a frame and its mask, which are loaded once."""
        if index not in self._images:
            with collecting_damage() as messages:
                image = self._load(index)
            self._damage_messages[index] = tuple(messages)
            self._images[index] = self._filled(index, image)
        return self._images[index]

    def _load(self, index: int) -> Image:
        """Load and check the image of a frame.

        Returns
        -------
        ndarray, uint8 or float32
            The image, which may be a masked array or contain NaN.
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
        """Fill the pixels of an image that contain no data.

        Returns
        -------
        image : ndarray, uint8 or float32
            The filled image as a plain array of the same type, read-only.
        valid : ndarray, bool, or None
            Mask of the pixels that contain data. None if all pixels contain data.
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

        # Filling keeps the type of the image, so that both images have one type.
        plain_image: Image = np.ma.getdata(image)  # type: ignore[assignment]
        if valid.all():
            return read_only(plain_image), None
        # This module imports numba, which takes long, and is needed only here. Shells
        # that complete the names of scenes do not wait for it.
        from stereo_framework.kernels.filling import fill_invalid

        return read_only(fill_invalid(plain_image, valid)), read_only(valid)

    @cached_property
    def _images(self) -> dict[int, tuple[Image, Mask | None]]:
        """Return the images and masks that are loaded, by the index of the frame."""
        return {}

    @property
    def damage(self) -> tuple[str, ...]:
        """Return messages about damage in the files of the two images.

        Images that are not loaded yet have no messages.
        """
        messages_of_reference = self._damage_messages.get(self.reference_index, ())
        messages_of_match = self._damage_messages.get(self.match_index, ())
        return (*messages_of_reference, *messages_of_match)

    @cached_property
    def _damage_messages(self) -> dict[int, tuple[str, ...]]:
        """Return messages about damaged files, by the index of the frame."""
        return {}

    @cached_property
    def truth(self) -> Disparity | None:
        """Return the ground truth of the reference frame towards the match frame.

        Returns
        -------
        ndarray, float32, (rows, columns), or None
            Disparities in pixels, read-only, NaN = unknown. None if the scene has no
            ground truth for the pair.
        """
        return self._load_truth(self.reference_index, self.match_index)

    @cached_property
    def match_truth(self) -> Disparity | None:
        """Return the ground truth of the match frame towards the reference frame.

        Returns
        -------
        ndarray, float32, (rows, columns), or None
            As for `truth`.
        """
        return self._load_truth(self.match_index, self.reference_index)

    def _load_truth(self, reference_index: int, match_index: int) -> Disparity | None:
        """Load the ground truth of a frame towards another frame."""
        load = self.truths.get((reference_index, match_index))
        if load is None:
            return None
        label = f"truth of {self.frames[reference_index].name}"
        truth = self._checked_map(label, load())
        if not np.isfinite(truth).any():
            raise self._error(f"{label} holds no known disparity")
        return read_only(truth)

    def forget(self) -> None:
        """Release all loaded data. They are loaded again when they are used again."""
        for name in ("reference", "match", "truth", "match_truth", "_images"):
            self.__dict__.pop(name, None)

    @checked()
    def mask(self, name: str) -> Mask:
        """Return a mask of the reference frame, bool ``(rows, columns)``.

        Raises
        ------
        DataError
            The scene has no such mask, or the mask has another size than the images.
        """
        if name not in self.masks:
            names = ", ".join(sorted(self.masks)) or "none"
            raise self._error(f"no mask {name!r}; it has {names}")
        label = "the mask of evaluated pixels" if name == EVALUATED else f"mask {name}"
        return self._checked_map(label, self.masks[name](), bool, ", such as mask == 255")

    @property
    def evaluated(self) -> Mask | None:
        """Return the mask of the pixels that are evaluated; None if all pixels are."""
        return self.mask(EVALUATED) if EVALUATED in self.masks else None

    @checked()
    def within(self, mask: Mask) -> Scene:
        """Return the scene with fewer evaluated pixels.

        Parameters
        ----------
        mask : ndarray, bool, (rows, columns)
            Pixels that remain evaluated if they were evaluated before.
        """
        restricted = self._with_evaluated(lambda: mask)
        current_mask = self.evaluated
        if current_mask is None:
            return restricted
        # `restricted.mask` checks the size and the type of the mask.
        return self._with_evaluated(lambda: restricted.mask(EVALUATED) & current_mask)

    def _with_evaluated(self, load: Callable[[], Mask]) -> Scene:
        """Return the scene with another loader of the mask of evaluated pixels."""
        scene = replace(self, masks={**self.masks, EVALUATED: load})
        self._share_images(scene)
        return scene

    @checked()
    def pair(
        self, reference_index: int, match_index: int, search: SearchRange | None = None
    ) -> Scene:
        """Return the scene with another pair of frames.

        The new scene keeps the border and the ground truth of all frame pairs. Masks
        are kept only if the frames are the same as before.

        Parameters
        ----------
        reference_index, match_index : int
            Indices of the frames to match.
        search : SearchRange, optional
            Search range of the new pair. Default: the present range, scaled by the
            ratio of the distances of the frames.
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
        """Give the loaded images to another scene with the same frames."""
        scene._images.update(self._images)
        scene._damage_messages.update(self._damage_messages)

    @property
    def _distance(self) -> float:
        """Return the distance of the two frames on the baseline."""
        return abs(self._match_frame.position - self._reference_frame.position)

    def _error(self, message: str) -> DataError:
        """Return an error about the scene."""
        return DataError(f"scene {self.name}: {message}")

    def _checked_map(
        self, label: str, loaded: NDArray, dtype: Any = None, example: str = ""
    ) -> NDArray:
        """Return a loaded map as a plain array, if it has the size of the images.

        Parameters
        ----------
        label : str
            Name of the map, for messages.
        loaded : ndarray
            The map, which may be a masked array.
        dtype : type, optional
            Type that the map must have.
        example : str
            Clause with an example of such a map, for the message about its type.
        """
        plain_map: NDArray = unmasked(label, loaded)
        if plain_map.shape != self.reference.shape[:2]:
            size_of_images = _size(self.reference)
            raise self._error(f"{label} is {_size(plain_map)}, its images are {size_of_images}")
        if dtype is not None and plain_map.dtype != dtype:
            expected = f"{np.dtype(dtype)}{example}"
            raise self._error(f"{label} is {plain_map.dtype}; expected {expected}")
        return plain_map


def _pixels_with_data(image: Image) -> Mask:
    """Return the mask of the pixels that are neither masked nor NaN in any channel."""
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
    """Return a warning if the intensities seem to be in 0..1; empty if they do not."""
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
    """Return the mask of the pixels that do not belong to a border.

    Parameters
    ----------
    shape : tuple of int
        Shape of an image.
    border : int
        Width of the border on all four sides, in pixels.

    Returns
    -------
    ndarray, bool, (rows, columns)
    """
    rows, columns = shape[:2]
    inside = np.zeros((rows, columns), bool)
    inside[border : max(rows - border, 0), border : max(columns - border, 0)] = True
    return inside


def _bits(image: Image) -> str:
    """Return the bits per intensity of the file of an image, for messages."""
    return "of 8 bits" if image.dtype == np.uint8 else "of 16 bits or floats"


def _size(array: NDArray) -> str:
    """Return the columns and rows of an image or a map, for messages."""
    if array.ndim < 2:
        return f"an array of shape {array.shape}"
    size = f"{array.shape[1]}x{array.shape[0]}"
    return f"{size} in colour" if array.ndim == 3 else size


report_attributes_of_module(__name__)
