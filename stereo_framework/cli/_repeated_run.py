"""Repetition of a run from its results folder, for the command ``run``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stereo_framework.cli import _shared
from stereo_framework.core import limits
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    ScriptError,
    StereoFrameworkError,
    escape_controls,
    few,
)

if TYPE_CHECKING:
    from stereo_framework.script.load import Inspection
    from stereo_framework.sweep import Result, ResultSet
    from stereo_framework.sweep.changes import Changes, ResultChange

_MAX_LISTED_SCENES = 10
"""Maximum number of missing scenes that a message names."""

_PROCESSOR = "processor"
"""Key of the model of the processor in the environment of a result."""

_LISTED_CHANGES = 3
"""Maximum number of changed results, and of their numbers, that are printed."""


class CodeRefusedError(ParameterError):
    """A results folder contains code, which the user has not named.

    Parameters
    ----------
    message : str
        Message with a line for each piece of code.
    command : str
        Command that executes the code.
    """

    def __init__(self, message: str, command: str):
        super().__init__(message)
        self.command = command


def scripts_to_run(
    names: Sequence[str],
    *,
    scenes: Sequence[str],
    options: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the scripts to run. A results folder is replaced by its scripts.

    Parameters
    ----------
    names : sequence of str
        Scripts, or one results folder.
    scenes : sequence of str
        Scenes that the user names instead of those of the scripts.
    options : mapping of str to sequence of str
        Values of options of the present command, by the names of the options. If code
        is refused and the command line is unknown, the printed command repeats them.

    Returns
    -------
    list of str
        Names or paths of scripts. The scripts of a folder have the order of the last
        command that wrote to the folder.

    Raises
    ------
    CodeRefusedError
        The scripts of the results folder name plug-ins, Python functions or programs.
    ParameterError
        The results folder is not the only argument, or contains a search.
    DataError
        Scenes of the scripts are missing on this machine.
    ScriptError
        A script of the results folder has faults.
    """
    folders = [name for name in names if _is_results_folder(name)]
    if not folders:
        return list(names)
    if len(names) > 1:
        message = (
            f"{folders[0]}: is a results folder, which is run again without other scripts; name "
            "only the folder, or only scripts"
        )
        raise ParameterError(message)
    folder = _shared.absolute_path(Path(folders[0]))
    scripts = _ordered_scripts(folder)
    inspections = _inspections(scripts)
    _refuse_code(folder, inspections, folder_name=names[0], options=options)
    if not scenes:
        _refuse_missing_scenes(folder, inspections.values())
    return list(map(str, scripts))


def repeated_folder(scripts: Sequence[str], out: Path | None) -> Path | None:
    """Return the results folder of resolved scripts, or None.

    The result is None if the scripts lie in several folders, if the folder has no
    results, or if the results are written to the same folder again.
    """
    from stereo_framework.script.include import RESOLVED
    from stereo_framework.sweep.store import FILE

    folders = {Path(script).parent for script in scripts if script.endswith(RESOLVED)}
    if len(folders) != 1 or not all(script.endswith(RESOLVED) for script in scripts):
        return None
    [folder] = folders
    if not (folder / FILE).is_file() or (out is not None and out.exists() and out.samefile(folder)):
        return None
    # Messages show the folder as the user has typed it.
    typed_folder = Path(_shared.as_typed(folder / FILE)).parent
    return _shared.absolute_path(typed_folder)


def _is_results_folder(name: str) -> bool:
    """Return whether an argument is a folder with resolved scripts.

    The name of a built-in script takes precedence over a folder of the same name.
    """
    from stereo_framework.script.include import find_script
    from stereo_framework.sweep.folder_sources import resolved_scripts

    path = Path(name)
    try:
        if not path.is_dir() or not resolved_scripts(path):
            return False
    except (OSError, ValueError):
        # The operating system does not allow such a file name.
        return False
    if path.is_absolute() or name.startswith("."):
        return True
    try:
        find_script(name)
    except ScriptError:
        return True
    return False


