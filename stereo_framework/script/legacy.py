"""Scripts and parameters of the original 2002 program (StereoMatcher 1.0) as ours.

Its parameters, and what they are called here, stand in ``legacy.yaml`` beside this file.
"""

import codecs
import itertools
import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.core.package_files import package_yaml
from stereo_framework.io import file_stem, read_bytes
from stereo_framework.io.numbers import parse_number

_TABLES: Mapping[str, Any] = package_yaml("script/legacy.yaml")

DEFAULTS: Mapping[str, Any] = _TABLES["defaults"]
"""The original's parameters and their values when nothing is said."""

SURVIVE_RESET: Container[str] = _TABLES["survive_reset"]
"""Parameters that the command ``reset`` leaves alone."""


def translate(
    parameters: Mapping[str, Any], *, report: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """A mapping of the original program's parameter names as one of our scripts.

    Parameters
    ----------
    parameters : mapping
        Values by the original's names; the rest keep the original's defaults, but the disparity range, border and gap are then the
        scene's and the protocol's own.
    report : callable, optional
        Gets one line for everything that cannot be carried over. Without it that is an error.

    Returns
    -------
    dict
        A script that `load` takes.

    Raises
    ------
    ParameterError
        Something cannot be carried over and there is no `report`; or a number stands for no method of the original.

    Notes
    -----
    The original's own ways are kept where its figures need them: holes of dynamic programming are filled from the left, and the
    parabola's vertex may lie a whole level away.

    Examples
    --------
    >>> translate({"match_fn": 2, "aggr_window_size": 21, "aggr_minfilter": 21})["aggregation"]
    [{'use': 'box', 'size': 21, 'iterations': 1}, {'use': 'min_filter', 'size': 21}]
    """
    tell = report or _refuse
    for name in parameters:
        if name not in DEFAULTS and name not in _TABLES["without_effect"]:
            tell(
                f"{name}: no parameter of the original program; {nearest(name, DEFAULTS, kind='parameters')}"
            )
    value = {**DEFAULTS, **{k: v for k, v in parameters.items() if k in DEFAULTS}}
    for name, what in _TABLES["lost"].items():
        if value[name]:
            tell(f"{name}={value[name]:g}: {what}")
    value = _chosen(value)
    # What is not given is the scene's and the protocol's own.
    search, protocol = (
        {ours: value[theirs] for ours, theirs in _TABLES[table].items() if theirs in parameters}
        for table in ("search", "protocol")
    )
    blur, local = value["preproc_blur_iter"], value["opt_fn"]["use"] == "winner_take_all"
    aggregation = [value["aggr_fn"]] if value["aggr_iter"] > 0 else []
    if value["aggr_minfilter"] > 1:
        aggregation.append({"use": "min_filter", "size": value["aggr_minfilter"]})
    refinement: list[dict[str, Any]] = []
    if value["opt_fn"]["use"] == "dynamic_programming":
        refinement.append({"use": "fill_occlusions", "rule": "left"})
    if value["refine_subpix"]:
        refinement.append({"use": "parabola", "max_offset": 1.0})
    script = {
        "search": search,
        "preprocessing": [{"use": "binomial_blur", "iterations": blur}] if blur else [],
        "matching_cost": _filled(_TABLES["matching_cost"], value),
        "aggregation": aggregation,
        "smoothness": None if local else _filled(_TABLES["smoothness"], value),
        "optimization": value["opt_fn"],
        "refinement": refinement,
        "evaluation": {"protocol": {"base": "taxonomy2002", **protocol}} if protocol else None,
    }
    return {key: item for key, item in script.items() if item}


def _refuse(line: str) -> None:
    raise ParameterError(line)


def _chosen(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters, numbers replaced by the words, truth values and stages that they stand for."""
    if value["opt_random"]:
        orders = {"cut_order": "random", "annealing_order": "random"}
    else:
        orders = {"cut_order": "fixed", "annealing_order": "raster"}
    found = {**value, **orders}
    for name, choices in _TABLES["choices"].items():
        if value[name] not in choices:
            allowed = ", ".join(map(str, choices))
            raise ParameterError(
                f"{name}={value[name]!r}: no such method of the original; allowed: {allowed}"
            )
        found[name] = _filled(choices[value[name]], found)
    # Its default of 1000 cuts no squared difference, but does set the cost of cells out of view in colour (1020 without it).
    if found["match_fn"] == "squared_difference" and value["match_max"] >= 1000:
        found["match_max"] = None
    switches = {name: bool(value[name]) for name in ("match_interval", "eval_lin_interp")}
    return found | switches | {"eval_bad_thresh": [value["eval_bad_thresh"]]}


def _filled(template: Any, value: Mapping[str, Any]) -> Any:
    """A word as it is; a stage with its ``$names`` replaced."""
    if isinstance(template, str):
        return template
    return {
        key: value[word[1:]] if word.startswith("$") else word for key, word in template.items()
    }


# --- script files --------------------------------------------------------------------------------

_FILES = ("input_params", "input_data", "output_data", "depth_map", "output_params", "cost_map")
"""Names whose values are files; all others are parameters."""

_STATISTICS = re.compile(
    r"(rms_error_|bad_pixels_|predict_err_).*|fraction_matched|final_energy|total_time"
)
"""Names of statistics, which stand among the parameters where a result file serves as input."""

_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")

_MAX_NESTING = 20
"""Scripts within scripts; deeper is a script that runs itself."""


@dataclass
class _State:
    """The original's state, which all lines of all scripts share."""

    folder: Path
    parameters: dict[str, Any] = field(default_factory=dict)
    scene: str | None = None
    runs: list[tuple[str | None, str, dict[str, Any]]] = field(default_factory=list)


def convert(path: Path, report: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Read a script of the original program, with everything it calls, and translate each of its runs.

    Parameters
    ----------
    path : Path
        The script. Files it names are looked for from its own folder, then from where its ``cd`` lines lead.
    report : callable
        Gets ``file:line: what`` for everything that cannot be carried over.

    Returns
    -------
    dict of str to dict
        Scripts by scene name, with a number where a scene needs several (other disparities, another evaluation); each
        holds one method for each ``depth_map`` of the original.

    Raises
    ------
    DataError
        The script cannot be read, or would run nothing.
    """
    state = _State(path.parent)
    _script(state, path, report, 0)
    if not state.runs:
        raise DataError(f"{path}: runs nothing: no line has a 'depth_map'")
    scripts: dict[str, dict[str, Any]] = {}
    for scene, name, method in state.runs:
        # What belongs to a whole script here, and to each run there.
        common = {"scenes": [scene or "scene"]} | {
            key: method.pop(key, None) for key in ("search", "evaluation")
        }
        key = next(
            (
                key
                for key, one in scripts.items()
                if all(one.get(k) == said for k, said in common.items())
            ),
            None,
        )
        if key is None:
            key = _unused(scene or "scene", scripts)
            scripts[key] = {
                "name": f"{file_stem(path.stem)}_{key}",
                **{k: v for k, v in common.items() if v},
                "methods": {},
            }
        methods = scripts[key]["methods"]
        methods[_unused(name, methods)] = method
    return scripts


def _unused(name: str, taken: Container[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is free."""
    return next(
        n for n in (name if i == 1 else f"{name}_{i}" for i in itertools.count(1)) if n not in taken
    )


def _tokens(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and tokens; a token that starts with # ends its line."""
    text = (
        read_bytes(path, limits.TEXT, allow_empty=True)
        .removeprefix(codecs.BOM_UTF8)
        .decode("latin-1")
    )
    for number, line in enumerate(text.splitlines(), 1):
        tokens = line.split()
        comment = next((i for i, token in enumerate(tokens) if token.startswith("#")), len(tokens))
        if tokens[:comment]:
            yield number, tokens[:comment]


def _script(state: _State, path: Path, report: Callable[[str], None], depth: int) -> None:
    if depth > _MAX_NESTING:
        raise DataError(
            f"{path}: scripts nested more than {_MAX_NESTING} deep; it may run itself; remove that line, or nest fewer scripts"
        )
    for number, tokens in _tokens(path):

        def tell(line: str, where: str = f"{path}:{number}") -> None:
            report(f"{where}: {line}")

        command, *rest = tokens
        if command == "exit":
            return
        if command == "reset":
            state.parameters = {k: v for k, v in state.parameters.items() if k in SURVIVE_RESET}
        elif command in ("script", "cd") and not rest:
            tell(f"'{command}' without a name; skipped")
        elif command == "cd":
            # The folder may exist on the author's machine only; the files it leads to are then reported one by one.
            state.folder = Path(os.path.normpath(state.folder / rest[0]))
        elif command == "script":
            _script(state, state.folder / rest[0], report, depth + 1)
        else:
            _line(state, tokens, tell)


def _line(state: _State, tokens: list[str], tell: Callable[[str], None]) -> None:
    """One line of name-value pairs: parameters, then what it asks to be done."""
    if len(tokens) % 2:
        tell(f"{tokens[-1]!r} has no value; skipped")
        tokens = tokens[:-1]
    pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
    once = {name: value for name, value in pairs if name in _FILES}
    if "input_params" in once:
        _parameter_file(state, state.folder / once["input_params"], tell)
    if "input_data" in once:
        # The conventional tree calls the folder of the frame list after its data set.
        state.scene = (
            Path(os.path.normpath(state.folder / once["input_data"])).parent.name or "scene"
        )
        tell(
            f"input_data {once['input_data']}: taken for the scene {state.scene!r}; name its frames in a scene.yaml if it is not one of ours"
        )
    for name, value in pairs:
        if name not in once:
            _assign(state, name, value, tell)
    for name in ("output_data", "cost_map"):
        if name in once:
            tell(f"{name} {once[name]}: not carried over; 'run --out DIR' stores the results")
    if "depth_map" in once:
        method = translate(state.parameters, report=tell)
        state.runs.append((state.scene, file_stem(Path(once["depth_map"]).stem), method))


def _parameter_file(state: _State, path: Path, tell: Callable[[str], None]) -> None:
    if not path.is_file():
        tell(f"input_params: no file {path}; its parameters keep their values")
        return
    tokens = read_bytes(path, limits.TEXT, allow_empty=True).decode("latin-1").split()
    for name, value in zip(tokens[::2], tokens[1::2], strict=False):
        _assign(state, name, value, tell)


def _assign(state: _State, name: str, value: str, tell: Callable[[str], None]) -> None:
    """Set a parameter of the original program, and report a value that is none."""
    if _STATISTICS.fullmatch(name):
        return
    try:
        number = int(value, 16) if _HEXADECIMAL.fullmatch(value) else parse_number(value)
    except ValueError:
        tell(f"{name} {value}: not a number; skipped")
        return
    if name not in DEFAULTS and name != "disp_n":
        tell(f"{name}: no parameter of the original program, which ignores it too")
        return
    is_whole = number == int(number)
    state.parameters[name] = int(number) if is_whole else number
