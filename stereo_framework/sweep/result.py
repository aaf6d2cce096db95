"""The result of one run: the statistics of a setting on a scene under a protocol."""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, one_line, warn
from stereo_framework.core.scene import Disparity
from stereo_framework.core.traces import Point, as_trace
from stereo_framework.datasets import scene_fits
from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.value_text import method_text

EVALUATION = "evaluation"
"""Key of `Result.seconds` for the time in which the disparity map was evaluated."""

MEMORY = "peak_memory"
"""Name of the statistic for the memory of external programs, in MiB."""

MESSAGES = "messages"
"""Key of `Result.environment` for the messages that external programs printed."""

LOWER_BOUND = "lower_bound"
"""Name of the statistic for an optimizer's lower bound of the energy."""

GAP = "gap"
"""Name of the statistic for the distance of the energy from its lower bound.

The unit is percent of the bound.
"""

TRACE = "trace"
"""Key of `Result.environment` for the optimizer's trace, as JSON.

The trace is no statistic, because its seconds and energies belong to one computation.
"""

CONFIDENCE = "_confidence_"
"""Text between the names of the map and of the measure in a confidence file's name."""

FIELD_NAMES = ("scene", "method", "protocol", "protocol_text")
"""Fields of a result that `Result.value` returns, and that each result has."""


def confidence_file(map_file: Path, measure: str) -> Path:
    """Return the path of the confidence of a stored disparity map."""
    return map_file.with_name(f"{map_file.stem}{CONFIDENCE}{measure}.pfm")


def confidence_files(map_file: Path) -> dict[str, Path]:
    """Return the confidence files of a stored disparity map, by confidence measure."""
    start = f"{map_file.stem}{CONFIDENCE}"
    return {
        path.stem.removeprefix(start): path
        for path in sorted(map_file.parent.glob(f"{glob.escape(start)}*.pfm"))
    }


def text_of_trace(trace: Sequence[Point]) -> str:
    """Return a trace as JSON, or an empty text without points.

    An unknown lower bound becomes null.

    Examples
    --------
    >>> text_of_trace([(0.1, 5.0, -math.inf)])
    '[[0.1, 5.0, null]]'
    """
    points = [[None if number == -math.inf else number for number in point] for point in trace]
    return json.dumps(points, allow_nan=False) if points else ""


def trace_of_text(text: str) -> tuple[Point, ...]:
    """Return the trace in a text that `text_of_trace` has made.

    Texts of earlier versions with -Infinity are accepted too.

    Raises
    ------
    ValueError
        The text is no such trace.
    """
    if len(text) > limits.TRACE_TEXT:
        raise ValueError(f"{len(text)} characters; at most {limits.TRACE_TEXT} are read")
    # Unlike the standard library, this reader refuses deeply nested lists with a
    # ValueError.
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
    """Return one warning for maps that were changed since they were written.

    The warning is empty if there are no such maps.
    """
    if not paths:
        return ""
    first = one_line(str(paths[0]), 200)
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    event = "changed since this program wrote it"
    return f"{first}{others}: {event}; the stored statistics belong to other disparities"