def _ordered_scripts(folder: Path) -> list[Path]:
    """Return the resolved scripts of a results folder, without repetitions.

    The scripts of the last command come first, in the order of the command.

    Raises
    ------
    ParameterError
        The last command was a search for the best values.
    DataError
        A script cannot be read.
    """
    from stereo_framework.io import read_bytes
    from stereo_framework.sweep.folder_sources import resolved_scripts
    from stereo_framework.sweep.origin import last_record

    record = last_record(folder)
    if record.get("is_search") is True:
        message = (
            f"{folder}: contains a search by 'tune', which 'run' cannot repeat; run 'tune' with "
            f"the script in the folder, or run {folder / 'best.yaml'}"
        )
        raise ParameterError(message)
    paths = {path.name: path for path in resolved_scripts(folder)}
    names = record.get("scripts")
    listed_names = names if isinstance(names, list) else []
    ordered = [paths[name] for name in listed_names if isinstance(name, str) and name in paths]
    script_of_content: dict[bytes, Path] = {}
    for path in dict.fromkeys([*ordered, *paths.values()]):
        script_of_content.setdefault(read_bytes(path, limits.RESOLVED_SCRIPT), path)
    return list(script_of_content.values())


# --- code ---------------------------------------------------------------------------


def _inspections(scripts: Sequence[Path]) -> dict[Path, Inspection]:
    """Check scripts without executing the code that they name."""
    from stereo_framework.script.load import inspect_script

    return {script: inspect_script(script, with_scenes=False) for script in scripts}


def _refuse_code(
    folder: Path,
    inspections: Mapping[Path, Inspection],
    *,
    folder_name: str,
    options: Mapping[str, Sequence[str]],
) -> None:
    """Refuse scripts that name code, because a results folder counts as data.

    Raises
    ------
    CodeRefusedError
        A script names code. The message lists the code.
    """
    lines = []
    plugins: dict[str, None] = {}
    for script, inspection in inspections.items():
        for execution in inspection.executions:
            # Line ends and invisible characters could hide a part of a command.
            shown = execution if execution.isprintable() else repr(execution)[1:-1]
            lines.append(f"{script}: a run executes {shown}")
        for plugin in inspection.plugins:
            if plugin.endswith(".py"):
                plugins[str(script.parent / plugin)] = None
    if not lines:
        return
    lines.append(
        f"{folder}: is a results folder, and its files are not executed before you name them; "
        "read the code listed above, and then use the command below"
    )
    scripts = [str(script) for script in inspections]
    command = _command_with_code(folder_name, scripts, list(plugins), options)
    raise CodeRefusedError("\n".join(lines), command)


def _command_with_code(
    folder_name: str,
    scripts: Sequence[str],
    plugins: Sequence[str],
    options: Mapping[str, Sequence[str]],
) -> str:
    """Return the command that runs the scripts of a folder and executes their code.

    Parameters
    ----------
    folder_name : str
        Results folder, as the user has typed it.
    scripts : sequence of str
        Paths of the scripts in the folder.
    plugins : sequence of str
        Paths of the plug-ins in the folder.
    options : mapping of str to sequence of str
        Options to repeat if the command line of the user is unknown, for example
        because Python code calls the command.
    """
    from stereo_framework.sweep.origin import command_words

    names_of_code = list(scripts)
    for plugin in plugins:
        names_of_code += ["--plugin", plugin]
    typed_words = command_words() or []
    position = _position_of_argument(folder_name, typed_words)
    if position is not None:
        # The command repeats all other words of the user.
        return shlex.join([*typed_words[:position], *names_of_code, *typed_words[position + 1 :]])
    words = ["stereo-framework", "run", *names_of_code]
    for option, values in options.items():
        for value in values:
            words += [option, value]
    return shlex.join(words)


