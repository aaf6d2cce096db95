"""Statistics, run times and disparity map of one run of a method on a scene."""

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
from stereo_framework.sweep.environment import versions_text
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.value_text import method_text

EVALUATION = "evaluation"
"""Key of `Result.seconds` for the run time of the evaluation of the disparity map."""

MEMORY = "peak_memory"
"""Name of the statistic for the peak memory of external programs, in MiB."""

MESSAGES = "messages"
"""Key of `Result.environment` for the messages that external programs printed."""

LOWER_BOUND = "lower_bound"
"""Name of the statistic for the lower bound of the energy that an optimizer reports."""

GAP = "gap"
"""Name of the statistic for the difference of the energy and its lower bound.

The unit of this statistic is percent of the lower bound.
"""

TRACE = "trace"
"""Key of `Result.environment` for the trace of the optimizer, as JSON text.

The trace contains the run time and the energy after each iteration. The trace is not a
statistic, because its run times differ between two computations of the same result.
"""

CONFIDENCE = "_confidence_"
"""Text in the name of a confidence file, before the name of the confidence measure."""

FIELD_NAMES = ("scene", "method", "protocol", "protocol_text")
"""Fields of a result that `Result.value` returns and that every result has."""

PROVENANCE = (
    "processor_seconds",
    "time",
    "host",
    "processor",
    "cores",
    "threads",
    "versions",
)
"""Names of the values that describe how, when and where a result was computed."""

_MAX_DIGITS_OF_CORES = 9
"""Maximum number of digits of the number of cores in an environment."""


def confidence_file(map_file: Path, measure: str) -> Path:
    """Return the path of a confidence file of a stored disparity map."""
    return map_file.with_name(f"{map_file.stem}{CONFIDENCE}{measure}.pfm")


def confidence_files(map_file: Path) -> dict[str, Path]:
    """Return the confidence files of a stored map, by the names of the measures."""
    start = f"{map_file.stem}{CONFIDENCE}"
    return {
        path.stem.removeprefix(start): path
        for path in sorted(map_file.parent.glob(f"{glob.escape(start)}*.pfm"))
    }


def text_of_trace(trace: Sequence[Point]) -> str:
    """Convert a trace to JSON text, or to an empty text if the trace has no points.

    The JSON text contains null for a lower bound that is not known.

    Examples
    --------
    >>> text_of_trace([(0.1, 5.0, -math.inf)])
    '[[0.1, 5.0, null]]'
    """
    points = [[None if number == -math.inf else number for number in point] for point in trace]
    return json.dumps(points, allow_nan=False) if points else ""


def trace_of_text(text: str) -> tuple[Point, ...]:
    """Convert a text that `text_of_trace` has returned back to a trace.

    The function also accepts a text of an earlier version of this package, in which the
    number -Infinity stands for an unknown lower bound.

    Raises
    ------
    ValueError
        The text does not contain a valid trace.
    """
    if len(text) > limits.TRACE_TEXT:
        raise ValueError(f"{len(text)} characters; at most {limits.TRACE_TEXT} are read")
    # For deeply nested lists, `from_json` raises a ValueError. The JSON reader of the
    # standard library raises a RecursionError.
    points = from_json(text)
    if not isinstance(points, list):
        raise ValueError(f"a {type(points).__name__}; expected a list of points")
    return as_trace([_with_unknown_bound(point) for point in points])


def _with_unknown_bound(point: Any) -> Any:
    """Return a point of a trace, with minus infinity for a lower bound that is null."""
    if isinstance(point, list) and len(point) == 3 and point[2] is None:
        return [*point[:2], -math.inf]
    return point


SCENES_OF_METHOD = "scenes_of_method"
"""Key of `Result.environment` for the scenes to which the script restricts a method.

The value of this key is a JSON list with the names of the scenes.
"""


def changed_maps_warning(paths: Sequence[Path]) -> str:
    """Return one warning about disparity maps that another program has changed.

    Parameters
    ----------
    paths : sequence of Path
        Files of the changed disparity maps. The warning is empty without files.
    """
    if not paths:
        return ""
    first = one_line(str(paths[0]), 200)
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    event = "changed since this program wrote it"
    return f"{first}{others}: {event}; the stored statistics belong to other disparities"


