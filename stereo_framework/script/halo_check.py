"""A check of the halo that a plug-in declares, on a strip of rows of a small image.

If a stage has a halo of n rows, a pipeline runs the stage on strips of rows, each with n
more rows above and below. If the result of the stage depends on more rows than these, the
results are wrong at the edges of the strips. Only a comparison with the result on the
whole image shows this.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import short, source_location, warn
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import names_of_confidence_maps
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import Step, describe_stage_error
from stereo_framework.core.view import DisparityMap, View, Volumes
from stereo_framework.core.volume import CostVolume, Labeling, Smoothness, Status
from stereo_framework.engine.return_checks import check_returned
from stereo_framework.engine.returns import with_short_levels
from stereo_framework.engine.runner import data_of_stage, with_converted_volumes

_STRIP = 8
"""Rows of the strip."""

_MARGIN = 9
"""Rows of the images above and below the strip and its halo.

The number is odd, so that the rows that a stage receives begin at an odd row.
"""

_LARGEST_HALO = 500
"""Rows of the largest halo that is tried. Larger halos would take too long."""

_TOLERANCE = 1e-3
"""Difference that rounding may cause, as a share of the range of a result.

Sums of float32 numbers differ by up to 4e-4.
"""

_LEVELS = 6
"""Number of disparities of most volumes."""


def halo_fault(step: Step) -> str:
    """Return the message about a halo that is too small; empty without a fault.

    Parameters
    ----------
    step : Step
        The stage of a plug-in with its parameters, on which the halo may depend.
    """
    if step.stage.is_built_in or step.stage.halo is None:
        return ""
    return _try_halo(step.stage.function, step)


# The cache distinguishes the functions, because a notebook may register another function
# under the name of a stage.
@functools.lru_cache(maxsize=4096)
def _try_halo(function: Callable[..., Any], step: Step) -> str:
    """Try the halo of a step on small pairs, and return the message about its fault."""
    try:
        halo = step.halo
    except ValueError as error:
        return describe_stage_error(error)
    except Exception:
        # Plug-ins may raise anything. Runs with these parameters will report the error.
        return ""
    if halo is None or halo > _LARGEST_HALO:
        return ""
    compared = False
    for view in _random_views(halo, integer=step.accepts_integers):
        try:
            whole_arrays = _result_arrays(step, view)
            strip_arrays = _result_arrays(step, view.rows(_MARGIN, _MARGIN + 2 * halo + _STRIP))
        except Exception as error:
            # The stage may need larger images, or data that the view does not contain.
            reason = f"{type(error).__name__}: {short(str(error), 100)}"
            continue
        compared = True
        if difference := _strip_difference(whole_arrays, strip_arrays, halo):
            declared = "1 row" if halo == 1 else f"{halo} rows"
            return (
                f"{source_location(function)}: {step.stage.slot} stage {step} gives other results on a strip of rows than on the "
                f"whole image: {difference}; its halo is {declared}; declare as halo= how many rows above and below a row "
                "the result of this row depends on, or leave out halo= if it depends on all"
            )
    if not compared:
        place = source_location(function)
        stage_name = f"{step.stage.slot} stage {step.stage.name}"
        _warn_once(
            f"{place}: the halo of the {stage_name} was not checked, because "
            f"the stage raises an error on small random images ({reason}); "
            "if results change when you leave out halo=, the halo is too small"
        )
    return ""


@functools.cache
def _warn_once(message: str) -> None:
    """Issue a warning. A sweep tries a stage with many parameters."""
    warn([message])


def _strip_difference(
    whole_arrays: Mapping[str, NDArray], strip_arrays: Mapping[str, NDArray], halo: int
) -> str:
    """Describe how the results on strip and whole view differ; empty if they agree."""
    for name, strip_array in strip_arrays.items():
        values = strip_array[halo : halo + _STRIP]
        first_row = _MARGIN + halo
        expected = whole_arrays[name][first_row : first_row + _STRIP]
        if message := _array_difference(values, expected, whole_arrays[name]):
            return f"{name} differs {message}"
    return ""


def _array_difference(values: NDArray, expected: NDArray, whole: NDArray) -> str:
    """Describe how values differ from expected ones; empty if rounding explains it."""
    values, expected = values.astype(np.float64), expected.astype(np.float64)
    finite = whole[np.isfinite(whole)].astype(np.float64)
    allowed = _TOLERANCE * np.ptp(finite) if finite.size else 0.0

    missing_in_one = np.isnan(values) != np.isnan(expected)
    with np.errstate(invalid="ignore"):
        distances = np.abs(values - expected)
    differs = missing_in_one | (distances > allowed)
    if not differs.any():
        return ""
    share = f"in {100 * differs.mean():.2g} % of its values"
    if missing_in_one.any():
        return f"{share}, some of which are missing in one of both"
    return f"{share}, by up to {np.nanmax(distances):.3g}"


def _result_arrays(step: Step, view: View) -> dict[str, NDArray]:
    """Call a step like a pipeline does, and return the arrays of its result by name.

    Only arrays with a row for each row of the image are returned.
    """
    ready = with_converted_volumes(step, view, step.reads)
    result = with_short_levels(step.stage, step(data_of_stage(step, ready)))
    check_returned(step.stage, result, ready.reference.shape, ready.search)
    if isinstance(result, CostVolume):
        return {"the volume": result.costs}
    if isinstance(result, Smoothness):
        return {"the weight to the right": result.right, "the weight downwards": result.down}
    if isinstance(result, Labeling):
        return {"the map of levels": result.levels, "the map of costs": result.costs}
    if isinstance(result, tuple):
        return dict(zip(("the disparity map", "the status map"), result, strict=False))
    return {"the result": result}


def _random_views(halo: int, *, integer: bool) -> Iterator[View]:
    """Yield views with images of high and low contrast, and with volumes of several types.

    Some windows grow until colours differ. Images of low contrast let them grow far.
    Filters of OpenCV spread missing estimates, so one view is complete.
    """
    dtypes = (np.float32, np.uint8, np.uint16) if integer else (np.float32,)
    for dtype in dtypes:
        yield _random_view(halo, contrast=256, levels=_LEVELS, dtype=dtype)
    yield _random_view(halo, contrast=3, levels=_LEVELS, dtype=np.float32)
    yield _random_view(halo, contrast=256, levels=2, dtype=np.float32)
    view = _random_view(halo, contrast=256, levels=_LEVELS, dtype=np.float32)
    complete_map = DisparityMap(
        disparity=np.nan_to_num(view.disparity),
        status=np.full_like(view.status, Status.MATCHED),
        search=view.search,
        confidence=view.confidence,
    )
    yield replace(view, disparity_map=complete_map)


def _random_view(halo: int, *, contrast: int, levels: int, dtype: Any) -> View:
    """Return the view of a random pair with all data that a stage may take.

    Parameters
    ----------
    halo : int
        Rows of the halo that is tried.
    contrast : int
        Number of intensities of the images.
    levels : int
        Number of disparities.
    dtype : dtype
        Type of the volumes.
    """
    generator = np.random.default_rng(0)
    rows = 2 * (_MARGIN + halo) + _STRIP
    columns = min(32 + halo, 64)
    texture = generator.integers(0, contrast, (rows, columns + 2, 3)).astype(np.uint8)
    pair = Pair(texture[:, :columns], texture[:, 2:], SearchRange(0, levels - 1))
    shape = rows, columns

    volume = CostVolume(
        (100 * generator.random((*shape, levels))).astype(dtype), pair.search, 100.0
    )
    disparity = ((levels - 1) * generator.random(shape)).astype(np.float32)
    disparity[generator.random(shape) < 0.1] = np.nan
    status = np.where(np.isnan(disparity), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))
    right, down = generator.random((2, *shape)).astype(np.float32)
    right[:, -1] = 0
    down[-1] = 0
    rho = np.arange(levels, dtype=np.float32)

    confidence = {
        name: generator.random(shape).astype(np.float32) for name in names_of_confidence_maps()
    }
    smoothness = Smoothness(right, down, rho)
    return replace(
        View.of(pair),
        volumes=Volumes(current=volume, raw=volume, smoothness=smoothness, is_shared=True),
        disparity_map=DisparityMap(disparity, status, pair.search, confidence),
    )