def _position_of_argument(argument: str, words: Sequence[str]) -> int | None:
    """Return the position of an argument in a command, or None if it is not clear."""
    positions = [i for i, word in enumerate(words) if word == argument]
    if len(positions) > 1:
        # The argument may also be the value of an option, as in --out FOLDER.
        positions = [i for i in positions if not words[i - 1].startswith("-")]
    return positions[0] if len(positions) == 1 else None


def print_refused_code(error: CodeRefusedError) -> None:
    """Print the code of a results folder and the command that executes it."""
    _shared.tell("error", *str(error).splitlines())
    # The command is printed in full, because the user copies it.
    print(escape_controls(_shared.as_typed(error.command)), file=sys.stderr)


# --- scenes -------------------------------------------------------------------------


def _refuse_missing_scenes(folder: Path, inspections: Iterable[Inspection]) -> None:
    """Refuse scripts whose scenes are missing on this machine.

    Raises
    ------
    DataError
        Scenes are missing. The message names the commands that download them.
    """
    from stereo_framework.datasets import scene_names
    from stereo_framework.datasets.download import set_with_scene

    names: dict[str, None] = {}
    for inspection in inspections:
        names |= dict.fromkeys(inspection.scenes)
    present_scenes = scene_names()
    missing_scenes = [name for name in names if _is_missing_scene(name, present_scenes)]
    if not missing_scenes:
        return

    listed_scenes = few(missing_scenes, _MAX_LISTED_SCENES)
    lines = [f"{folder}: the scripts run on scenes that are missing here: {listed_scenes}"]
    sets = [set_with_scene(name, present_scenes) for name in missing_scenes]
    public_sets = list(dict.fromkeys(name for name in sets if name is not None))
    if public_sets:
        lines.append(f"to download them: stereo-framework scenes --fetch {' '.join(public_sets)}")
    if None in sets:
        names_without_set = [
            name for name, public_set in zip(missing_scenes, sets, strict=True) if not public_set
        ]
        names_text = few(names_without_set, _MAX_LISTED_SCENES)
        lines.append(
            f"no public data set contains {names_text}; copy the files "
            "of these scenes to this machine, and name their folder with --data"
        )
    raise DataError("\n".join(lines))


def _is_missing_scene(name: str, present_scenes: Iterable[str]) -> bool:
    """Return whether a scene does not exist on this machine.

    A damaged scene exists. The run then reports its error.
    """
    from stereo_framework.datasets import load_scenes, scene_file
    from stereo_framework.datasets.registry import scene_fits

    try:
        load_scenes([name])
    except DataError:
        path = Path(os.path.expanduser(name))
        has_file = path.is_file() or (path / scene_file.FILE_NAME).is_file()
        return not has_file and not any(scene_fits(scene, name) for scene in present_scenes)
    return False


# --- comparison with the earlier results ----------------------------------------------


def print_other_versions(folder: Path) -> None:
    """Print how the packages and the processor differ from those of earlier results."""
    from stereo_framework.sweep import Store

    try:
        with Store(folder) as store:
            environments = {
                tuple(sorted(result.environment.items())) for result in store.results(every=True)
            }
    except StereoFrameworkError as error:
        _shared.tell("warning", f"the versions of {folder} are unknown: {error}")
        return
    differences = list(_differences(map(dict, environments)))
    if differences:
        listed = "; ".join(differences)
        message = (
            f"the results in {folder} were computed with other versions or on another processor: "
            f"{listed}"
        )
        _shared.tell("note", message)