@dataclass(frozen=True, eq=False)
class Result:
    """The statistics of a setting on a scene under a protocol.

    Parameters
    ----------
    id : str
        Digest of the scene's content, the parameters and the source code that computed
        the disparity map.
    scene, method : str
        Names of the scene and of the method.
    parameters : mapping
        All parameters with their values, by address.
    axes : mapping
        The parameters that the script sweeps, with their values.
    protocol : str
        Name of the protocol.
    statistics : mapping of str to float
        Percentages are in percent and disparities in pixels. The mapping is empty after
        an error.
    energy : float or None
        Energy of the optimizer's labels.
    seconds : mapping of str to float
        Wall-clock time of each stage and, under ``evaluation``, of the evaluation. The
        time in which kernels were compiled or loaded and the images were read is left
        out. If several runs of a sweep share a step, each run has the time of this
        step. A stage that continued from fewer iterations has the time of these
        iterations too. Sums over runs therefore exceed the time of the sweep.
    warnings : tuple of str
        Warnings about the scene, the method and the disparity map.
    error : str or None
        Reason why the run failed: one line with the place in the code of the stage.
    traceback : str
        Complete traceback of the error, if the present call computed the run.
    script : mapping
        The resolved script of this run.
    protocol_text : str
        Every choice of the protocol, as printed below tables.
    map : Path or None
        The stored disparity map.
    environment : mapping of str to str
        The machine and the versions of the packages that computed the run. The entry
        ``messages`` has the messages of external programs, and the entry ``trace`` the
        optimizer's trace.
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

    def value(self, name: str) -> Any:
        """Return the value of the result under a name.

        Parameters
        ----------
        name : str
            One of these names:

            - a statistic, an axis or the address of a parameter
            - a slot, whose value is the name of its stage
            - ``scene``, ``method``, ``protocol``, ``protocol_text`` or ``energy``
            - ``seconds``, the time of all stages, ``seconds.STAGE``, or
              ``seconds.evaluation``, the time of the evaluation

        Returns
        -------
        object
            The value. None is a parameter that was set to null. `MISSING` means that
            the result has no value of this name.
        """
        # Statistics are looked up first, because tables need those of thousands of
        # results.
        if name in self.statistics:
            return self.statistics[name]
        if name in FIELD_NAMES:
            return getattr(self, name)
        if name == "energy":
            return MISSING if self.energy is None else self.energy
        if name == "seconds":
            seconds = self.matching_seconds
            return MISSING if seconds is None else seconds
        if name.startswith("seconds."):
            return self.seconds.get(name.removeprefix("seconds."), MISSING)
        if name in self.axes:
            return self.axis_value(name)
        if name in self.parameters:
            return self.parameters[name]
        return self.parameters.get(f"{name}.use", MISSING)

    def axis_value(self, name: str) -> Any:
        """Return the value of a swept parameter.

        The value is `MISSING` if the parameter was not swept, or if it has no effect on
        this setting.
        """
        value = self.axes.get(name, MISSING)
        return MISSING if value == NO_EFFECT else value

    @property
    def setting_name(self) -> str:
        """Method with the swept values, such as ``window (aggregation.box.size=9)``."""
        return method_text(self.method, self.axes)

    @property
    def matching_seconds(self) -> float | None:
        """Time of all stages together, in seconds. None if no stage ran."""
        stages = [seconds for stage, seconds in self.seconds.items() if stage != EVALUATION]
        return sum(stages) if stages else None

    @property
    def disparity(self) -> Disparity | None:
        """Disparity map in pixels. NaN means no estimate; None means no stored map."""
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
        """Confidence maps of the method, by confidence measure.

        A confidence map is float32 (rows, columns). A higher value is more certain. The
        mapping is empty if the method has no confidence measure or no stored map.
        """
        if not self._confidence and self.map is not None:
            from stereo_framework.io import read_pfm

            return {name: read_pfm(path) for name, path in confidence_files(self.map).items()}
        return self._confidence

    def changed_files(self) -> list[Path]:
        """Return the files of the map and its confidence that another program changed.

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
        """Seconds, energy and lower bound after each iteration of the optimizer.

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
            reason = one_line(str(error), 200)
            event = f"{one_line(name, 80)}: the stored trace is damaged: {reason}"
            message = f"{event}; run again to compute it"
            raise DataError(message) from None

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
        """Return the result as the plain mapping that ``--json`` prints."""
        return {
            "id": self.id,
            "scene": self.scene,
            "method": self.method,
            "parameters": dict(self.parameters),
            "axes": self.axes,
            "protocol": self.protocol,
            "statistics": self.statistics,
            "energy": self.energy,
            "matching_seconds": self.matching_seconds,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "error": self.error,
        }
