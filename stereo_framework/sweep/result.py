"""One measured run."""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, one_line, warn
from stereo_framework.core.scene import Disparity
from stereo_framework.core.traces import Point, as_trace
from stereo_framework.datasets import scene_fits
from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep.null_value import NULL

if TYPE_CHECKING:
    import pandas

EVALUATION = "evaluation"
"""What the measuring of a map is called among the seconds of a result."""

MEMORY, MESSAGES = "peak_memory", "messages"
"""What the memory of programs from outside is called among the statistics of a result, in MiB, and what they wrote for people in its environment."""

LOWER_BOUND, GAP = "lower_bound", "gap"
"""What an optimizer's lower bound of the energy is called among the statistics, and how much higher the energy is, in percent of the bound."""

TRACE = "trace"
"""What an optimizer's trace is called in the environment of a result: as JSON, for seconds and energies are those of one computation."""

CONFIDENCE = "_confidence_"
"""Stands between the name of a map and that of a measure in the name of a file of confidence."""


def confidence_file(map_file: Path, measure: str) -> Path:
    """Where the confidence of a map lies."""
    return map_file.with_name(f"{map_file.stem}{CONFIDENCE}{measure}.pfm")


def confidence_files(map_file: Path) -> dict[str, Path]:
    """The files of confidence beside a map, by measure."""
    start = f"{map_file.stem}{CONFIDENCE}"
    return {
        path.stem.removeprefix(start): path
        for path in sorted(map_file.parent.glob(f"{glob.escape(start)}*.pfm"))
    }


def text_of_trace(trace: Sequence[Point]) -> str:
    """Return a trace as JSON, empty without points. An unknown lower bound becomes null.

    Examples
    --------
    >>> text_of_trace([(0.1, 5.0, -math.inf)])
    '[[0.1, 5.0, null]]'
    """
    points = [[None if number == -math.inf else number for number in point] for point in trace]
    return json.dumps(points, allow_nan=False) if points else ""


def trace_of_text(text: str) -> tuple[Point, ...]:
    """Return the trace that `text_of_trace` has written, or earlier versions with -Infinity.

    Raises
    ------
    ValueError
        The text is no such trace.
    """
    if len(text) > limits.TRACE_TEXT:
        raise ValueError(f"{len(text)} characters; at most {limits.TRACE_TEXT} are read")
    # Unlike the standard library, this reader refuses deeply nested lists with a ValueError.
    points = from_json(text)
    if not isinstance(points, list):
        raise ValueError(f"a {type(points).__name__}; expected a list of points")
    return as_trace([_with_unknown_bound(point) for point in points])


def _with_unknown_bound(point: Any) -> Any:
    """Replace a null in the place of the lower bound by minus infinity."""
    if isinstance(point, list) and len(point) == 3 and point[2] is None:
        return [*point[:2], -math.inf]
    return point


SCENES_OF_METHOD = "scenes_of_method"
"""Key of a result's environment for the scenes to which the script restricts a method.

The value is a JSON list of names.
"""


def changed_maps_warning(paths: Sequence[Path]) -> str:
    """Return one warning for maps that were changed since they were written; empty without any."""
    if not paths:
        return ""
    first = one_line(str(paths[0]), 200)
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{first}{others}: changed since this program wrote it; the stored statistics belong to other disparities"


