"""Conversion of numbers and texts that stages return or report to Python types.

Later code writes the converted numbers and texts to tables and files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.call_context import CallReport, collecting_reports, report_call
from stereo_framework.core.errors import (
    StereoFrameworkError,
    escape_controls,
    one_line,
    source_location,
)
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.parameters import in_short
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import Step
from stereo_framework.core.traces import as_finite_number, as_lower_bound, as_trace
from stereo_framework.core.volume import Labeling
from stereo_framework.engine.direction_check import check_direction
from stereo_framework.engine.return_checks import check_result_of_inner_stage, wrong_return


def call_stage(step: Step, data: Mapping[str, Any]) -> Any:
    """Call the stage of a step, and check the last report of the stage.

    The checked report is sent on to the pipeline. The results of inner stages are
    checked, too.

    Raises
    ------
    StereoFrameworkError
        If a number or a text in the report has a wrong type, or if a number is not
        finite.
    """
    with collecting_reports() as reports:
        result = step(data, check_result=_check_inner_result)
    if reports:
        report_call(plain_report(step.stage, reports[-1]))
    return result


def _check_inner_result(step: Step, result: Any, data: Mapping[str, Any]) -> None:
    """Check the result of an inner step, and the direction in which its costs search.

    An outer stage may call an inner matching cost in another direction than its own.
    For example, a camera at a negative baseline is on the other side of the reference
    camera. Therefore, the direction of each inner call counts.

    Parameters
    ----------
    step : Step
        The inner step.
    result : object
    data : mapping of str to object
        Data of the call of the inner step.

    Raises
    ------
    StereoFrameworkError
        If the result is wrong, or if the costs ignore the direction of the search.
    """
    check_result_of_inner_stage(step.stage, result, data)
    if step.stage.rules.makes_raw_volume and data["search"].direction < 0:
        check_direction(step, data["reference"])


def with_plain_companions(stage: Stage, result: Any) -> Any:
    """Convert the numbers and texts in the result of a stage to Python types.

    Examples of converted values are energies, lower bounds, traces and warnings. The
    values are checked directly after the call, so that an error message can name the
    stage.

    Raises
    ------
    StereoFrameworkError
        If a number or a text has a wrong type, or if a number is not finite. The error
        message names the file and the line of the stage.
    """
    converters: Mapping[str, Callable[[Any], Any]] = {}
    if isinstance(result, Labeling):
        converters = _FIELDS_OF_LABELINGS
    elif isinstance(result, Estimate):
        converters = _FIELDS_OF_ESTIMATES
    plain = {}
    for name, convert in converters.items():
        try:
            plain[name] = convert(getattr(result, name))
        except ValueError as error:
            raise wrong_return(stage, f"{name}: {error}") from None
    return replace(result, **plain) if plain else result


def plain_report(stage: Stage, report: CallReport) -> CallReport:
    """Convert the numbers and texts that a stage has reported to Python types.

    Raises
    ------
    StereoFrameworkError
        If a reported number or text has a wrong type, or if a number is not finite.
    """
    try:
        return CallReport(
            seconds=_finite_or_none(report.seconds),
            memory=_finite_or_none(report.memory),
            messages=_text(report.messages),
            warning=one_line(_text(report.warning)),
            processor_seconds=_finite_or_none(report.processor_seconds),
        )
    except ValueError as error:
        location = source_location(stage.function)
        message = f"{location}: {stage.slot} stage {stage.name} reported {error}"
        raise StereoFrameworkError(message) from None


def _finite_or_none(value: Any) -> float | None:
    return None if value is None else as_finite_number(value)


def _bound_or_none(value: Any) -> float | None:
    """Convert a lower bound to a float, or to None if the bound is minus infinity."""
    bound = None if value is None else as_lower_bound(value)
    return None if bound == -math.inf else bound


def _text(value: Any) -> str:
    """Escape control characters in a text, so that a terminal does not execute them."""
    if not isinstance(value, str):
        raise ValueError(f"{in_short(value)}; expected a text")
    return escape_controls(value)


def _warning_lines(value: Any) -> tuple[str, ...]:
    """Check the warnings of an estimate, and convert each warning to a single line."""
    if not isinstance(value, tuple | list):
        raise ValueError(f"{in_short(value)}; expected a tuple with a text for each warning")
    return tuple(one_line(_text(line)) for line in value)


def _named_maps(value: Any) -> dict[str, NDArray[np.float32]]:
    """Check that the names of confidence maps are allowed in file names."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{in_short(value)}; expected a mapping of names to confidence maps")
    for name in value:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"the name {in_short(name)}; expected a name of 1 to 60 letters, digits, _ or -"
            )
    return dict(value)


_NAME = re.compile(r"[\w-]{1,60}")


_FIELDS_OF_LABELINGS: Mapping[str, Callable[[Any], Any]] = {
    "trace": as_trace,
    "lower_bound": _bound_or_none,
    "objective": _finite_or_none,
}
"""Functions that check and convert the numbers in a `Labeling`, by field name."""


_FIELDS_OF_ESTIMATES: Mapping[str, Callable[[Any], Any]] = {
    **_FIELDS_OF_LABELINGS,
    "energy": _finite_or_none,
    "memory": _finite_or_none,
    "messages": _text,
    "warnings": _warning_lines,
    "confidence": _named_maps,
}
"""Functions that check and convert the numbers and texts in an `Estimate`."""
