"""The door for measures of one's own: ``@measure``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError, nearest, told
from stereo_framework.core.scene import read_only
from stereo_framework.evaluation.metrics import METRICS, Metric, Region

F = TypeVar("F", bound=Callable[..., float])

_REGION = ("disparity", "truth", "mask", "given", "calibration")
_FRAME = ("prediction", "image", "visible")


def measure(
    *, unit: str, better: Literal["lower", "higher", ""], source: str = "", pooled: Literal["mean", "rms", "sum", ""] = ""
) -> Callable[[F], F]:
    """Register a function as a measure that protocols can name.

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
        - ``prediction``, ``image`` (the predicted view and the real one, uint8) and perhaps ``visible`` (bool): in each predicted frame, NAME_FRAME.

        Keyword-only parameters are choices of the protocol: its fields by name, or ``threshold``, the main one.

    Raises
    ------
    ParameterError
        The function names other data, or another module has a measure of this name.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import evaluate, measure
    >>> @measure(unit="px", better="lower", source="an example")
    ... def median_error(disparity, truth, mask):
    ...     return np.nanmedian(abs(disparity - truth)[mask])
    >>> truth = np.ones((4, 5), np.float32)
    >>> evaluate(truth + 2, truth, {"base": "taxonomy2002", "measures": "median_error"})["median_error"]
    2.0
    """

    def register(function: F) -> F:
        name = function.__name__
        parameters = inspect.signature(function).parameters.values()
        data = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        choices = [p.replace(default=p.empty) for p in parameters if p.kind is p.KEYWORD_ONLY]
        if better not in ("lower", "higher", ""):
            raise ParameterError(f"measure {name}: better is {better!r}; legal: 'lower', 'higher', or '' where neither is")
        about: Literal["region", "frame"] = "frame" if "prediction" in data else "region"
        legal = _FRAME if about == "frame" else _REGION
        for one in data:
            if one not in legal:
                raise ParameterError(f"measure {name}: no such data {one!r}; {nearest(one, legal, kind='data')}")
        if about == "region" and "truth" not in data:
            raise ParameterError(
                f"measure {name}: names neither truth nor prediction; name disparity, truth, mask or prediction, image"
            )

        def compute(seen: Any, **fields: Any) -> float:
            values = vars(seen) if isinstance(seen, Region) else _view(seen)
            # Other measures, and the file, take the same arrays.
            given = [read_only(value) if isinstance(value, np.ndarray) else value for value in (values[one] for one in data)]
            try:
                return float(function(*given, **fields))
            except (Exception, SystemExit) as error:  # somebody's own code may raise anything
                raise DataError(told(error, function, f"measure {name}")) from error

        seen = inspect.Parameter("seen", inspect.Parameter.POSITIONAL_ONLY)
        compute.__signature__ = inspect.Signature([seen, *choices])  # type: ignore[attr-defined]
        if name in METRICS and METRICS[name].compute is None and METRICS[name].about in ("region", "frame"):
            METRICS.forget(name)  # it was known by a results folder alone
        METRICS.add(name, Metric(name, unit, better, about, source, compute, pooled), function.__module__)
        return function

    return register


def _view(seen: Any) -> Mapping[str, Any]:
    prediction, image = seen
    return {"prediction": prediction.image, "visible": prediction.visible, "image": image}


def described(names: Iterable[str]) -> str:
    """Those of some measures that plug-ins brought, as JSON that `remember` takes; empty where there are none."""
    own = [METRICS[name] for name in names if METRICS.origin(name) != METRICS.OURS]
    return json.dumps([[m.name, m.unit, m.better, m.about, m.source, m.pooled] for m in own]) if own else ""


def remember(text: str) -> None:
    """Know the measures that a results folder describes, without the code that measured them: their units, directions and sources."""
    for name, unit, better, about, source, pooled in json.loads(text):
        if name not in METRICS:
            METRICS.add(name, Metric(name, unit, better, about, source, None, pooled), "a results folder")
