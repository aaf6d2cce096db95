"""Division of large pairs into tiles, so that the cost volumes fit into memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import step
from stereo_framework.engine.memory import peak_memory
from stereo_framework.kernels.free_memory import free_memory
from stereo_framework.scheme import tiles

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline

_LARGE_CELLS = 2**29
"""Number of cells from which a cost volume is large.

For large cost volumes, tiles are faster than the whole pair. An example is the method
``sgm`` for 2900x1900 pixels and 280 levels, which takes half the time with tiles.
"""

_TILE_SIZES = (1024, 768, 512, 384, 256, 192, 128)
"""Widths and heights of tiles that are tried, in pixels."""

_SHARE_OF_FREE_MEMORY = 0.8
"""Share of the free memory that cost volumes may take by default."""


def in_tiles(
    method: Pipeline, shape: tuple[int, ...], search: SearchRange, allowed: float
) -> Pipeline | None:
    """Return a method with the largest tiles whose cost volumes fit into memory.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    allowed : float
        Number of bytes that cost volumes may take.

    Returns
    -------
    Pipeline or None
        None if all tiles need more memory, or if a stage cannot match tiles.
    """
    if any(scheme.stage.name != tiles.__name__ for scheme in method.in_slot("scheme")):
        return None
    for tile_size in _TILE_SIZES:
        try:
            tiled_method = method.having(scheme=step(tiles, tile_size=tile_size))
            needed = peak_memory([tiled_method], shape, search)
        except ParameterError:
            # A stage needs the scene, which tiles do not have.
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
    """Return the method without changes or, if the pair is large, with tiles.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    allowed : float, optional
        Number of bytes that cost volumes may take. Default: four fifths of the free
        memory.

    Raises
    ------
    StereoFrameworkError
        Neither the whole pair nor any tiles fit into memory.
    """
    needed = peak_memory([method], shape, search)
    if allowed is None:
        allowed = _SHARE_OF_FREE_MEMORY * free_memory()
    if needed <= allowed and math.prod(shape) * search.levels < _LARGE_CELLS:
        return method
    tiled_method = in_tiles(method, shape, search, allowed)
    if tiled_method is not None:
        return tiled_method
    if needed > allowed:
        raise StereoFrameworkError(refusal(method, shape, search, needed, allowed))
    return method


def of_large_pair(method: Pipeline, shape: tuple[int, ...], search: SearchRange) -> Pipeline:
    """Return the method with tiles if it makes a whole cost volume of a large pair.

    Otherwise, the method is returned unchanged. The result does not depend on the free
    memory, so it is the same on every machine.
    """
    cells = math.prod(shape) * search.levels
    if cells < _LARGE_CELLS or method.in_slot("scheme"):
        return method
    makes_whole_volume = peak_memory([method], shape, search) >= 4 * cells
    if not makes_whole_volume:
        return method
    return in_tiles(method, shape, search, math.inf) or method


def refusal(
    method: Pipeline,
    shape: tuple[int, ...],
    search: SearchRange,
    needed: float,
    allowed: float,
    allowed_by: str = "allowed (--memory)",
) -> str:
    """Return an error message: the method needs too much memory, and the remedy.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    needed, allowed : float
        Numbers of bytes.
    allowed_by : str
        Words that follow the allowed amount of memory, such as ``free``.
    """
    remedy = "use fewer levels or smaller images"
    tiled_method = in_tiles(method, shape, search, allowed)
    if tiled_method is not None:
        [scheme] = tiled_method.in_slot("scheme")
        tile_size = scheme.parameters["tile_size"]
        remedy += f", or tiles: --set 'scheme=[{{use: tiles, tile_size: {tile_size}}}]'"
    rows, columns = shape[:2]
    return (
        f"{method.name} needs about {_memory_text(needed)} for {columns}x{rows} pixels and "
        f"{search.levels} levels; {_memory_text(allowed)} are {allowed_by}; {remedy}"
    )


def _memory_text(size: float) -> str:
    """Return a number of bytes in GiB or MiB, such as ``1.5 GiB``."""
    if size >= 2**29:
        return f"{size / 2**30:.1f} GiB"
    return f"{size / 2**20:.3g} MiB"
