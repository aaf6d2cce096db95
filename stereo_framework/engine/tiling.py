"""Division of large image pairs into tiles, so that cost volumes fit into memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.registration import step
from stereo_framework.core.scene import SearchRange
from stereo_framework.engine.memory import (
    FramesInMemory,
    MemoryPeak,
    peak_memory,
)
from stereo_framework.kernels.free_memory import free_memory
from stereo_framework.scheme import tiles

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline

_LARGE_CELLS = 2**29
"""Minimum number of cells of a large cost volume.

For large cost volumes, matching in tiles is faster than matching the whole images. For
2900x1900 pixels and 280 levels, tiles halve the run time of the method ``sgm``.
"""

_TILE_SIZES = (1024, 768, 512, 384, 256, 192, 128)
"""Possible tile sizes in pixels, from the largest to the smallest."""

_SHARE_OF_FREE_MEMORY = 0.8
"""Share of the free memory that cost volumes may take by default."""


def in_tiles(
    method: Pipeline,
    shape: tuple[int, ...],
    search: SearchRange,
    allowed: float,
    frames: FramesInMemory = FramesInMemory(),  # noqa: B008  The object is immutable.
) -> Pipeline | None:
    """Return the method with the largest tiles whose cost volumes fit into memory.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    allowed : float
        Maximum memory of the cost volumes in bytes.
    frames : FramesInMemory
        Other frames of the pair. Default: the pair has no other frames.

    Returns
    -------
    tiled_method : Pipeline or None
        Method with tiles. The result is None if no tiles fit into memory, if a stage
        cannot match tiles, or if the method has another scheme.
    """
    if any(scheme.stage.name != tiles.__name__ for scheme in method.in_slot("scheme")):
        return None
    for tile_size in _TILE_SIZES:
        try:
            tiled_method = method.having(scheme=step(tiles, tile_size=tile_size))
            needed = peak_memory([tiled_method], shape, search, frames=frames).size
        except ParameterError:
            # A stage that needs the scene cannot match tiles, because tiles have no
            # scene.
            return None
        if needed <= allowed:
            return tiled_method
    return None


def fitted(
    method: Pipeline,
    shape: tuple[int, ...],
    search: SearchRange,
    allowed: float | None = None,
) -> Pipeline:
    """Add tiles to the method if the pair is large, or if the memory is too small.

    Otherwise, the method is returned unchanged.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    allowed : float, optional
        Maximum memory of the cost volumes in bytes. The default is four fifths of the
        free memory.

    Raises
    ------
    StereoFrameworkError
        If the method needs too much memory, and tiles do not help or are impossible.
    """
    peak = peak_memory([method], shape, search)
    if allowed is None:
        allowed = _SHARE_OF_FREE_MEMORY * free_memory()
    if peak.size <= allowed and math.prod(shape) * search.levels < _LARGE_CELLS:
        return method
    tiled_method = in_tiles(method, shape, search, allowed)
    if tiled_method is not None:
        return tiled_method
    if peak.size > allowed:
        raise StereoFrameworkError(refusal(method, shape, search, peak, allowed))
    return method


def of_large_pair(method: Pipeline, shape: tuple[int, ...], search: SearchRange) -> Pipeline:
    """Add tiles to a method that would create the whole cost volume of a large pair.

    All other methods are returned unchanged. The result does not depend on the free
    memory of the machine.
    """
    cells = math.prod(shape) * search.levels
    if cells < _LARGE_CELLS or method.in_slot("scheme"):
        return method
    makes_whole_volume = peak_memory([method], shape, search).size >= 4 * cells
    if not makes_whole_volume:
        return method
    return in_tiles(method, shape, search, math.inf) or method


def refusal(
    method: Pipeline,
    shape: tuple[int, ...],
    search: SearchRange,
    peak: MemoryPeak,
    allowed: float,
    allowed_by: str = "allowed (--memory)",
    frames: FramesInMemory = FramesInMemory(),  # noqa: B008  The object is immutable.
) -> str:
    """Return the error message for a method that needs too much memory.

    The error message recommends fewer levels, smaller images or tiles.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    peak : MemoryPeak
        Required memory, and the stage that needs this memory.
    allowed : float
        Available memory, in bytes.
    allowed_by : str
        Description of the memory limit in the error message, such as ``free``.
    frames : FramesInMemory
        Other frames of the pair. Default: the pair has no other frames.
    """
    remedy = "use fewer levels or smaller images"
    if frames.number and method.reads_frames:
        remedy = "use fewer levels, smaller images or fewer images"
    tiled_method = in_tiles(method, shape, search, allowed, frames)
    if tiled_method is not None:
        [scheme] = tiled_method.in_slot("scheme")
        tile_size = scheme.parameters["tile_size"]
        remedy += f", or tiles: --set 'scheme=[{{use: tiles, tile_size: {tile_size}}}]'"
    rows, columns = shape[:2]
    stage = peak.stage or method.name
    return (
        f"{stage} needs about {_memory_text(peak.size)} for {columns}x{rows} pixels and "
        f"{search.levels} levels; {_memory_text(allowed)} are {allowed_by}; {remedy}"
    )


def _memory_text(size: float) -> str:
    """Convert a number of bytes to a text in GiB or MiB, such as ``1.5 GiB``."""
    if size >= 2**29:
        return f"{size / 2**30:.1f} GiB"
    return f"{size / 2**20:.3g} MiB"
