"""Estimate: the result of a pipeline for a pair; and on the way there what its stages return, checked at once, so that a mistake is told with the file and line of its stage."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.border import fault
from stereo_framework.core.calls import CallReport
from stereo_framework.core.errors import (
    NOTE,
    StereoFrameworkError,
    escape_controls,
    one_line,
    source_location,
)
from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.parameters import in_short
from stereo_framework.core.scene import Disparity, SearchRange
from stereo_framework.core.stage import SLOTS, Stage
from stereo_framework.core.traces import as_finite_number, as_lower_bound, as_trace
from stereo_framework.core.view import View, in_one_form
from stereo_framework.core.volume import (
    CostVolume,
    Labeling,
    Levels,
    Smoothness,
    Status,
    fill_levels,
    status_of,
)

_PILE = 0.1
"""Share of the pixels at one end of the search range, beyond that of a uniform spread, from which the range is doubted.

On thirteen real and synthetic pairs a 9x9 window puts at most 4 % there (8 % without a window), with the wrong sign 14 % to 57 %.
"""

_PASSED_ON = f"{NOTE}rows are off"
"""How a warning begins that hold of a whole pair if they hold of the parts that a scheme has made of it."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of a pipeline for a pair.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    levels : ndarray, int16, (rows, columns), or None
        The optimizer's levels, -1 = unassigned; None of a matcher, and where a scheme puts maps together.
    search : SearchRange
    energy : float or None
        Data costs plus smoothness of the levels, unassigned pixels filled from the background, which costs as much as a cell out of view where that cell is
        closed; None where there are no levels.
    objective, lower_bound : float or None
        The optimizer's own objective and a bound of the energy, where it reports them.
    trace : tuple of (float, float) or (float, float, float)
        Seconds and energy per iteration of the optimizer, and its bound where it has one.
    seconds : dict of str to float
        Wall-clock time per stage, without that in which kernels were compiled or loaded.
    warnings : tuple of str
    volume : CostVolume or None
        The volume the optimizer decided on; only with ``keep_volume=True``.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        By measure, higher = surer; a matcher's own is called ``matcher``. Pixels that were filled or have no estimate hold the map's lowest value.
    memory : float or None
        Most memory that a program from outside needed at a time, in MiB; None where there was none, or nobody knows.
    messages : str
        What programs from outside wrote for people.
    """

    disparity: Disparity
    status: NDArray[np.uint8]
    levels: Levels | None
    search: SearchRange
    energy: float | None
    objective: float | None
    lower_bound: float | None
    trace: tuple[tuple[float, ...], ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    volume: CostVolume | None = None
    confidence: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    memory: float | None = None
    messages: str = ""

    def __repr__(self) -> str:
        rows, columns = self.disparity.shape
        estimated = f"{np.isfinite(self.disparity).mean():.0%} of {columns}x{rows} pixels estimated"
        return f"Estimate({estimated}, search {self.search}, {sum(self.seconds.values()):.2g} s)"


def match_of(
    view: View, seconds: dict[str, float], reports: Sequence[CallReport], scale: str
) -> Estimate:
    """The estimate of the last view of a pipeline, with what its stages took and reported, and the `intensity_scale_warning` of its images."""
    warned = [report.warning for report in reports if report.warning]
    if (match := view.matched) is not None:
        warned = [*(line for line in match.warnings if line.startswith(_PASSED_ON)), *warned]
        doubts = warnings(match.levels, match.disparity, match.search, scale)
        confidence = _of_estimates(match.confidence, match.disparity, match.status)
        return replace(match, seconds=seconds, warnings=(*doubts, *warned), confidence=confidence)
    energy = None
    if view.levels is not None:
        energy = float(view.data_costs.sum(dtype=np.float64))
        energy += (
            view.smoothness.of(fill_levels(view.levels)) if view.smoothness is not None else 0.0
        )
    whole = view.labelings[0] if len(view.labelings) == 1 else None
    objectives = [one.objective for one in view.labelings if one.objective is not None]
    disparity = np.ascontiguousarray(view.disparity, np.float32)
    return Estimate(
        disparity=disparity,
        status=view.status,
        levels=view.levels,
        search=view.search,
        energy=energy,
        objective=math.fsum(objectives) if 0 < len(objectives) == len(view.labelings) else None,
        lower_bound=whole.lower_bound if whole else None,
        trace=whole.trace if whole else (),
        seconds=seconds,
        warnings=(*warnings(view.levels, disparity, view.search, scale), *warned),
        volume=view.volumes.get("volume"),  # kept where it is asked for
        confidence=_of_estimates(view.confidence, disparity, view.status),
        memory=max((one.memory for one in reports if one.memory is not None), default=None),
        messages="\n".join(filter(None, (one.messages for one in reports))),
    )


def _of_estimates(
    confidence: Mapping[str, NDArray[np.float32]], disparity: Disparity, status: NDArray[np.uint8]
) -> dict[str, NDArray[np.float32]]:
    """The maps of confidence with their lowest values where a pixel is filled or unknown: nobody is sure of it."""
    unsure = np.isnan(disparity) | (status == Status.FILLED)
    return {name: np.where(unsure, value.min(), value) for name, value in confidence.items()}


def warnings(
    levels: Levels | None, disparity: Disparity, search: SearchRange, scale: str = ""
) -> tuple[str, ...]:
    """What makes a result doubtful without any truth: no estimates, winners that pile up at an end of the range, and the `intensity_scale_warning` of its images."""
    known = disparity[~np.isnan(disparity)]
    if not known.size:
        return ("the result holds no estimate at all",)
    chosen = (
        np.rint((known - search.minimum) / search.step) if levels is None else levels[levels >= 0]
    )
    found = [scale] if scale else []
    for level, end in ((0, "lower"), (search.levels - 1, "upper")):
        share = np.count_nonzero(chosen == level) / max(1, chosen.size)
        if share > _PILE + 1 / search.levels:
            value = search.minimum + level * search.step
            found.append(
                f"{100 * share:.0f} % of the pixels chose the {end} end of the search range, {value:g}: the range may be "
                "too narrow or have the wrong sign, the images may be exchanged, or the costs may be too coarse to tell disparities apart; "
                "widen the range, or exchange the two images"
            )
    return tuple(found)


# --- what stages return -------------------------------------------------------------------------------------------------


def taken(stage: Stage, result: Any, view: View) -> View:
    """Return the view after a stage, whose result is checked first."""
    result = _with_short_levels(stage, result)
    check_returned(stage, result, view)
    result = with_plain_companions(stage, result)
    if stage.slot == "preprocessing":
        return replace(view, corrected=tuple(map(in_one_form, result)))
    if stage.slot == "matching_cost":
        if view.mask is not None:
            if not result.costs.flags.writeable:
                result = replace(result, costs=result.costs.copy())
            view.mask.close(result, result.outside_cost)
        return replace(
            view, volumes={"volume": result, "raw": result}, shared=False, restored=False
        )
    if stage.slot == "aggregation":
        # A volume that it got from elsewhere is read-only.
        return replace(view, volumes={**view.volumes, "volume": result}, shared=False)
    if stage.slot == "smoothness":
        return replace(view, smoothness=result)
    if stage.slot == "optimization":
        return _decided(view, result)
    if stage.slot == "confidence":
        return replace(view, confidence={**view.confidence, stage.name: result})
    if stage.slot == "scheme":
        return replace(view, matched=result)
    disparity, status, confidence = (
        (*result, None, None)[:3] if isinstance(result, tuple) else (result, None, None)
    )
    if confidence is not None:
        view = replace(view, confidence={**view.confidence, stage.slot: confidence})
    if status is None and view.status is None:
        status = status_of(disparity)
    elif status is None:
        before, status = view.disparity, view.status.copy()
        status[np.isnan(before) & ~np.isnan(disparity)] = Status.FILLED
        status[~np.isnan(before) & np.isnan(disparity)] = Status.MISMATCHED
    return view.known(disparity, status)


def _with_short_levels(stage: Stage, result: Any) -> Any:
    """Return the result of an optimizer with levels in int16, if int16 holds all of them."""
    if stage.slot != "optimization":
        return result
    levels = result.levels if isinstance(result, Labeling) else result
    is_wide = isinstance(levels, np.ndarray) and levels.dtype in (np.int32, np.int64)
    if not is_wide or not levels.size or levels.min() < -1 or levels.max() > np.iinfo(np.int16).max:
        return result
    short_levels = levels.astype(np.int16)
    return replace(result, levels=short_levels) if isinstance(result, Labeling) else short_levels


def _decided(view: View, result: Any) -> View:
    """The view after an optimizer."""
    search, mask = view.search, view.mask
    if isinstance(result, np.ndarray) and result.dtype == np.int16:
        result = Labeling(result, view.volume.chosen(result).astype(np.float32))
    if isinstance(result, np.ndarray):  # a continuous map
        if mask is not None:
            result = np.where(
                mask.closed(search.levels_of(result), search), np.float32(np.nan), result
            )
        return view.known(result, status_of(result))
    levels, volume = result.levels, result.volume or view.volume
    if mask is not None and (closed := mask.closed(levels, search)).any():
        levels = np.where(closed, np.int16(-1), levels)
    filled = fill_levels(levels)
    costs = result.costs if filled is result.levels else view.volume.chosen(filled)
    if mask is not None and costs is not result.costs:
        # What marks a closed cell is no cost; a pixel without an open one has none.
        costs[mask.closed(filled, search)], costs[view.invalid] = view.volume.outside_cost, 0
    volumes = {**view.volumes, "volume": volume}
    view = replace(
        view,
        levels=levels,
        data_costs=costs,
        labelings=(replace(result, volume=None),),
        volumes=volumes,
    )
    disparity = search.disparity_of(levels)
    return view.known(disparity, status_of(disparity))


def wrong_return(stage: Stage, wrong: str) -> StereoFrameworkError:
    """What is raised where a stage returned what stages of its slot must not return."""
    return StereoFrameworkError(
        f"{source_location(stage.function)}: {stage.slot} stage {stage.name} returned {wrong}"
    )


def check_returned(stage: Stage, result: Any, view: View) -> None:
    """Refuse what a stage must not return.

    Raises
    ------
    StereoFrameworkError
        It is of another type, shape or dtype than stages of its slot return, or its values are not finite. The message names the stage's file and line.
    """
    parts, levels = _parts(stage, result), view.search.levels
    if parts is None:
        expected = (
            f"expected {SLOTS[stage.slot].returns}, of {view.shape} pixels and {levels} levels"
        )
        raise wrong_return(stage, f"{in_short(result)}; {expected}")
    for name, value, role in parts:
        if wrong := _wrong(stage, value, role, view):
            raise wrong_return(stage, f"{name}: {wrong}")
    for one in (result, getattr(result, "volume", None)):
        if isinstance(one, CostVolume | Estimate) and one.search != view.search:
            raise wrong_return(
                stage,
                f"the search range of the {type(one).__name__} is {one.search!r}; expected {view.search!r}, the range that the stage received",
            )
        if isinstance(one, CostVolume):
            most = (
                np.finfo(np.float32).max
                if one.costs.dtype == np.float32
                else np.iinfo(one.costs.dtype.name).max
            )
            if (
                not isinstance(one.outside_cost, int | float | np.floating | np.integer)
                or not abs(one.outside_cost) <= most
            ):
                raise wrong_return(
                    stage,
                    f"the outside cost {one.outside_cost!r}; expected a finite one, up to {most:g}",
                )


def with_plain_companions(stage: Stage, result: Any) -> Any:
    """Return a result whose numbers and texts in addition to its arrays are plain Python.

    Tables, files and charts show the trace, the lower bound, the energies and the
    warnings of a result long after the stage has returned, so that they are checked here.

    Raises
    ------
    StereoFrameworkError
        One of them is of another type, or a number is not finite. The message names the
        stage's file and line.
    """
    converters: Mapping[str, Callable[[Any], Any]] = {}
    if isinstance(result, Labeling):
        converters = _OF_LABELINGS
    elif isinstance(result, Estimate):
        converters = _OF_MATCHES
    plain = {}
    for name, convert in converters.items():
        try:
            plain[name] = convert(getattr(result, name))
        except ValueError as error:
            raise wrong_return(stage, f"{name}: {error}") from None
    return replace(result, **plain) if plain else result


def plain_report(stage: Stage, report: CallReport) -> CallReport:
    """Return the report of a call with plain numbers and texts.

    Raises
    ------
    StereoFrameworkError
        One of them is of another type, or a number is not finite.
    """
    try:
        return CallReport(
            seconds=_finite_or_none(report.seconds),
            memory=_finite_or_none(report.memory),
            messages=_text(report.messages),
            warning=one_line(_text(report.warning)),
        )
    except ValueError as error:
        problem = (
            f"{source_location(stage.function)}: {stage.slot} stage {stage.name} reported {error}"
        )
        raise StereoFrameworkError(problem) from None


def _finite_or_none(value: Any) -> float | None:
    return None if value is None else as_finite_number(value)


def _bound_or_none(value: Any) -> float | None:
    """Convert a lower bound; minus infinity, which every energy exceeds, becomes None."""
    bound = None if value is None else as_lower_bound(value)
    return None if bound == -math.inf else bound


def _text(value: Any) -> str:
    """Check a text; what a terminal would execute or no file can hold is spelt out."""
    if not isinstance(value, str):
        raise ValueError(f"{in_short(value)}; expected a text")
    return escape_controls(value)


def _warning_lines(value: Any) -> tuple[str, ...]:
    """Convert the warnings of a match to single lines."""
    if not isinstance(value, tuple | list):
        raise ValueError(f"{in_short(value)}; expected a tuple of texts")
    return tuple(one_line(_text(line)) for line in value)


def _named_maps(value: Any) -> dict[str, NDArray[np.float32]]:
    """Check the names of confidence maps, which become parts of file names."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{in_short(value)}; expected a mapping of names to maps")
    for name in value:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"the name {in_short(name)}; expected up to 60 letters, digits, '_' or '-'"
            )
    return dict(value)


