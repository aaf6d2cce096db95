"""Pair: one matching problem, two images and where to search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked, checked_fields
from stereo_framework.core.errors import DataError
from stereo_framework.core.parameters import Checked, Positive, brief
from stereo_framework.core.scene import Image, Scene, SearchRange, intensities
from stereo_framework.core.volume import SearchMask

BlockSize = Annotated[int, Ge(1), Le(limits.WINDOW)]
"""Annotation of the width of a block in pixels."""

LARGEST_INTENSITY = 1e6
"""Largest magnitude of an intensity. Products of squared sums stay finite in float32."""


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
            f"NaN or infinite intensities (values: {count}); expected finite intensities in 0..255: "
            "replace these values, and exclude their pixels with SearchMask(valid=...)"
        )
    return f"intensities from {lowest:g} to {highest:g}; expected intensities in 0..255"


@checked_fields()
@brief
@dataclass(frozen=True, eq=False)
class Pair:
    """Two rectified images, the disparities that are tried and, where not all take part, the mask.

    Parameters
    ----------
    reference, match : ndarray, uint8, uint16 or float, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, finite, of one size; those of 16 bits are divided by 257.
    search : SearchRange or (float, float)
    mask : SearchMask, optional
    scene : Scene, optional
        Where the pair comes from, for matchers that name it.

    Raises
    ------
    DataError
        Images of different sizes, intensities that are not finite or far outside 0..255, or a
        mask of another size.
    """

    reference: Image
    match: Image
    search: Annotated[SearchRange, Checked(SearchRange.of)]
    mask: SearchMask | None = None
    scene: Scene | None = None

    def __post_init__(self) -> None:
        if any(isinstance(image, np.ma.MaskedArray) for image in (self.reference, self.match)):
            raise DataError(
                "a pair of masked arrays; Scene.from_images takes them, or SearchMask(valid=..., match_valid=...) holds their masks"
            )
        for name in ("reference", "match"):
            image = intensities(getattr(self, name))
            if fault := intensity_fault(image):
                raise DataError(f"pair: the {name} image has {fault}")
            object.__setattr__(self, name, image)
        if self.reference.shape != self.match.shape:
            raise DataError(
                f"a pair of images of different sizes: {self.reference.shape} and {self.match.shape}"
            )
        if self.reference.dtype != self.match.dtype:
            raise DataError(
                f"a pair of images of different types: {self.reference.dtype} and {self.match.dtype}"
            )
        if self.mask is not None:
            for array in (a for a in vars(self.mask).values() if a is not None):
                if array.shape != self.shape:
                    raise DataError(f"a mask of {array.shape} for images of {self.shape}")

    @staticmethod
    @checked()
    def of(scene: Scene, search: SearchRange | None = None) -> Pair:
        """The frame pair of a scene.

        Parameters
        ----------
        scene : Scene
        search : SearchRange, optional
            Instead of the scene's own; its direction is taken from the scene.

        Raises
        ------
        DataError
            There is no search range, an image is missing, or they differ in size.
        """
        search = search or scene.search
        if search is None:
            raise DataError(
                f"scene {scene.name}: no search range; give one (search: {{minimum: 0, maximum: 64}}, in a script or with --set)"
            )
        a, b = scene.reference_index, scene.match_index
        reference, match = scene.reference, scene.match
        maps = scene.valid(a), scene.valid(b), *scene.range(a, b), *scene.range(b, a)
        mask = None if all(one is None for one in maps) else SearchMask(*maps)
        return Pair(reference, match, replace(search, direction=scene.direction), mask, scene)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.reference.shape[:2]
        return rows, columns

    def exchanged(self) -> Pair:
        """The same pair seen from the match image. Its scene has a name of its own, so that no map from outside is taken for one of it."""
        scene = self.scene and self.scene.pair(
            self.scene.match_index, self.scene.reference_index, self.search
        )
        scene = scene and replace(scene, name=f"{scene.name} (other view)")
        mask = self.mask and self.mask.exchanged(self.search)
        return Pair(
            self.match,
            self.reference,
            replace(self.search, direction=-self.search.direction),
            mask,
            scene,
        )

    @checked()
    def rows(self, top: int, bottom: int) -> Pair:
        """The rows `top` to `bottom` - 1 alone."""
        return replace(
            self,
            reference=self.reference[top:bottom],
            match=self.match[top:bottom],
            mask=self.mask and self.mask.rows(top, bottom),
            scene=None,
        )

    @checked()
    def reduced(self, reduction: BlockSize, step: Positive | None = None) -> Pair:
        """Return the pair `reduction` times smaller in both directions.

        Each pixel of the smaller images is the mean of a block of pixels; the last blocks
        are filled up with copies of the border's pixels.

        Parameters
        ----------
        reduction : int
            Number by which the rows and columns are divided. It is also the width and height
            of a block, in pixels.
        step : float, optional
            Distance of the levels of the smaller pair, in its pixels. Default: the step of
            this pair, so that the smaller pair has about `reduction` times fewer levels.

        Returns
        -------
        Pair
            Its search range contains the reduced range and lies on multiples of the step. A
            block is valid if one of its pixels is valid. The range of a block contains the
            ranges of all its pixels and lies on levels too; if a pixel has no limit, its
            block has none.

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
    """Blocks of pixels, ``(rows, reduction, columns, reduction[, channels])``; beyond the border its pixels repeat."""
    rows, columns = (-(-n // reduction) * reduction for n in array.shape[:2])
    around = (
        (0, rows - array.shape[0]),
        (0, columns - array.shape[1]),
        *((0, 0) for _ in array.shape[2:]),
    )
    return np.pad(array, around, mode="edge").reshape(
        rows // reduction, reduction, columns // reduction, reduction, *array.shape[2:]
    )


def shrunk(image: Image, reduction: int) -> Image:
    """An image `reduction` times smaller: means of blocks, of which the last ones are filled up with the border's pixels."""
    blocks = _blocks(image, reduction)
    if image.dtype != np.uint8:
        return blocks.mean(axis=(1, 3), dtype=np.float32)
    # Sums of bytes are exact in any order, and NumPy adds whole slices several times faster.
    total = np.zeros(blocks[:, 0, :, 0].shape, np.float32)
    for y, x in np.ndindex(reduction, reduction):
        total += blocks[:, y, :, x]
    return np.rint(total / np.float32(reduction**2)).astype(np.uint8)