@dataclass(frozen=True, eq=False)
class Result:
    """A method's parameters on a scene, measured under a protocol.

    Parameters
    ----------
    id : str
        Digest of the scene's content, the parameters and the source code that computed with them.
    scene, method : str
    parameters : mapping
        All resolved values by dotted name.
    axes : mapping
        Those of them that the script swept.
    protocol : str
        The protocol's name.
    statistics : mapping of str to float
        Percentages in percent, disparities in pixels; empty after an error.
    energy : float or None
        Of the optimizer's labels.
    seconds : mapping of str to float
        Wall-clock time per stage and, under ``evaluation``, of measuring the map, without that in which kernels were compiled or loaded;
        the pair's images are read before. What several runs of a sweep share is computed once, but told by each of them as if it had been
        alone; a stage that was continued from fewer iterations counts these too. Sums over runs therefore exceed the sweep's time.
    warnings : tuple of str
    error : str or None
        Why the run failed: one line, with the place in the code of the stage that failed.
    traceback : str
        All of it, as far as it was this call that computed.
    script : mapping
        The resolved script of this one run.
    protocol_text : str
        Every choice of the protocol, as printed under tables.
    map : Path or None
        The stored disparity map.
    environment : mapping of str to str
        Versions of the packages, and the machine, that computed; ``messages``: what a program from outside wrote for people; ``trace``: see `trace`.
    """

    id: str
    scene: str
    method: str
    parameters: Mapping[str, Any]
    axes: Mapping[str, Any]
    protocol: str
    statistics: Mapping[str, float] = field(default_factory=dict)
    energy: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: str | None = None
    script: Mapping[str, Any] = field(default_factory=dict)
    protocol_text: str = ""
    map: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    traceback: str = ""
    _disparity: Disparity | None = None
    _confidence: Mapping[str, Disparity] = field(default_factory=dict)

    def is_meant_for(self, scene: str) -> bool:
        """Return whether the script runs the method on a scene."""
        try:
            names = from_json(self.environment.get(SCENES_OF_METHOD, "[]"))
        except ValueError:
            # Another program has written the result.
            return True
        return not names or any(scene_fits(scene, str(name)) for name in names)

    @property
    def matching_seconds(self) -> float | None:
        """What matching took, all stages together; None where nothing was matched."""
        stages = [seconds for stage, seconds in self.seconds.items() if stage != EVALUATION]
        return sum(stages) if stages else None

    @property
    def disparity(self) -> Disparity | None:
        """The disparity map in pixels, NaN = no estimate; None when it was not kept."""
        if self._disparity is None and self.map is not None and self.map.is_file():
            return self.read_map()
        return self._disparity

    def read_map(self) -> Disparity:
        """Read the stored disparity map.

        Raises
        ------
        DataError
            The file is missing or damaged, or no map is stored.
        """
        from stereo_framework.io import read_disparity

        if self.map is None:
            raise DataError(
                f"{one_line(self.scene, 80)} {one_line(self.method, 80)}: the run has stored no map"
            )
        return read_disparity(self.map)

    @property
    def confidence(self) -> Mapping[str, Disparity]:
        """The method's own confidence by measure, float32 (rows, columns), higher = surer; empty where it has none or the map was not kept."""
        if not self._confidence and self.map is not None:
            from stereo_framework.io import read_pfm

            return {name: read_pfm(path) for name, path in confidence_files(self.map).items()}
        return self._confidence

    def changed_files(self) -> list[Path]:
        """Return the stored map and its confidence, if they were changed since they were written.

        The statistics then belong to another map.
        """
        from stereo_framework.io import changed_since_written

        if self.map is None or self._disparity is not None:
            return []
        return [
            path
            for path in (self.map, *confidence_files(self.map).values())
            if changed_since_written(path)
        ]

    @property
    def trace(self) -> tuple[Point, ...]:
        """Seconds, energy and perhaps lower bound after each iteration of the optimizer.

        The lower bound is -inf as long as it is not known. The trace is empty if the
        optimizer reported none, or if the stored one is damaged.

        Warns
        -----
        ResultWarning
            The stored trace is damaged.
        """
        try:
            return self.read_trace()
        except DataError as error:
            warn([str(error)])
            return ()

    def read_trace(self) -> tuple[Point, ...]:
        """Return the trace, and refuse a damaged one.

        Raises
        ------
        DataError
            The stored trace is no list of points.
        """
        text = self.environment.get(TRACE, "")
        try:
            return trace_of_text(text) if text else ()
        except ValueError as error:
            name = f"{self.scene} {self.method}"
            problem = f"{one_line(name, 80)}: the stored trace is damaged: {one_line(str(error), 200)}; run again to compute it"
            raise DataError(problem) from None

    def __post_init__(self) -> None:
        """Refuse mappings with more entries than tables can show."""
        for name in ("statistics", "axes", "seconds", "environment", "warnings"):
            count = len(getattr(self, name))
            if count > limits.ENTRIES:
                raise ValueError(f"{name} has {count} entries; at most {limits.ENTRIES} are read")

    def __repr__(self) -> str:
        axes = [f"{key}={value}" for key, value in self.axes.items()]
        setting = ", ".join([self.method, *axes])
        first = next(
            (name for name in self.statistics if name.startswith("bad_pixels")),
            next(iter(self.statistics), None),
        )
        score = "no statistics" if first is None else f"{first} {self.statistics[first]:.4g}"
        return one_line(f"Result({self.scene}, {setting}: {self.error or score})")

    def record(self) -> dict[str, Any]:
        """The result as the plain object that ``--json`` prints."""
        run = {
            name: getattr(self, name)
            for name in ("id", "scene", "method", "parameters", "axes", "protocol", "statistics")
        }
        times = {
            name: getattr(self, name)
            for name in ("energy", "matching_seconds", "seconds", "warnings", "error")
        }
        return run | times | {"parameters": dict(self.parameters), "warnings": list(self.warnings)}


