"""Script files of the original 2002 program: what they would have run, as our scripts."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io import file_stem, read_bytes
from stereo_framework.script.legacy import DEFAULTS, SURVIVE_RESET, translate

_FILES = ("input_params", "input_data", "output_data", "depth_map", "output_params", "cost_map")
"""Names whose values are files; all others are parameters."""

_STATISTICS = re.compile(r"(rms_error_|bad_pixels_|predict_err_).*|fraction_matched|final_energy|total_time")
"""Names of statistics, which stand among the parameters where a result file serves as input."""

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
        common = {"scenes": [scene or "scene"]} | {key: method.pop(key, None) for key in ("search", "evaluation")}
        key = next((key for key, one in scripts.items() if all(one.get(k) == said for k, said in common.items())), None)
        if key is None:
            key = _unused(scene or "scene", scripts)
            scripts[key] = {"name": f"{file_stem(path.stem)}_{key}", **{k: v for k, v in common.items() if v}, "methods": {}}
        methods = scripts[key]["methods"]
        methods[_unused(name, methods)] = method
    return scripts


def _unused(name: str, taken: Container[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is free."""
    return next(n for n in (name if i == 1 else f"{name}_{i}" for i in itertools.count(1)) if n not in taken)


def _tokens(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and tokens; a token that starts with # ends its line."""
    text = read_bytes(path, limits.TEXT, empty=True).decode("latin-1")
    for number, line in enumerate(text.splitlines(), 1):
        tokens = line.split()
        comment = next((i for i, token in enumerate(tokens) if token.startswith("#")), len(tokens))
        if tokens[:comment]:
            yield number, tokens[:comment]


def _script(state: _State, path: Path, report: Callable[[str], None], depth: int) -> None:
    if depth > _MAX_NESTING:
        raise DataError(f"{path}: scripts nested more than {_MAX_NESTING} deep; it seems to run itself")
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
        state.scene = Path(os.path.normpath(state.folder / once["input_data"])).parent.name or "scene"
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
    tokens = read_bytes(path, limits.TEXT, empty=True).decode("latin-1").split()
    for name, value in zip(tokens[::2], tokens[1::2], strict=False):
        _assign(state, name, value, tell)


def _assign(state: _State, name: str, value: str, tell: Callable[[str], None]) -> None:
    if _STATISTICS.fullmatch(name):
        return
    try:
        number = int(value, 16) if value.startswith("0x") else float(value)
    except ValueError:
        tell(f"{name} {value}: not a number; skipped")
        return
    if name not in DEFAULTS and name != "disp_n":
        tell(f"{name}: no parameter of the original program, which ignores it too")
        return
    state.parameters[name] = int(number) if float(number).is_integer() else number