def provenance_of_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of `Result.provenance` that follows from the environment."""
    cores = environment.get("cores", "")
    # The conversion of a text with thousands of digits, which only a damaged store
    # contains, would raise an exception.
    has_cores = cores.isdecimal() and len(cores) <= _MAX_DIGITS_OF_CORES
    return {
        "host": environment.get("host") or None,
        "processor": environment.get("processor") or None,
        "cores": int(cores) if has_cores else None,
        "versions": versions_text(environment) or None,
    }


@dataclass(frozen=True, eq=False)
class Result:
    """Statistics of one run of a method on a scene, computed according to a protocol.

    Parameters
    ----------
    id : str
        Digest of the content of the scene, the parameters, and the source code that
        computed the disparity map.
    scene, method : str
        Names of the scene and of the method.
    parameters : mapping
        Values of all parameters, by the address of the parameter.
    axes : mapping
        Values of the parameters that the script sweeps, by the name of the axis.
    protocol : str
        Name of the protocol.
    statistics : mapping of str to float
        Values of the statistics, by name. Shares of pixels are in percent, and
        disparity errors are in pixels. The mapping is empty if the run failed.
    energy : float or None
        Energy of the disparity labels that the optimizer has selected.
    seconds : mapping of str to float
        Wall-clock time of each stage in seconds. The key ``evaluation`` has the time of
        the evaluation. The times do not include the compilation or loading of kernels,
        and the reading of images. If several runs of a sweep share a stage, the time of
        the stage is part of each of the runs. If a stage continued the iterations of
        another run, its time includes the time of the earlier iterations. The sum of
        all times therefore exceeds the duration of the sweep.
    warnings : tuple of str
        Warnings about the scene, the method and the disparity map.
    error : str or None
        Reason why the run failed, as one line of text. The line names the file and the
        line number in the code of the stage.
    traceback : str
        Complete traceback of the error. The traceback is empty if the result was read
        from a results folder.
    script : mapping
        The resolved script of this run.
    protocol_text : str
        Description of all choices of the protocol, which is printed below tables.
    map : Path or None
        Path of the file with the stored disparity map.
    environment : mapping of str to str
        Description of the machine, and the versions of the packages that computed the
        run. The values of ``host``, ``system``, ``processor`` and ``cores`` describe
        the machine. The value of ``cores`` is the number of cores that the process was
        allowed to use. The value of ``messages`` is the text that external programs
        printed. The value of ``trace`` is the trace of the optimizer as JSON text.
    time : str
        Time at which the run was computed, in UTC and ISO 8601, such as
        ``2026-11-30T17:24:00Z``. For an external disparity map, the time is that of the
        evaluation. The text is empty if the time is unknown.
    threads : int or None
        Number of threads with which the kernels computed the disparity map. In a sweep
        with several workers, the number is 1. None means unknown.
    processor_seconds : float or None
        Processor time of all stages together, in seconds, without the evaluation. The
        time of kernels is the sum over their threads. The time includes the external
        programs of the stage ``command``. As in `seconds`, the compilation of kernels
        is not included, and each run contains the time of shared stages and of earlier
        iterations. The time of other threads and processes that a stage starts is not
        included either. Examples are the threads of OpenCV and of neural networks, and
        threads that a Python function starts. None means unknown.
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
    time: str = ""
    threads: int | None = None
    processor_seconds: float | None = None
    _disparity: Disparity | None = None
    _confidence: Mapping[str, Disparity] = field(default_factory=dict)

    def is_meant_for(self, scene: str) -> bool:
        """Return whether the script runs the method on a scene."""
        try:
            names = from_json(self.environment.get(SCENES_OF_METHOD, "[]"))
        except ValueError:
            # The text is not valid JSON, so this program has not written the result.
            return True
        return not names or any(scene_fits(scene, str(name)) for name in names)

    def value(self, name: str) -> Any:
        """Return the value of the result under a name.

        Parameters
        ----------
        name : str
            One of the following names:

            - the name of a statistic, the name of an axis or the address of a parameter
            - the name of a slot, whose value is the name of the stage in the slot
            - ``scene``, ``method``, ``protocol``, ``protocol_text`` or ``energy``
            - ``seconds`` for the time of all stages, or ``seconds.STAGE`` for the time
              of a single stage
            - ``seconds.evaluation`` for the time of the evaluation
            - ``processor_seconds``, ``time``, ``host``, ``processor``, ``cores``,
              ``threads`` or ``versions``, as in `provenance`

        Returns
        -------
        object
            The value under the name. None means that a parameter was set to null.
            `MISSING` means that the result has no value under the name.
        """
        # Statistics are looked up first, because tables need the statistics of
        # thousands of results.
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
        if name in PROVENANCE:
            value = self.provenance[name]
            return MISSING if value is None else value
        if name in self.axes:
            return self.axis_value(name)
        if name in self.parameters:
            return self.parameters[name]
        return self.parameters.get(f"{name}.use", MISSING)

    def axis_value(self, name: str) -> Any:
        """Return the value of a swept parameter.

        The value is `MISSING` if the script does not sweep the parameter, or if the
        parameter has no effect on this setting.
        """
        value = self.axes.get(name, MISSING)
        return MISSING if value == NO_EFFECT else value

    @property
    def provenance(self) -> dict[str, Any]:
        """How, when and where the result was computed, by the names of `PROVENANCE`.

        The processor time is in seconds. The number of cores is the number of cores
        that the process was allowed to use. The value of ``versions`` is a text such as
        ``python 3.11.7, numpy 2.4.6``. None means that a value is unknown.
        """
        values = provenance_of_environment(self.environment)
        values["processor_seconds"] = self.processor_seconds
        values["time"] = self.time or None
        values["threads"] = self.threads
        return {name: values[name] for name in PROVENANCE}

    @property
    def setting_name(self) -> str:
        """Method with its swept values, such as ``window (aggregation.box.size=9)``."""
        return method_text(self.method, self.axes)

    @property
    def matching_seconds(self) -> float | None:
        """Time of all stages together in seconds, or None if no stage ran."""
        stages = [seconds for stage, seconds in self.seconds.items() if stage != EVALUATION]
        return sum(stages) if stages else None

    @property
    def disparity(self) -> Disparity | None:
        """Disparity map in pixels, or None if the result has no disparity map.

        The value NaN in the disparity map means that a pixel has no estimate.
        """
        if self._disparity is None and self.map is not None and self.map.is_file():
            return self.read_map()
        return self._disparity

    def read_map(self) -> Disparity:
        """Read the stored disparity map.

        Raises
        ------
        DataError
            The run has stored no disparity map, or its file is missing or damaged.
        """
        from stereo_framework.io import read_disparity

        if self.map is None:
            raise DataError(
                f"{one_line(self.scene, 80)} {one_line(self.method, 80)}: the run has stored no map"
            )
        return read_disparity(self.map)

    @property
    def confidence(self) -> Mapping[str, Disparity]:
        """Confidence maps of the method, by the name of the confidence measure.

        A confidence map is an array of type float32 and shape (rows, columns). Higher
        values mean more certain disparities. The mapping is empty if the method has no
        confidence measure, or if no confidence map was kept.
        """
        if not self._confidence and self.map is not None:
            from stereo_framework.io import read_pfm

            return {name: read_pfm(path) for name, path in confidence_files(self.map).items()}
        return self._confidence

    def changed_files(self) -> list[Path]:
        """Return the stored map files of this result that another program has changed.

        The files are the disparity map and its confidence maps. If a file was changed,
        the statistics of the result do not belong to the present content of the file.
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
        """Run time, energy and lower bound after each iteration of the optimizer.

        The lower bound is -inf until the optimizer has computed a bound. The trace is
        empty if the optimizer reported no trace, or if the stored trace is damaged.

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
        """Return the trace, or raise an error if the stored trace is damaged.

        Raises
        ------
        DataError
            The stored trace is not a valid list of points.
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
        """Raise an error if a mapping has more entries than tables can show."""
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
        """Return the result as a dictionary, which the option ``--json`` prints."""
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
            **self.provenance,
            "warnings": list(self.warnings),
            "error": self.error,
        }