def _differences(environments: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Yield how the environments of results differ from the present environment."""
    from stereo_framework.sweep.environment import environment

    earlier: dict[str, dict[str, None]] = {}
    present_texts = _described_parts(environment())
    for stored in environments:
        for name, text in _described_parts(stored).items():
            earlier.setdefault(name, {})[text] = None
    for name, texts in sorted(earlier.items()):
        if name == _PROCESSOR and name not in present_texts:
            # The model of the processor of this machine is unknown.
            continue
        present_text = present_texts.get(name, "not installed")
        if list(texts) != [present_text]:
            yield f"{name} {' and '.join(sorted(texts))} (here {present_text})"


def _described_parts(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of packages, and the name of the processor if it is known."""
    from stereo_framework.sweep.environment import versions_in

    texts = versions_in(environment)
    processor = environment.get(_PROCESSOR, "")
    if processor:
        texts[_PROCESSOR] = processor
    return texts


def print_comparison(folder: Path, results: ResultSet, out: Path | None) -> None:
    """Print whether new results equal the earlier results in a folder.

    Parameters
    ----------
    folder : Path
        Results folder of the earlier run.
    results : ResultSet
        Results of the new run.
    out : Path, optional
        Results folder of the new run.
    """
    from stereo_framework.sweep.value_text import counted

    try:
        changes = _changes_since(folder, results)
    except StereoFrameworkError as error:
        _shared.tell("warning", f"the results are not compared with {folder}: {error}")
        return
    changes_with_numbers = [change for change in changes.changed if change.has_other_numbers]
    pair_count = len(changes.changed) + changes.equal_count
    compared = f"{counted(pair_count, 'result')} in both {folder} and this run"
    statement = "all numbers are equal, bit by bit"
    if changes_with_numbers or not pair_count:
        statement = f"{len(changes_with_numbers)} have other numbers"
    if changes.failed_count:
        failures = f"{counted(changes.failed_count, 'run')} failed both times"
        statement = f"{failures}, and for the other runs, {statement}"
        if changes.failed_count == pair_count:
            statement = failures
    _shared.tell("note", f"{compared}: {statement}")
    for change in changes_with_numbers[:_LISTED_CHANGES]:
        _shared.tell("note", _description(change))
    for kind, unmatched_results in (
        (f"only in {folder}", changes.only_in_first),
        ("only in this run", changes.only_in_second),
    ):
        if unmatched_results:
            names = [f"{result.scene} {result.setting_name}" for result in unmatched_results]
            listed = few(names, _LISTED_CHANGES)
            count_text = counted(len(unmatched_results), "result")
            _shared.tell("note", f"{count_text} {kind}: {listed}")
    has_difference = changes_with_numbers or changes.only_in_first or changes.only_in_second
    if has_difference and out is not None:
        _shared.tell("note", f"'stereo-framework changes {folder} {out}' lists all changes")


def _changes_since(folder: Path, results: ResultSet) -> Changes:
    """Return the changes from the earlier results in a folder to new results.

    If a folder is moved, parameters that contain file paths change. Therefore the same
    runs are matched by their identities, whatever their parameters. Results of earlier
    plans of the folder are dropped unless this run has the same runs, because they do
    not belong to the repeated run.
    """
    from stereo_framework.sweep import Store
    from stereo_framework.sweep.changes import changes
    from stereo_framework.sweep.result_set import ResultSet

    with Store(folder) as store:
        planned_runs = {_run_identity(result) for result in store.results()}
        stored_results = list(store.results(every=True))
    new_results: dict[tuple[str, ...], Result] = {
        _run_identity(result): result for result in results
    }
    same_runs = []
    other_runs = []
    for stored in stored_results:
        run = _run_identity(stored)
        if run in new_results:
            new = new_results[run]
            same_runs.append(replace(stored, parameters=new.parameters, axes=new.axes))
        elif run in planned_runs:
            other_runs.append(stored)
    return changes(ResultSet([*same_runs, *other_runs]), results)


def _run_identity(result: Result) -> tuple[str, ...]:
    """Return the values that identify a run and its evaluation."""
    return result.id, result.scene, result.method, result.protocol_text


def _description(change: ResultChange) -> str:
    """Return a line with the numbers that differ between two results."""
    name = f"{change.new.scene} {change.new.setting_name}"
    if change.has_failed_once:
        time = "earlier" if change.old.error else "new"
        return f"{name}: only the {time} run failed: {change.old.error or change.new.error}"
    texts = [f"{number.name} {number.old!r} -> {number.new!r}" for number in change.numbers]
    return f"{name}: {few(texts, _LISTED_CHANGES)}"
