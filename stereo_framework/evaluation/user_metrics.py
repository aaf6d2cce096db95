"""The decorator ``@metric``, which registers metrics of users."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    describe_exception,
    escape_controls,
    one_line,
)
from stereo_framework.core.former_names import new_or_nearest, report_attributes_of_module
from stereo_framework.core.package_files import PACKAGE
from stereo_framework.core.parameters import in_short
from stereo_framework.core.scene import read_only
from stereo_framework.evaluation.metrics import METRICS, About, Better, Metric, Pooled, Region
from stereo_framework.io import read_bytes

F = TypeVar("F", bound=Callable[..., float])

_REGION = ("disparity", "truth", "mask", "given", "calibration")
_FRAME = ("prediction", "image", "predicted")


@checked()
def metric(
    *,
    unit: str,
    better: Literal["lower", "higher", ""],
    source: str = "",
    pooled: Literal["mean", "rms", "sum", ""] = "",
) -> Callable[[F], F]:
    """Register a function as a metric that protocols can name.

    Parameters
    ----------
    unit : str
        Percent, px, grey levels, ...
    better : str
        ``"lower"``, ``"higher"``, or ``""`` where neither is better.
    source : str
        Paper and equation, or program, that defines it.
    pooled : str
        How it is averaged over the pixels of many scenes: ``"mean"``, ``"rms"``, ``"sum"``, or ``""`` where that is not possible.

    Returns
    -------
    callable
        A decorator, which returns the function as it is. The data that the function names decide where it is measured:

        - ``disparity``, ``truth``, ``mask`` (float32 px, float32 px, bool; rows, columns), and perhaps ``given`` (the map before anything was filled, NaN =
          no estimate) and ``calibration``: in each region of the protocol, NAME_REGION;
        - ``prediction``, ``image`` (the predicted view and the real one, uint8) and perhaps ``predicted`` (bool): in each predicted frame, NAME_FRAME.

        Keyword-only parameters are choices of the protocol: its fields by name, or ``threshold``, the main one.

    Raises
    ------
    ParameterError
        The function names other data, or another module has a metric of this name.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import evaluate, metric
    >>> @metric(unit="px", better="lower", source="an example")
    ... def median_error(disparity, truth, mask):
    ...     return np.nanmedian(abs(disparity - truth)[mask])
    >>> truth = np.ones((4, 5), np.float32)
    >>> evaluate(truth + 2, truth, {"base": "taxonomy2002", "metrics": "median_error"})["median_error"]
    2.0
    """

    def register(function: F) -> F:
        name = function.__name__
        parameters = inspect.signature(function).parameters.values()
        data = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        choices = [p.replace(default=p.empty) for p in parameters if p.kind is p.KEYWORD_ONLY]
        _check_texts(name, unit=unit, source=source)
        about: Literal["region", "frame"] = "frame" if "prediction" in data else "region"
        allowed = _FRAME if about == "frame" else _REGION
        for one in data:
            if one not in allowed:
                remedy = new_or_nearest("data_arguments", "metric", one, allowed, kind="data")
                raise ParameterError(f"metric {name}: no such data {one!r}; {remedy}")
        if about == "region" and "truth" not in data:
            raise ParameterError(
                f"metric {name}: names neither truth nor prediction; name disparity, truth, mask or prediction, image"
            )

        def compute(seen: Any, **fields: Any) -> float:
            values = vars(seen) if isinstance(seen, Region) else _view(seen)
            # Other metrics, and the file, take the same arrays.
            given = [
                read_only(value) if isinstance(value, np.ndarray) else value
                for value in (values[one] for one in data)
            ]
            try:
                return float(function(*given, **fields))
            except (Exception, SystemExit) as error:  # somebody's own code may raise anything
                raise DataError(describe_exception(error, function, f"metric {name}")) from error

        seen = inspect.Parameter("seen", inspect.Parameter.POSITIONAL_ONLY)
        compute.__signature__ = inspect.Signature([seen, *choices])  # type: ignore[attr-defined]
        if (
            name in METRICS
            and METRICS[name].compute is None
            and METRICS[name].about in ("region", "frame")
        ):
            METRICS.remove(name)  # it was known by a results folder alone
        METRICS.add(
            name, Metric(name, unit, better, about, source, compute, pooled), function.__module__
        )
        return function

    return register


_LONGEST = {"name": 100, "unit": 40, "source": 2000}
"""Characters of the texts that describe a metric."""


def _check_texts(name: str, **texts: Any) -> None:
    """Refuse descriptions that the file of a results folder cannot hold.

    Raises
    ------
    ParameterError
        One of them is no text, too long, or has a character that is not printable.
    """
    for key, text in {"name": name, **texts}.items():
        if not isinstance(text, str) or len(text) > _LONGEST[key] or escape_controls(text) != text:
            expected = f"a text of up to {_LONGEST[key]} printable characters"
            raise ParameterError(
                f"metric {one_line(name, 80)}: {key} is {in_short(text)}; expected {expected}"
            )


def _view(seen: Any) -> Mapping[str, Any]:
    prediction, image = seen
    return {"prediction": prediction.image, "predicted": prediction.predicted, "image": image}


def describe_metrics(names: Iterable[str]) -> str:
    """Return the metrics that plug-ins brought as JSON for `remember_metrics`; empty without any."""
    own = [METRICS[name] for name in names if METRICS.origin(name) != PACKAGE]
    return (
        json.dumps([[m.name, m.unit, m.better, m.about, m.source, m.pooled] for m in own])
        if own
        else ""
    )


def remember_metrics(path: Path) -> str | None:
    """Register the metrics that a results folder describes, without their code.

    Tables then show their units, directions and sources. The results themselves do not
    depend on the file, so that a damaged one is reported and changes nothing else.

    Parameters
    ----------
    path : Path
        The file that holds what `describe_metrics` has returned. It may be missing.

    Returns
    -------
    str or None
        A warning of one line if the file is damaged.
    """
    if not os.path.lexists(path):
        return None
    try:
        descriptions = _descriptions(path)
    except DataError as error:
        return one_line(f"{error}; metrics of plug-ins are shown without their units")
    for description in descriptions:
        if description.name not in METRICS:
            METRICS.add(description.name, description, _FROM_FOLDER)
    return None


def _descriptions(path: Path) -> list[Metric]:
    """Read the metrics that a file describes.

    Raises
    ------
    DataError
        The file cannot be read, or holds something else.
    """
    content = read_bytes(path, limits.TEXT)
    try:
        rows = _DESCRIPTIONS.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"[{part}]" for part in first["loc"] if isinstance(part, int))
        reason = one_line(f"{place} {first['msg']}".strip(), 150)
        problem = f"{path}: is damaged: {reason}; delete it, and the next run writes it again"
        raise DataError(problem) from None
    return [
        Metric(row.name, row.unit, row.better, row.about, row.source, None, row.pooled)
        for row in rows
    ]


class _Description(NamedTuple):
    """A row of the file: a metric without its function."""

    name: Annotated[str, Field(pattern=r"^[^\W\d]\w*$", max_length=_LONGEST["name"])]
    unit: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$", max_length=_LONGEST["unit"])]
    better: Better
    about: About
    source: Annotated[str, Field(max_length=_LONGEST["source"])]
    pooled: Pooled


_DESCRIPTIONS: TypeAdapter[list[_Description]] = TypeAdapter(
    Annotated[list[_Description], Field(max_length=limits.METRICS)]
)

_FROM_FOLDER = "a results folder"
"""The origin of metrics that a results folder describes."""


report_attributes_of_module(__name__)
