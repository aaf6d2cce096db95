"""One matching problem: two images, a search range and a mask."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked, checked_fields
from stereo_framework.core.errors import DataError
from stereo_framework.core.other_frames import OtherFrame, changed_frames, exchanged_frames
from stereo_framework.core.parameters import Checked, Positive, brief
from stereo_framework.core.scene import Image, Mask, Scene, SearchRange, intensities
from stereo_framework.core.volume import SearchMask

BlockSize = Annotated[int, Ge(1), Le(limits.WINDOW)]
"""Width of a square block, in pixels."""

LARGEST_INTENSITY = 1e6
"""Largest allowed intensity. Sums of squares then stay finite in float32."""


def intensity_fault(image: NDArray) -> str:
    """Describe intensities that cannot be matched, such as NaN.

    Parameters
    ----------
    image : ndarray
        Image to check.

    Returns
    -------
    str
        Description for an error message. Empty if all intensities are allowed.
    """
    if image.dtype.kind != "f" or not image.size:
        return ""

    # If the image contains NaN, both comparisons below are false.
    lowest = float(image.min())
    highest = float(image.max())
    if lowest >= -LARGEST_INTENSITY and highest <= LARGEST_INTENSITY:
        return ""

    count = int(np.count_nonzero(~np.isfinite(image)))
    if count:
        return (
            f"NaN or infinite intensities (values: {count}); "
            "expected finite intensities in 0..255: replace these values, "
            "and exclude their pixels with SearchMask(valid=...)"
        )
    return f"intensities from {lowest:g} to {highest:g}; expected intensities in 0..255"


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Pair:
    """Two rectified images to match, with a search range and a mask.

    Parameters
    ----------
    reference, match : ndarray, uint8, uint16 or float
        Images of the same shape, (rows, columns) or (rows, columns, 3), with
        intensities from 0 to 255. Intensities of uint16 images are divided by 257.
    search : SearchRange or (float, float)
        Search range, or its smallest and largest disparity, in pixels.
    mask : SearchMask, optional
        Pixels and disparities that may be matched. Default: all.
    scene : Scene, optional
        Scene of the images. Some matchers read the files of the scene.
    frames : tuple of OtherFrame
        Further images of the scene, for stages that match more than two images.

    Raises
    ------
    DataError
        The two images differ in size or type. An intensity is not finite or far outside
        0..255. The mask and the images differ in size.
    """

    reference: Image
    match: Image
    search: Annotated[SearchRange, Checked(SearchRange.of)]
    mask: SearchMask | None = None
    scene: Scene | None = None
    frames: tuple[OtherFrame, ...] = ()

    def __post_init__(self) -> None:
        if any(isinstance(image, np.ma.MaskedArray) for image in (self.reference, self.match)):
            message = (
                "a pair of masked arrays is not allowed; make a scene with Scene.from_images, or "
                "give plain arrays, and the masks as SearchMask(valid=..., match_valid=...)"
            )
            raise DataError(message)
        for name in ("reference", "match"):
            image = intensities(getattr(self, name))
            if fault := intensity_fault(image):
                raise DataError(f"pair: the {name} image has {fault}")
            object.__setattr__(self, name, image)
        self._check_equal_forms()

    def _check_equal_forms(self) -> None:
        """Raise an error if the images or the mask differ in size or type."""
        reference, match = self.reference, self.match
        if reference.shape != match.shape:
            raise DataError(
                f"a pair of images of different sizes: {reference.shape} and {match.shape}"
            )
        if reference.dtype != match.dtype:
            raise DataError(
                f"a pair of images of different types: {reference.dtype} and {match.dtype}"
            )
        if self.mask is None:
            return
        for array in vars(self.mask).values():
            if array is not None and array.shape != self.shape:
                raise DataError(f"a mask of {array.shape} for images of {self.shape}")

    @staticmethod
    @checked()
    def of(scene: Scene, search: SearchRange | None = None) -> Pair:
        """Return the images, the search range and the mask of a scene as a pair.

        Parameters
        ----------
        scene : Scene
        search : SearchRange, optional
            Search range. Default: the search range of the scene. The direction is
            always the direction of the scene.

        Raises
        ------
        DataError
            There is no search range. An image file is missing. The images differ in
            size.
        """
        search = search or scene.search
        if search is None:
            message = (
                f"scene {scene.name}: no search range; give one "
                "(search: {minimum: 0, maximum: 64}, in a script or with --set)"
            )
            raise DataError(message)
        reference, match = scene.reference, scene.match
        first, second = scene.reference_index, scene.match_index
        valid = scene.valid(first)
        match_valid = scene.valid(second)
        low, high = scene.range(first, second)
        match_low, match_high = scene.range(second, first)
        maps = (valid, match_valid, low, high, match_low, match_high)
        has_mask = any(array is not None for array in maps)
        mask = SearchMask(*maps) if has_mask else None
        search = replace(search, direction=scene.direction)
        frames = tuple(frame.checked_for(reference) for frame in scene.other_frames)
        return Pair(reference, match, search, mask, scene, frames)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of each image."""
        rows, columns = self.reference.shape[:2]
        return rows, columns

    @functools.cached_property
    def invalid(self) -> Mask | None:
        """Mask of pixels without an allowed disparity; None without a search mask."""
        if self.mask is None:
            return None
        return self.mask.invalid(self.search, self.shape)

    def exchanged(self) -> Pair:
        """Exchange the reference image and the match image.

        The scene of the exchanged pair gets a different name. Otherwise, the cache
        could return the disparity map of the left image for the right image.
        """
        scene = self.scene
        if scene is not None:
            scene = scene.pair(scene.match_index, scene.reference_index, self.search)
            scene = replace(scene, name=f"{scene.name} (other view)")
        mask = None if self.mask is None else self.mask.exchanged(self.search)
        search = replace(self.search, direction=-self.search.direction)
        frames = exchanged_frames(self.frames)
        return Pair(self.match, self.reference, search, mask, scene, frames)

    @checked()
    def rows(self, top: int, bottom: int) -> Pair:
        """Return a pair with only the rows `top` to `bottom` - 1 of both images."""
        return replace(
            self,
            reference=self.reference[top:bottom],
            match=self.match[top:bottom],
            mask=None if self.mask is None else self.mask.rows(top, bottom),
            scene=None,
            frames=changed_frames(self.frames, lambda image: image[top:bottom]),
        )

    @checked()
    def reduced(self, reduction: BlockSize, step: Positive | None = None) -> Pair:
        """Return a pair whose images have `reduction` times fewer rows and columns.

        Each pixel of a smaller image is the mean of a square block of pixels. Blocks
        beyond the image border are filled with copies of the border pixels.

        Parameters
        ----------
        reduction : int
            Factor that divides the numbers of rows and columns, such as 2.
        step : float, optional
            Disparity step in pixels of the smaller images. Default: the step of the
            large pair.

        Returns
        -------
        Pair
            Smaller pair. The search range is divided by `reduction`. Its ends are
            rounded outwards to multiples of the step. A pixel is valid if its block
            contains a valid pixel. The disparity limits of a pixel include the limits
            of all pixels in its block.

        Raises
        ------
        ParameterError
            `reduction` is less than 1. `step` is neither a whole number N nor 1/N.
        """
        search = self.search
        if step is None:
            step = search.step

        def down(disparity: Any) -> Any:
            # The addition of 0.0 turns -0.0 into 0.0.
            return np.floor(disparity / reduction / step + 1e-6) * step + 0.0

        def up(disparity: Any) -> Any:
            # The addition of 0.0 turns -0.0 into 0.0.
            return np.ceil(disparity / reduction / step - 1e-6) * step + 0.0

        lowest = down(search.minimum)
        highest = max(up(search.maximum), lowest + step)
        smaller_search = SearchRange(lowest, highest, step, search.direction)
        reference = shrunk(self.reference, reduction)
        match = shrunk(self.match, reduction)
        frames = changed_frames(self.frames, lambda image: shrunk(image, reduction))
        if self.mask is None:
            return Pair(reference, match, smaller_search, frames=frames)

        maps: dict[str, Any] = {}
        for name, array in vars(self.mask).items():
            if array is None:
                continue
            blocks = _blocks(array, reduction)
            if name.endswith("valid"):
                maps[name] = blocks.any(axis=(1, 3))
            elif name.endswith("low"):
                maps[name] = down(blocks.min(axis=(1, 3))).astype(np.float32)
            else:
                maps[name] = up(blocks.max(axis=(1, 3))).astype(np.float32)
        return Pair(reference, match, smaller_search, SearchMask(**maps), frames=frames)