class ResultList(list[Result]):
    """What `run` returns: a list of results that a notebook shows as a table."""

    @property
    def frame(self) -> pandas.DataFrame:
        """The results as a pandas DataFrame, a row each; see `results`."""
        return frame(self)

    def __repr__(self) -> str:
        numbers = (
            (len(self), "result"),
            (len({r.method for r in self}), "method"),
            (len({r.scene for r in self}), "scene"),
        )
        some, methods, scenes = (
            f"{number} {thing}{'s' * (number != 1)}" for number, thing in numbers
        )
        return f"{some} of {methods} on {scenes}"


def tidy(results: Sequence[Result]) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows with all parameters and statistics of all results.

    A parameter whose value is null has the text `NULL`. None stands for a parameter that
    a method does not have, for an axis without effect on a setting, for a statistic that
    was not measured, and for NaN.
    """
    parameters = list(dict.fromkeys(name for r in results for name in r.parameters))
    statistics = list(dict.fromkeys(name for r in results for name in r.statistics))
    rows = []
    for r in results:
        numbers = [
            None if v is None or math.isnan(v) else v for v in map(r.statistics.get, statistics)
        ]
        values = [_parameter(r, name) for name in parameters]
        row = [r.id, r.scene, r.method, r.protocol, *values, *numbers]
        rows.append([*row, r.energy, r.matching_seconds, r.error])
    return [
        "id",
        "scene",
        "method",
        "protocol",
        *parameters,
        *statistics,
        "energy",
        "seconds",
        "error",
    ], rows


def _parameter(result: Result, name: str) -> Any:
    """Return the value of a parameter as `tidy` shows it."""
    if result.axes.get(name) == NO_EFFECT or name not in result.parameters:
        return None
    value = result.parameters[name]
    return NULL if value is None else value


def frame(results: Sequence[Result]) -> pandas.DataFrame:
    """Results as a DataFrame.

    Parameters
    ----------
    results : sequence of Result

    Returns
    -------
    DataFrame
        A row for each result: id, scene, method, protocol, all parameters by dotted name, all statistics, energy, seconds, error. A parameter that a
        method does not have, and a statistic that was not measured, is missing. A parameter that is null has the text "none", among numbers too, where
        comparisons such as ``<= 20`` leave it out. Any other column that mixes numbers with other things is one of texts.
    """
    import pandas

    header, rows = tidy(results)
    return pandas.DataFrame(
        {name: _one_type([row[i] for row in rows]) for i, name in enumerate(header)}, columns=header
    )


def _one_type(values: list[Any]) -> list[Any] | NDArray[np.object_]:
    """Return the values of a column with one type; numbers among other things become texts.

    `NULL` counts as no type, and keeps its class in an array of objects.
    """
    values = [None if v == "" else v for v in values]
    typed_values = [v for v in values if v is not None and v is not NULL]
    kinds = {
        "number" if isinstance(v, int | float) and not isinstance(v, bool) else type(v)
        for v in typed_values
    }
    if len(kinds) > 1:
        return [v if v is None else str(v) for v in values]
    if NULL not in values:
        return values
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects
