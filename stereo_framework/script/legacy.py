"""Conversion of scripts and parameters of the original program of 2002.

The original program is StereoMatcher 1.0. The file ``legacy.yaml`` lists its
parameters, and the keys of our scripts that correspond to them.
"""

import codecs
import itertools
import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.core.package_files import package_yaml
from stereo_framework.io import file_stem, read_bytes
from stereo_framework.io.numbers import parse_number

_TABLES: Mapping[str, Any] = package_yaml("script/legacy.yaml")

DEFAULTS: Mapping[str, Any] = _TABLES["defaults"]
"""Default values of the original program's parameters, by name."""

SURVIVE_RESET: Container[str] = _TABLES["survive_reset"]
"""Parameters that keep their values at the command ``reset``."""


# --- parameters -----------------------------------------------------------------------


def translate(
    parameters: Mapping[str, Any], *, report: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Convert parameters of the original program to one of our scripts.

    Parameters
    ----------
    parameters : mapping of str to number
        Values by the name of the parameter in the original program. All other
        parameters have the original's default values. The parameters of the search
        range and of the evaluation are an exception: if they are missing, the script
        leaves the choice to the scene and to the protocol.
    report : callable, optional
        Function that gets a message about each parameter that cannot be converted.
        Without the function, such a parameter is an error.

    Returns
    -------
    dict
        Script that the function `load` accepts.

    Raises
    ------
    ParameterError
        A parameter cannot be converted, and `report` is missing. A parameter has a
        number that is not among its choices.

    Notes
    -----
    The script imitates the original in two details, because the published results
    depend on them. Occluded pixels of dynamic programming are filled from the left. The
    vertex of the parabola may lie up to a whole level away.

    Examples
    --------
    >>> parameters = {"match_fn": 2, "aggr_window_size": 21, "aggr_minfilter": 21}
    >>> translate(parameters)["aggregation"]
    [{'use': 'box', 'size': 21, 'iterations': 1}, {'use': 'min_filter', 'size': 21}]
    """
    numbers = _complete_parameters(parameters, report or _raise_error)
    values = _meanings(numbers)
    protocol = _converted_fields("protocol", parameters, values)
    script = {
        "search": _converted_fields("search", parameters, values),
        "preprocessing": _preprocessing(values),
        "matching_cost": _filled(_TABLES["matching_cost"], values),
        "aggregation": _aggregation(values),
        "smoothness": _smoothness(values),
        "optimization": values["opt_fn"],
        "refinement": _refinement(values),
    }
    if protocol:
        script["evaluation"] = {"protocol": {"base": "taxonomy2002", **protocol}}
    return {key: content for key, content in script.items() if content}


def _raise_error(message: str) -> None:
    raise ParameterError(message)


def _complete_parameters(
    parameters: Mapping[str, Any], report: Callable[[str], None]
) -> dict[str, Any]:
    """Return all parameters, and report parameters that cannot be converted."""
    for name in parameters:
        if name not in DEFAULTS and name not in _TABLES["without_effect"]:
            remedy = nearest(name, DEFAULTS, kind="parameters")
            report(f"the original program has no parameter {name!r}; {remedy}")
    known_parameters = {name: value for name, value in parameters.items() if name in DEFAULTS}
    numbers = {**DEFAULTS, **known_parameters}
    for name, reason in _TABLES["not_converted"].items():
        if numbers[name]:
            report(f"{name}={numbers[name]:g}: {reason}")
    return numbers


def _meanings(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the numbers of choices by the words, truth values and stages they mean.

    The result also contains ``cut_order`` and ``annealing_order``. They are the orders
    of graph cuts and of simulated annealing, which ``opt_random`` determines together.
    """
    values: dict[str, Any] = dict(numbers)
    is_random = bool(numbers["opt_random"])
    values["cut_order"] = "random" if is_random else "fixed"
    values["annealing_order"] = "random" if is_random else "raster"
    for name, choices in _TABLES["choices"].items():
        number = numbers[name]
        if number not in choices:
            allowed_numbers = ", ".join(map(str, choices))
            message = (
                f"{name}={number!r}: the original program has no choice with this number; "
                f"allowed: {allowed_numbers}"
            )
            raise ParameterError(message)
        values[name] = _filled(choices[number], values)

    # The original's default of 1000 grey levels truncates no squared difference. For
    # absolute differences, the default stays in the script. There, it is the cost of
    # cells outside the target image in colour, which is 1020 without a truncation.
    if values["match_fn"] == "squared_difference" and numbers["match_max"] >= 1000:
        values["match_max"] = None
    values["match_interval"] = bool(numbers["match_interval"])
    values["eval_lin_interp"] = bool(numbers["eval_lin_interp"])
    values["eval_bad_thresh"] = [numbers["eval_bad_thresh"]]
    return values


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Replace each ``$NAME`` in a stage by the value of this name.

    A template that is a single word stays as it is.
    """
    if isinstance(template, str):
        return template
    stage = {}
    for key, word in template.items():
        if word.startswith("$"):
            stage[key] = values[word.removeprefix("$")]
        else:
            stage[key] = word
    return stage


def _converted_fields(
    table: str, parameters: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the keys of our scripts whose parameters have a value in `parameters`.

    Parameters
    ----------
    table : {"search", "protocol"}
        Table in ``legacy.yaml`` with the parameter of each key.
    parameters : mapping
        Parameters without default values.
    values : mapping
        Converted values of all parameters.
    """
    names = _TABLES[table].items()
    return {key: values[name] for key, name in names if name in parameters}


def _preprocessing(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the preprocessing stages."""
    iterations = values["preproc_blur_iter"]
    return [{"use": "binomial_blur", "iterations": iterations}] if iterations else []


def _aggregation(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the aggregation stages."""
    stages = []
    if values["aggr_iter"] > 0:
        stages.append(values["aggr_fn"])
    if values["aggr_minfilter"] > 1:
        stages.append({"use": "min_filter", "size": values["aggr_minfilter"]})
    return stages


def _smoothness(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the smoothness stage, or None for a local method."""
    if values["opt_fn"]["use"] == "winner_take_all":
        return None
    stage: dict[str, Any] = _filled(_TABLES["smoothness"], values)
    return stage


def _refinement(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the refinement stages."""
    stages: list[dict[str, Any]] = []
    if values["opt_fn"]["use"] == "dynamic_programming":
        stages.append({"use": "fill_occlusions", "rule": "left"})
    if values["refine_subpix"]:
        stages.append({"use": "parabola", "max_offset": 1.0})
    return stages


# --- script files ---------------------------------------------------------------------

_NAMES_OF_FILES = (
    "input_params",
    "input_data",
    "output_data",
    "depth_map",
    "output_params",
    "cost_map",
)
"""Names whose values are files. All other names are parameters."""

_STATISTICS = re.compile(
    r"(rms_error_|bad_pixels_|predict_err_).*|fraction_matched|final_energy|total_time"
)
"""Pattern of the names of statistics.

Result files of the original contain statistics among the parameters. A script may read
such a file as a file of parameters.
"""

_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")

_MAX_NESTING = 20
"""Maximum depth of scripts that call scripts.

A deeper script probably calls itself.
"""

_UNNAMED_SCENE = "scene"
"""Name of the scene of runs whose script names no scene."""

_SHARED_KEYS = ("scenes", "search", "evaluation")
"""Keys that all methods of one of our scripts share."""


def convert(path: Path, report: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Convert a script of the original program, with all scripts that it calls.

    Parameters
    ----------
    path : Path
        Path of the script. Files in the script are relative to the folder of the
        script, until a ``cd`` line changes the folder.
    report : callable
        Function that gets a message ``file:line: message`` about each part of the
        script that cannot be converted.

    Returns
    -------
    dict of str to dict
        Our scripts, by the name of the scene. Each script contains a method for each
        ``depth_map`` of the original. A scene has several scripts, with numbers in
        their names, if its runs differ in the search range or in the evaluation.

    Raises
    ------
    DataError
        The script cannot be read, or it runs nothing.
    ParameterError
        A parameter has a number that is not among its choices.
    """
    interpreter = _Interpreter(path.parent, report)
    interpreter.run_script(path)
    if not interpreter.runs:
        message = (
            f"{path}: the script runs nothing, because no line has a 'depth_map'; "
            "write 'depth_map FILE' in the lines that run a method"
        )
        raise DataError(message)

    scripts: dict[str, dict[str, Any]] = {}
    for run in interpreter.runs:
        shared_part = _shared_part(run.script)
        script_name = _name_of_script(shared_part, scripts)
        if script_name is None:
            script_name = _unused_name(run.scene, scripts)
            full_name = f"{file_stem(path.stem)}_{script_name}"
            scripts[script_name] = {"name": full_name, **shared_part, "methods": {}}
        methods = scripts[script_name]["methods"]
        method = {key: value for key, value in run.script.items() if key not in _SHARED_KEYS}
        methods[_unused_name(run.name, methods)] = method
    return scripts


def _shared_part(script: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a script that all its methods share."""
    return {key: script[key] for key in _SHARED_KEYS if key in script}


def _name_of_script(
    shared_part: Mapping[str, Any], scripts: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """Return the name of the script with the same shared keys, or None."""
    for name, script in scripts.items():
        if _shared_part(script) == shared_part:
            return name
    return None


def _unused_name(name: str, used_names: Container[str]) -> str:
    """Return the name, or the first of ``name_2``, ``name_3``, ... that is unused."""
    if name not in used_names:
        return name
    numbered_names = (f"{name}_{number}" for number in itertools.count(2))
    return next(candidate for candidate in numbered_names if candidate not in used_names)


@dataclass(frozen=True)
class _Run:
    """A run of the original program, which computes a disparity map.

    Parameters
    ----------
    scene : str
        Name of the scene.
    name : str
        Name of the method. It is the file name of the disparity map without its suffix.
    script : dict
        Our script of the run, with the key ``scenes``.
    """

    scene: str
    name: str
    script: dict[str, Any]


class _Interpreter:
    """Interpreter of scripts of the original program, which collects their runs.

    The lines of all scripts share the folder, the parameters and the scene.

    Parameters
    ----------
    folder : Path
        Folder of relative paths. The command ``cd`` changes it.
    report : callable
        Function that gets a message ``file:line: message`` about each part of the
        script that cannot be converted.

    Attributes
    ----------
    parameters : dict of str to number
        Parameters that have been set, by name.
    scene : str
        Name of the scene of the next run.
    runs : list of _Run
    location : str
        File and number of the present line, for messages.
    """

    def __init__(self, folder: Path, report: Callable[[str], None]):
        self.folder = folder
        self.parameters: dict[str, float] = {}
        self.scene = _UNNAMED_SCENE
        self.runs: list[_Run] = []
        self.location = ""
        self._report = report

    def report(self, message: str) -> None:
        """Report that a part of the present line cannot be converted."""
        self._report(f"{self.location}: {message}")

    def run_script(self, path: Path, depth: int = 0) -> None:
        """Run a script, and the scripts that it calls.

        Parameters
        ----------
        path : Path
        depth : int
            Number of scripts around this script.

        Raises
        ------
        DataError
            The script cannot be read. The scripts are nested too deep.
        """
        if depth > _MAX_NESTING:
            message = (
                f"{path}: scripts are nested more than {_MAX_NESTING} deep; in one of its "
                "lines, a script may run itself; remove that line, or nest fewer scripts"
            )
            raise DataError(message)
        for number, tokens in _lines(path):
            self.location = f"{path}:{number}"
            command = tokens[0]
            if command == "exit":
                return
            if command == "reset":
                self._reset()
            elif command not in ("script", "cd"):
                self._run_line(tokens)
            elif len(tokens) == 1:
                self.report(f"the command {command!r} needs a path; the line is skipped")
            elif command == "cd":
                self._change_folder(tokens[1])
            else:
                self.run_script(self.folder / tokens[1], depth + 1)

    def _reset(self) -> None:
        """Give most parameters their default values."""
        self.parameters = {
            name: value for name, value in self.parameters.items() if name in SURVIVE_RESET
        }

    def _change_folder(self, folder: str) -> None:
        """Change the folder of relative paths, which need not exist.

        The folder may exist only on the computer of the script's author. If so, each
        missing file in it is reported.
        """
        self.folder = Path(os.path.normpath(self.folder / folder))

    def _run_line(self, tokens: list[str]) -> None:
        """Set the parameters of a line, and add a run if it names a disparity map.

        Parameters
        ----------
        tokens : list of str
            Names and values in turn.
        """
        if len(tokens) % 2:
            self.report(f"the name {tokens[-1]!r} has no value; it is skipped")
            tokens = tokens[:-1]
        pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
        files = {name: value for name, value in pairs if name in _NAMES_OF_FILES}
        if "input_params" in files:
            self._read_parameters(self.folder / files["input_params"])
        if "input_data" in files:
            self._set_scene(files["input_data"])
        # The parameters of a line take precedence over those in its file.
        for name, value in pairs:
            if name not in files:
                self._set_parameter(name, value)
        self._report_files_of_results(files)
        if "depth_map" in files:
            self._add_run(files["depth_map"])

    def _read_parameters(self, path: Path) -> None:
        """Set the parameters in a file of names and values."""
        if not path.is_file():
            message = f"input_params: there is no file {path}; its parameters keep their values"
            self.report(message)
            return
        content = read_bytes(path, limits.TEXT, allow_empty=True)
        tokens = content.decode("latin-1").split()
        for name, value in zip(tokens[::2], tokens[1::2], strict=False):
            self._set_parameter(name, value)

    def _set_scene(self, file: str) -> None:
        """Set the scene of the next runs from the file that lists its frames.

        In the original's folders of data, the file lies in a folder with the name of
        the scene.
        """
        path = Path(os.path.normpath(self.folder / file))
        self.scene = path.parent.name or _UNNAMED_SCENE
        self.report(
            f"input_data {file}: the script runs on the scene {self.scene!r}; "
            "if there is no such scene, name its frames in a scene.yaml"
        )

    def _set_parameter(self, name: str, text: str) -> None:
        """Set a parameter, and report a text that is no number.

        Statistics are skipped.
        """
        if _STATISTICS.fullmatch(name):
            return
        try:
            number = int(text, 16) if _HEXADECIMAL.fullmatch(text) else parse_number(text)
        except ValueError:
            self.report(f"{name}: {text} is not a number; skipped parameters keep their values")
            return
        # The parameter disp_n of the original has no effect and no default value.
        if name not in DEFAULTS and name != "disp_n":
            self.report(f"the original program has no parameter {name!r}, and ignores it too")
            return
        is_whole = number == int(number)
        self.parameters[name] = int(number) if is_whole else number

    def _report_files_of_results(self, files: Mapping[str, str]) -> None:
        """Report the files in which the original stores results other than the map."""
        for name in ("output_data", "cost_map"):
            if name in files:
                self.report(
                    f"{name} {files[name]}: our scripts name no files of results; "
                    "'stereo-framework run --out DIR' stores the results"
                )

    def _add_run(self, disparity_file: str) -> None:
        """Add a run with the present parameters.

        Parameters
        ----------
        disparity_file : str
            Path of the disparity map.
        """
        script = translate(self.parameters, report=self.report)
        name = file_stem(Path(disparity_file).stem)
        self.runs.append(_Run(self.scene, name, {"scenes": [self.scene], **script}))


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the tokens of each line that is neither empty nor a comment.

    A token that begins with ``#`` begins a comment.
    """
    content = read_bytes(path, limits.TEXT, allow_empty=True)
    text = content.removeprefix(codecs.BOM_UTF8).decode("latin-1")
    for number, line in enumerate(text.splitlines(), 1):
        tokens = list(itertools.takewhile(_is_no_comment, line.split()))
        if tokens:
            yield number, tokens


def _is_no_comment(token: str) -> bool:
    return not token.startswith("#")