def _blocks(array: NDArray, reduction: int) -> NDArray:
    """Divide an array into square blocks of pixels.

    Returns
    -------
    ndarray, (rows, reduction, columns, reduction[, channels])
        Element [i, y, j, x] is pixel (y, x) of block (i, j). Blocks beyond the border
        are filled with copies of the border pixels.
    """
    rows, columns = array.shape[:2]
    block_rows = -(-rows // reduction)
    block_columns = -(-columns // reduction)
    rows_below = block_rows * reduction - rows
    columns_to_the_right = block_columns * reduction - columns
    no_channels = [(0, 0)] * (array.ndim - 2)
    padding = [(0, rows_below), (0, columns_to_the_right), *no_channels]
    padded = np.pad(array, padding, mode="edge")
    shape = (block_rows, reduction, block_columns, reduction, *array.shape[2:])
    return padded.reshape(shape)


def shrunk(image: Image, reduction: int) -> Image:
    """Reduce an image by averaging square blocks of pixels.

    A block has `reduction` x `reduction` pixels. Blocks beyond the image border are
    filled with copies of the border pixels.
    """
    blocks = _blocks(image, reduction)
    if image.dtype != np.uint8:
        return blocks.mean(axis=(1, 3), dtype=np.float32)
    # NumPy adds large slices faster than it computes means along short axes. Sums of
    # uint8 intensities are exact in float32, whatever the order of the additions.
    total = np.zeros(blocks[:, 0, :, 0].shape, np.float32)
    for y, x in np.ndindex(reduction, reduction):
        total += blocks[:, y, :, x]
    return np.rint(total / np.float32(reduction**2)).astype(np.uint8)