_NAME = re.compile(r"[\w-]{1,60}")

_OF_LABELINGS: Mapping[str, Callable[[Any], Any]] = {
    "trace": as_trace,
    "lower_bound": _bound_or_none,
    "objective": _finite_or_none,
}
"""Converters of what a `Labeling` holds in addition to its arrays."""

_OF_MATCHES: Mapping[str, Callable[[Any], Any]] = {
    **_OF_LABELINGS,
    "energy": _finite_or_none,
    "memory": _finite_or_none,
    "messages": _text,
    "warnings": _warning_lines,
    "confidence": _named_maps,
}
"""Converters of the fields of an `Estimate` other than its arrays."""


def _parts(stage: Stage, result: Any) -> list[tuple[str, Any, str]] | None:
    """The arrays of a result, each with its name and role; None where it is not what stages of the slot return."""
    match stage.slot, result:
        case "confidence", _:
            return [("confidence", result, "map")]
        case "preprocessing", _ if stage.data[0] == "image":
            return [("image", result, "image")]
        case "preprocessing", tuple((reference, match)):
            return [("image", reference, "image"), ("image", match, "image")]
        case "matching_cost" | "aggregation", CostVolume():
            return [("costs", result.costs, "costs")]
        case "smoothness", Smoothness():
            return [
                ("right", result.right, "map"),
                ("down", result.down, "map"),
                ("rho", result.rho, "rho"),
            ]
        case "optimization", Labeling(volume=CostVolume() | None) if "other" not in stage.data:
            volume = (
                [] if result.volume is None else [("volume.costs", result.volume.costs, "costs")]
            )
            return [("levels", result.levels, "levels"), ("costs", result.costs, "map"), *volume]
        case "optimization", np.ndarray() if result.dtype == np.int16 and "other" not in stage.data:
            return [("levels", result, "levels")]
        case (
            "scheme",
            Estimate(),
        ):  # whole: what a scheme puts together goes to people and tables as it is
            maps_of_match = [
                (name, getattr(result, name), name) for name in ("disparity", "status")
            ]
            levels = [] if result.levels is None else [("levels", result.levels, "levels")]
            # A confidence that is no mapping is refused together with the numbers and texts.
            named = result.confidence.items() if isinstance(result.confidence, Mapping) else ()
            return [
                *maps_of_match,
                *levels,
                *((f"confidence {name}", values, "map") for name, values in named),
            ]
    most = {"matcher": 3, "refinement": 2, "optimization": 1}.get(stage.slot, 0)
    maps = result if isinstance(result, tuple) else (result,)
    if not 1 <= len(maps) <= most or not isinstance(maps[0], np.ndarray):
        return None
    return list(
        zip(
            ("disparity", "status", "confidence"),
            maps,
            ("disparity", "status", "map"),
            strict=False,
        )
    )


