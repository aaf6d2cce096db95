"""A trial of the halo that a plug-in declares: a strip of rows must give what the whole gives.

A pipeline runs a stage with a halo on strips of rows, each with so many rows above and
below. If the result of the stage depends on more rows, the results of the strips are wrong
at their edges, and nothing else shows that.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import place_of
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Search
from stereo_framework.core.stage import stages
from stereo_framework.core.view import View
from stereo_framework.core.volume import CostVolume, Labeling, Smoothness, Status
from stereo_framework.engine.match import check_returned
from stereo_framework.engine.step import Step, blame
from stereo_framework.engine.walk import _data, _ready

_STRIP = 8
"""Rows of the strip."""

_BEYOND = 9
"""Rows of the images beyond the halo of the strip; an odd number, so that the strip also begins at an odd row."""

_MOST_HALO = 500
"""Rows of the largest halo that is tried; images for larger ones take long."""

_TOLERANCE = 1e-3
"""Share of the range of a result by which rounding may change it; sums of float32 numbers change by up to 4e-4."""

_LEVELS = 6


def halo_fault(step: Step) -> str:
    """Return what is wrong with the halo of a plug-in's stage; empty if no fault shows.

    Parameters
    ----------
    step : Step
        The stage with its parameters, on which the halo may depend.
    """
    if step.stage.shipped or step.stage.halo is None:
        return ""
    return _try_halo(step.stage.function, step)


# A notebook may register another function under the name of a stage.
@functools.lru_cache(maxsize=4096)
def _try_halo(function: Callable[..., Any], step: Step) -> str:
    """Try the halo of a step on a few small pairs."""
    try:
        halo = step.halo
    except ValueError as error:
        return blame(error)
    except Exception:  # plug-ins may raise anything; the runs with these parameters will fail
        return ""
    if halo is None or halo > _MOST_HALO:
        return ""
    for world in _worlds(halo, integer=step.stage.integer):
        if difference := _difference(step, world, halo):
            declared = "1 row" if halo == 1 else f"{halo} rows"
            return (
                f"{place_of(function)}: {step.stage.slot} stage {step} gives other results on a strip of rows than on the "
                f"whole image: {difference}; its halo is {declared}; declare as halo= how many rows above and below a row "
                "the result of this row depends on, or leave out halo= if it depends on all"
            )
    return ""


def _difference(step: Step, world: View, halo: int) -> str:
    """Return how the result of a strip differs from that of the whole; empty if it does not."""
    top = _BEYOND
    bottom = top + 2 * halo + _STRIP
    try:
        whole = _results(step, world)
        strip = _results(step, world.rows(top, bottom))
    except Exception:  # the stage may need larger images, or data that are missing here
        return ""
    for name, of_strip in strip.items():
        # Parts beside the maps, such as the penalties of a smoothness term, have other lengths.
        expected = whole[name][top + halo : top + halo + _STRIP]
        if message := _array_difference(of_strip[halo : halo + _STRIP], expected, whole[name]):
            return f"{name} differs {message}"
    return ""


def _array_difference(values: NDArray, expected: NDArray, whole: NDArray) -> str:
    """Return how values differ from those expected, in words; empty if rounding explains it."""
    values, expected = values.astype(np.float64), expected.astype(np.float64)
    finite = whole[np.isfinite(whole)].astype(np.float64)
    allowed = _TOLERANCE * np.ptp(finite) if finite.size else 0.0

    one_is_missing = np.isnan(values) != np.isnan(expected)
    with np.errstate(invalid="ignore"):
        distances = np.abs(values - expected)
    differs = one_is_missing | (distances > allowed)
    if not differs.any():
        return ""
    share = f"in {100 * differs.mean():.2g} % of its values"
    if one_is_missing.any():
        return f"{share}, some of which are missing in one of both"
    return f"{share}, by up to {np.nanmax(distances):.3g}"


def _results(step: Step, view: View) -> dict[str, NDArray]:
    """Return the arrays that a step returns, by name, as a pipeline calls it."""
    ready = _ready(step, view, step.reads)
    result = step(_data(step, ready))
    check_returned(step.stage, result, ready)
    if isinstance(result, CostVolume):
        return {"the volume": result.costs}
    if isinstance(result, Smoothness):
        return {"the weight to the right": result.right, "the weight downwards": result.down}
    if isinstance(result, Labeling):
        return {"the map of levels": result.levels, "the map of costs": result.costs}
    if isinstance(result, tuple):
        return dict(zip(("the disparity map", "the status map"), result, strict=False))
    return {"the result": result}


def _worlds(halo: int, *, integer: bool) -> Iterator[View]:
    """Yield views to try a stage on: with rough and faint images, and volumes of several kinds.

    Faint images let windows grow that end where colours differ.
    """
    dtypes = (np.float32, np.uint8, np.uint16) if integer else (np.float32,)
    for dtype in dtypes:
        yield _world(halo, contrast=256, levels=_LEVELS, dtype=dtype)
    yield _world(halo, contrast=3, levels=_LEVELS, dtype=np.float32)
    yield _world(halo, contrast=256, levels=2, dtype=np.float32)


def _world(halo: int, *, contrast: int, levels: int, dtype: Any) -> View:
    """Return the view of a pair with everything that a stage may name."""
    generator = np.random.default_rng(0)
    rows = 2 * (_BEYOND + halo) + _STRIP
    columns = min(32 + halo, 64)
    texture = generator.integers(0, contrast, (rows, columns + 2, 3)).astype(np.uint8)
    pair = Pair(texture[:, :columns], texture[:, 2:], Search(0, levels - 1))
    shape = rows, columns

    volume = CostVolume((100 * generator.random((*shape, levels))).astype(dtype), pair.search, 100.0)
    disparity = ((levels - 1) * generator.random(shape)).astype(np.float32)
    disparity[generator.random(shape) < 0.1] = np.nan
    status = np.where(np.isnan(disparity), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))
    right, down = generator.random((2, *shape)).astype(np.float32)
    right[:, -1] = 0
    down[-1] = 0
    rho = np.arange(levels, dtype=np.float32)

    view = View.of(pair)
    changes: Mapping[str, Any] = {
        "volumes": {"volume": volume, "raw": volume},
        "smoothness": Smoothness(right, down, rho),
        "disparity": disparity,
        "status": status,
        "confidence": {name: generator.random(shape).astype(np.float32) for name in _confidence_names()},
        "shared": True,
    }
    return replace(view, **changes)


def _confidence_names() -> list[str]:
    """Return the names that maps of confidence may have."""
    return ["matcher", *(stage.name for stage in stages("confidence"))]
