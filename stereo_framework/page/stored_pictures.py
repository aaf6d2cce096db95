"""How a page stores pictures: a disparity map once and without loss; everything else of it is computed where the page is opened."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.disparity_figures import main_threshold
from stereo_framework.figures.grid import eight_bits

_FINEST = 1 / 256
"""Pixels between two levels of a map, unless its range needs larger steps."""

_LEVELS = 65534
"""Steps of 16 bits above the level of the lowest value, which is 1; 0 says that there is no value."""

_LOSSLESS, _GOOD = 101, 90
"""Qualities of WebP files: of what is computed with, and of the reference image, which is only looked at."""

_OUTSIDE, _OCCLUDED, _NONOCC = 0, 128, 255
"""What comes with the truth of a pixel: it is not evaluated, or evaluated and occluded in the match frame, or evaluated and non-occluded."""


@dataclass(frozen=True)
class Stored:
    """A picture as a page holds it.

    Parameters
    ----------
    content : bytes
        A WebP file.
    size : (int, int)
        Columns and rows.
    about : mapping
        What the page's script must know to read it; empty for what is shown as it is.
    caption : str
        Stands below.
    """

    content: bytes
    size: tuple[int, int]
    about: Mapping[str, Any] = field(default_factory=dict)
    caption: str = ""


@dataclass(frozen=True)
class SceneRow:
    """What a page shows of a scene, side by side.

    Parameters
    ----------
    name : str
    pictures : mapping of str to Stored
        By what stands above them; all of one size, one at least.
    limits : (float, float)
        Disparities in pixels at the ends of the colours.
    threshold : float
        Pixels; larger errors are bad.
    note : str
        Stands below the name.
    """

    name: str
    pictures: Mapping[str, Stored]
    limits: tuple[float, float]
    threshold: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Scenes:
    """Pictures of scenes side by side: a row for each scene, a column for each method. Each opens in a viewer.

    Parameters
    ----------
    rows : sequence of SceneRow
    caption : str
    layer : str
        What the small pictures show at first: ``disparity``, ``error``, ``bad pixels`` or ``confidence``.
    """

    rows: Sequence[SceneRow]
    caption: str = ""
    layer: str = "disparity"

    @property
    def columns(self) -> list[str]:
        """What stands above the pictures: image and truth before all else."""
        names = dict.fromkeys(name for row in self.rows for name in row.pictures)
        return sorted(names, key=lambda name: ("image", "truth", name).index(name))


def scene_row(
    scene: Scene,
    pictures: Mapping[str, Stored],
    protocol: Protocol | None = None,
    *,
    name: str = "",
    note: str = "",
) -> SceneRow:
    """The row of a scene: its image, its truth and what methods made of it.

    Parameters
    ----------
    scene : Scene
    pictures : mapping of str to Stored
    protocol : Protocol, optional
        Says where errors are counted, and which are bad. Default: everywhere, and those above a pixel.
    name : str
        Default: the scene's.
    note : str
    """
    before = {"image": stored_picture(eight_bits(scene.reference), quality=_GOOD)}
    threshold = 1.0 if protocol is None else main_threshold(scene, protocol)
    if scene.truth is not None:
        regions = np.full(scene.truth.shape, _NONOCC, np.uint8)
        if protocol is not None:
            masks = region_masks(scene, protocol)
            regions = np.where(
                masks["all"],
                np.where(masks.get("nonocc", masks["all"]), _NONOCC, _OCCLUDED),
                _OUTSIDE,
            )
        before["truth"] = _levels(scene.truth, regions.astype(np.uint8), {"truth": True})
    every, search = before | dict(pictures), scene.search
    limits = (
        usual_limits(list(every.values())) if search is None else (search.minimum, search.maximum)
    )
    return SceneRow(name or scene.name, every, limits, threshold, note)


def usual_limits(pictures: Sequence[Stored]) -> tuple[float, float]:
    """The smallest and the largest disparity of maps, in pixels."""
    ends = [one.about["ends"] for one in pictures if "ends" in one.about]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0.0, 1.0)


def stored_picture(
    picture: NDArray[np.uint8], caption: str = "", *, quality: int = _LOSSLESS
) -> Stored:
    """A picture, uint8 (rows, columns) or (rows, columns, 3) RGB, that is shown as it is."""
    return Stored(_webp(picture, quality), (picture.shape[1], picture.shape[0]), {}, caption)


def stored_map(
    disparity: Disparity, confidence: NDArray[np.float32] | None = None, caption: str = ""
) -> Stored:
    """A disparity map with levels of 16 bits, and its confidence in 8 bits.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate. Stored in steps of 1/256 px or, where 65534 of these are too few for its range, of the next power of two.
    confidence : ndarray, float32, (rows, columns), optional
        Higher = surer.
    caption : str

    Returns
    -------
    Stored
        A lossless WebP file that every browser reads back bit by bit: confidence in red, the high byte of the levels in green, the low one in blue. A
        level n > 0 stands for ``base`` + (n - 1) * ``step``, 0 for no value.

    Examples
    --------
    >>> stored_map(np.array([[2.5, np.nan]], np.float32)).about
    {'base': 2.5, 'step': 0.00390625, 'ends': (2.5, 2.5)}
    """
    if confidence is None:
        return _levels(disparity, np.zeros(disparity.shape, np.uint8), {}, caption)
    known = confidence[np.isfinite(confidence)]
    # A few outliers would leave no levels to the others.
    low, high = (float(v) for v in np.percentile(known, [2, 98])) if known.size else (0.0, 1.0)
    part = (np.nan_to_num(confidence, nan=low, posinf=high, neginf=low) - low) / (high - low or 1.0)
    return _levels(
        disparity,
        np.rint(255 * np.clip(part, 0, 1)).astype(np.uint8),
        {"confidence": (low, high)},
        caption,
    )


def _levels(
    values: Disparity, third: NDArray[np.uint8], about: Mapping[str, Any], caption: str = ""
) -> Stored:
    known = np.isfinite(values)
    low, high = (float(f(values[known])) for f in (np.min, np.max)) if known.any() else (0.0, 0.0)
    # Steps that are powers of two, counted from a whole number of them, hold whole pixels and the usual fractions exactly.
    step = max(_FINEST, 2.0 ** math.ceil(math.log2(max(high - low, _FINEST) / (_LEVELS - 1))))
    base = math.floor(low / step) * step
    levels = np.where(
        known, np.rint((np.where(known, values, base).astype(np.float64) - base) / step) + 1, 0
    ).astype(np.uint16)
    picture = np.dstack([third, levels >> 8, levels & 255]).astype(np.uint8)
    scale = {"base": base, "step": step, "ends": (low, high)}
    return Stored(
        _webp(picture, _LOSSLESS), (values.shape[1], values.shape[0]), {**about, **scale}, caption
    )


def _webp(picture: NDArray[np.uint8], quality: int) -> bytes:
    turned = picture[..., ::-1] if picture.ndim == 3 else picture
    return cv2.imencode(".webp", turned, [cv2.IMWRITE_WEBP_QUALITY, quality])[1].tobytes()


def data_uri(content: bytes) -> str:
    """A WebP, PNG or SVG file as a data URI."""
    kind = (
        "webp"
        if content.startswith(b"RIFF")
        else "png"
        if content.startswith(b"\x89PNG")
        else "svg+xml"
    )
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