def _wrong(stage: Stage, value: Any, role: str, view: View) -> str:
    """What is wrong with an array of a role, empty if nothing is."""
    levels = view.search.levels
    shape = {"image": view.reference.shape, "costs": (*view.shape, levels), "rho": (levels,)}.get(
        role, view.shape
    )
    if wrong := fault(value, role, shape):
        return wrong
    if role == "levels" and (value.min() < -1 or value.max() >= levels):
        return f"levels from {value.min()} to {value.max()}; expected -1 to {levels - 1}"
    if role == "status" and value.max(initial=0) > max(Status):
        return f"{value.max()}; expected values of Status, 0 to {max(Status):d}"
    if role == "costs" and not value.flags.c_contiguous:
        return "not in C order; expected np.ascontiguousarray(costs)"
    # To see that all costs of a volume are finite takes time: only stages from outside are asked, the built-in ones are tested for it.
    if (
        role == "costs"
        and value.dtype == np.float32
        and not stage.is_built_in
        and not np.isfinite(value).all()
    ):
        return "not finite; expected finite costs"
    return ""


def check_direction(
    stage: Stage, call: Callable[[Mapping[str, Any]], CostVolume], image: NDArray
) -> None:
    """Refuse a matching cost from outside that looks to the same side whatever ``search.direction`` says: its other view would be wrong all over.

    A texture of the image's type, moved by two pixels, must be found at 2 from either side. A cost that does not find it from the usual side either is not judged: it may
    need larger images or more than them.

    Raises
    ------
    StereoFrameworkError
        It finds the texture from the left image and not from the right one.
    """
    if stage.is_built_in:
        return
    texture = (
        np.random.default_rng(1).integers(0, 256, (24, 48, 3)[: image.ndim]).astype(image.dtype)
    )
    left, right = (np.ascontiguousarray(texture[:, start : start + 40]) for start in (0, 2))
    shares = []
    for reference, match, direction in ((left, right, 1), (right, left, -1)):
        data = {
            "reference": reference,
            "match": match,
            "search": SearchRange(0, 5, direction=direction),
        }
        try:
            levels = call(dict.fromkeys(stage.data) | data).costs[6:-6, 12:-12].argmin(axis=2)
        except Exception:  # too small an image for it, or it takes what is missing here
            return
        shares.append(float(np.mean(levels == 2)))
    # By chance it is a sixth.
    if shares[0] > 0.8 and shares[1] < 0.5:
        raise wrong_return(
            stage,
            f"costs that do not obey search.direction: a texture moved by 2 pixels is found at 2 by {shares[0]:.0%} of the pixels of the left image and by "
            f"{shares[1]:.0%} of those of the right one; a pixel meets x - search.direction * d",
        )


report_attributes_of_module(__name__)
