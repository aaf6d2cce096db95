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
from stereo_framework.core.parameters import Checked, Positive, brief
from stereo_framework.core.scene import Image, Mask, Scene, SearchRange, intensities
from stereo_framework.core.volume import SearchMask

BlockSize = Annotated[int, Ge(1), Le(limits.WINDOW)]
"""Annotation of the width of a block in pixels."""

LARGEST_INTENSITY = 1e6
"""Largest magnitude of an intensity, for which squared sums are finite in float32."""


def intensity_fault(image: NDArray) -> str:
    """Describe intensities that no stage can match; empty if there are none.

    Parameters
    ----------
    image : ndarray
        Integers are always correct; floats are checked.

    Returns
    -------
    str
        Noun phrase that continues "the image has", with the expected values.
    """
    if image.dtype.kind != "f" or not image.size:
        return ""

    # Comparisons with NaN are false.
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
    """Two rectified images, the disparities that are tried, and a mask.

    Parameters
    ----------
    reference, match : ndarray, uint8, uint16 or float, (rows, columns) or (rows,
    columns, 3)
        Images of one size, with finite intensities from 0 to 255. Intensities of 16
        bits are divided by 257.
    search : SearchRange or (float, float)
        Search range, or its smallest and largest disparity in pixels.
    mask : SearchMask, optional
        Pixels and disparities that take part. Default: all of them.
    scene : Scene, optional
        Scene of the pair, for matchers that read its files.

    Raises
    ------
    DataError
        The images have different sizes, intensities are not finite or far outside
        0..255, or the mask has another size.
    """

    reference: Image
    match: Image
    search: Annotated[SearchRange, Checked(SearchRange.of)]
    mask: SearchMask | None = None
    scene: Scene | None = None

    def __post_init__(self) -> None:
        if any(isinstance(image, np.ma.MaskedArray) for image in (self.reference, self.match)):
            message = (
                "a pair of masked arrays; Scene.from_images takes them, or "
                "SearchMask(valid=..., match_valid=...) holds their masks"
            )
            raise DataError(message)
        for name in ("reference", "match"):
            image = intensities(getattr(self, name))
            if fault := intensity_fault(image):
                raise DataError(f"pair: the {name} image has {fault}")
            object.__setattr__(self, name, image)
        self._check_equal_forms()

    def _check_equal_forms(self) -> None:
        """Refuse images of different sizes or types, and a mask of another size."""
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
        """Return the pair of a scene.

        Parameters
        ----------
        scene : Scene
        search : SearchRange, optional
            Search range that replaces the one of the scene. Its direction is taken from
            the scene.

        Raises
        ------
        DataError
            There is no search range, an image is missing, or the images have different
            sizes.
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
        return Pair(reference, match, replace(search, direction=scene.direction), mask, scene)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.reference.shape[:2]
        return rows, columns

    @functools.cached_property
    def invalid(self) -> Mask | None:
        """Pixels of which the mask excludes all cells; None without a mask."""
        if self.mask is None:
            return None
        return self.mask.invalid(self.search, self.shape)

    def exchanged(self) -> Pair:
        """Return the pair with the match image as reference image.

        Its scene has another name, so that no map that was stored for the scene is
        taken for a map of the other image.
        """
        scene = self.scene
        if scene is not None:
            scene = scene.pair(scene.match_index, scene.reference_index, self.search)
            scene = replace(scene, name=f"{scene.name} (other view)")
        mask = None if self.mask is None else self.mask.exchanged(self.search)
        search = replace(self.search, direction=-self.search.direction)
        return Pair(self.match, self.reference, search, mask, scene)

    @checked()
    def rows(self, top: int, bottom: int) -> Pair:
        """Return the rows `top` to `bottom` - 1 of the pair."""
        return replace(
            self,
            reference=self.reference[top:bottom],
            match=self.match[top:bottom],
            mask=None if self.mask is None else self.mask.rows(top, bottom),
            scene=None,
        )

    @checked()
    def reduced(self, reduction: BlockSize, step: Positive | None = None) -> Pair:
        """Return the pair `reduction` times smaller in both directions.

        Each pixel of the smaller images is the mean of a block of pixels. Blocks that
        extend beyond the image are filled up with copies of the pixels at its border.

        Parameters
        ----------
        reduction : int
            Number by which the rows and columns are divided. It is also the width and
            height of a block, in pixels.
        step : float, optional
            Distance of the levels of the smaller pair, in its pixels. Default: the step
            of this pair, so that the smaller pair has about `reduction` times fewer
            levels.

        Returns
        -------
        Pair
            The search range contains the reduced range, and its ends are multiples of
            the step. A block is valid if one of its pixels is valid. The range of a
            block contains the ranges of all its pixels, and its ends are levels. If a
            pixel has no limit, its block has none.

        Raises
        ------
        ParameterError
            `reduction` is below 1, or `step` is neither N nor 1/N.
        """
        search = self.search
        if step is None:
            step = search.step

        def down(disparity: Any) -> Any:
            return np.floor(disparity / reduction / step + 1e-6) * step + 0.0  # no -0

        def up(disparity: Any) -> Any:
            return np.ceil(disparity / reduction / step - 1e-6) * step + 0.0  # no -0

        lowest = down(search.minimum)
        highest = max(up(search.maximum), lowest + step)
        smaller_search = SearchRange(lowest, highest, step, search.direction)
        reference = shrunk(self.reference, reduction)
        match = shrunk(self.match, reduction)
        if self.mask is None:
            return Pair(reference, match, smaller_search)

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
        return Pair(reference, match, smaller_search, SearchMask(**maps))


def _blocks(array: NDArray, reduction: int) -> NDArray:
    """Divide an array into square blocks of pixels.

    Returns
    -------
    ndarray, (rows, reduction, columns, reduction[, channels])
        Rows and columns of blocks. Beyond the border of the array its pixels repeat.
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
    """Return an image `reduction` times smaller, whose pixels are means of blocks.

    Blocks that extend beyond the image are filled up with copies of the pixels at its
    border.
    """
    blocks = _blocks(image, reduction)
    if image.dtype != np.uint8:
        return blocks.mean(axis=(1, 3), dtype=np.float32)
    # Sums of bytes are exact in any order, and NumPy adds whole slices several times
    # faster than it computes means along short axes.
    total = np.zeros(blocks[:, 0, :, 0].shape, np.float32)
    for y, x in np.ndindex(reduction, reduction):
        total += blocks[:, y, :, x]
    return np.rint(total / np.float32(reduction**2)).astype(np.uint8)
