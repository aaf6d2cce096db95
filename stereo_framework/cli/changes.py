"""The command ``changes``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _shared
from stereo_framework.core.errors import few

if TYPE_CHECKING:
    from stereo_framework.sweep import ResultSet
    from stereo_framework.sweep.changes import Changes, NumberChange, ResultChange, ValueChange

_MAX_NAMES = 3
"""Maximum number of names in one line."""


def changes(
    first: Path,
    second: Path,
    columns: Annotated[str | None, typer.Option(metavar="NAME,NAME")] = None,
    limit: Annotated[int, typer.Option(min=0)] = 200,
    json: _shared.Json = False,
) -> int:
    """List the changes between two results folders.

    The command compares the results of each setting on each scene. It prints the
    statistics that differ, the settings that only one folder contains, and changes of
    parameters, code and versions. The exit status is 1 if numbers differ.

    Example: stereo-framework changes results/old results/new

    Parameters
    ----------
    first
        Results folder before the changes.
    second
        Results folder after the changes.
    columns
        Statistics to show, or groups of them (hci), separated by commas. Default: the
        statistics that the command 'results' shows, and the energy.
    limit
        Maximum number of printed rows and lines of each kind; 0: all.
    """
    from stereo_framework.sweep import Store
    from stereo_framework.sweep.changes import changes as changes_between

    if json:
        reason = "with --json, which prints all statistics"
        _shared.refuse_without_effect(reason, {"--columns": columns is not None})
    with Store(first) as first_store, Store(second) as second_store:
        first_results = first_store.results()
        second_results = second_store.results()
        messages = {first: first_store.lacking(), second: second_store.lacking()}

    found_changes = changes_between(first_results, second_results)
    if json:
        _shared.print_json(found_changes.records())
    else:
        shown_names = _shown_statistics(first_results + second_results, columns)
        printer = _Printer(found_changes, (first, second), limit or None)
        printer.print_numbers(shown_names)
        printer.print_failures()
        printer.print_results_of_one_folder()
        printer.print_causes()
    for folder, message in messages.items():
        if message:
            _shared.tell("warning", f"{folder}: {message}")
    return 1 if found_changes.has_other_numbers else 0


def _shown_statistics(results: ResultSet, columns: str | None) -> list[str]:
    """Return the names of the statistics whose changes are printed."""
    from stereo_framework.tables.tables import shown_statistics

    names = shown_statistics(results, _shared.names(columns))
    if columns:
        return names
    return list(dict.fromkeys([*names, "energy"]))


class _Printer:
    """Printer of the changes between two folders.

    Parameters
    ----------
    found_changes : Changes
        All changes.
    folders : (Path, Path)
        The two folders.
    limit : int, optional
        Maximum number of printed rows and lines of each kind. The default is all.
    """

    def __init__(self, found_changes: Changes, folders: tuple[Path, Path], limit: int | None):
        self._changes = found_changes
        self._folders = folders
        self._limit = limit

    def print_numbers(self, names: Sequence[str]) -> None:
        """Print a row for each statistic that differs, and the number of such results.

        Parameters
        ----------
        names : sequence of str
            Names of the statistics that are printed.
        """
        from stereo_framework.sweep.value_text import counted

        changed = [change for change in self._changes.changed if change.numbers]
        rows: list[list[str]] = []
        hidden_count = 0
        for change in changed:
            setting = [change.new.scene, change.new.setting_name]
            shown_numbers = [number for number in change.numbers if number.name in names]
            if not shown_numbers:
                hidden_count += 1
            rows += [[*setting, *_cells(number)] for number in shown_numbers]
        if rows:
            header = ["scene", "setting", "statistic", "old", "new", "difference"]
            _shared.print_table(header, rows[: self._limit], keys=2)
            _shared.say_cut(len(rows[: self._limit]), len(rows), "rows", "--limit 0")

        pair_count = len(self._changes.changed) + self._changes.equal_count
        _shared.say(
            f"{counted(pair_count, 'result')} in both folders, of which {len(changed)} have other "
            "numbers"
        )
        if hidden_count:
            _shared.say(
                f"{hidden_count} of them differ only in statistics that are not shown; "
                "--columns NAME or --json shows them"
            )

    def print_failures(self) -> None:
        """Print the runs that failed in only one of the folders."""
        lines: list[str] = []
        for change in self._changes.changed:
            if not change.has_failed_once:
                continue
            folder, error = self._folders[1], change.new.error
            if change.old.error:
                folder, error = self._folders[0], change.old.error
            name = f"{change.new.scene} {change.new.setting_name}"
            lines.append(f"{name}: failed only in {folder}: {error}")
        self._print_lines(lines)

    def print_results_of_one_folder(self) -> None:
        """Print the scenes and the settings that only one of the folders contains."""
        first, second = self._folders
        changes = self._changes
        lines = _lines_of_one_folder(changes.only_in_first, changes.scenes_only_in_first, first)
        lines += _lines_of_one_folder(changes.only_in_second, changes.scenes_only_in_second, second)
        self._print_lines(lines)

    def print_causes(self) -> None:
        """Print the changes of parameters, versions and code, each with its results."""
        results_of_cause: dict[str, list[str]] = {}
        for change in self._changes.changed:
            name = f"{change.new.scene} {change.new.setting_name}"
            results_of_cause.setdefault(_cause(change), []).append(name)
        lines = [f"{cause}: {few(names, _MAX_NAMES)}" for cause, names in results_of_cause.items()]
        self._print_lines(lines)

    def _print_lines(self, lines: Sequence[str]) -> None:
        """Print lines up to the maximum number."""
        _shared.say(*lines[: self._limit])
        _shared.say_cut(len(lines[: self._limit]), len(lines), "lines", "--limit 0")


def _cells(number: NumberChange) -> list[str]:
    """Return the cells with the name, the values and the difference of a statistic."""
    difference = "-"
    if number.difference is not None and not math.isnan(number.difference):
        difference = f"{number.difference:+.3g}"
    return [number.name, _number_text(number.old), _number_text(number.new), difference]


def _number_text(value: float | None) -> str:
    """Return the text of a number, which is "-" if missing and "nan" for NaN."""
    from stereo_framework.sweep.value_text import cell_text

    if value is not None and not math.isfinite(value):
        return str(value)
    return cell_text(value)


def _lines_of_one_folder(results: ResultSet, scenes: Sequence[str], folder: Path) -> list[str]:
    """Return lines about results that only one of the folders contains.

    Parameters
    ----------
    results : ResultSet
        Results that only this folder contains.
    scenes : sequence of str
        Scenes that only this folder contains. Their results have one line together.
    folder : Path
        The folder.
    """
    from stereo_framework.sweep.value_text import counted

    scene_of_result = [result.scene for result in results]
    lines: list[str] = []
    for scene in scenes:
        count_text = counted(scene_of_result.count(scene), "result")
        lines.append(f"scene only in {folder}: {scene}, {count_text}")

    scenes_of_setting: dict[str, list[str]] = {}
    for result in results:
        if result.scene not in scenes:
            scenes_of_setting.setdefault(result.setting_name, []).append(result.scene)
    for setting, scenes_with_setting in scenes_of_setting.items():
        names = few(scenes_with_setting, _MAX_NAMES)
        lines.append(f"setting only in {folder}: {setting} on {names}")
    return lines


def _cause(change: ResultChange) -> str:
    """Return the parameters, versions or code that differ between two results."""
    if change.parameters:
        return f"other parameters ({_listed(change.parameters)})"
    if change.is_other_run and change.versions:
        return f"other versions ({_listed(change.versions)}), and perhaps other code or files"
    if change.is_other_run:
        return "the same parameters and versions, but other code, another scene or other files"
    versions_text = "the same versions"
    if change.versions:
        versions_text = f"other versions ({_listed(change.versions)})"
    hosts = [result.environment.get("host", "-") for result in (change.old, change.new)]
    return f"the same run on the hosts {hosts[0]} and {hosts[1]} with {versions_text}"


def _listed(value_changes: Iterable[ValueChange]) -> str:
    """Return a list of changed values, such as ``numpy 1.26.4 -> 2.0.1``."""
    texts: list[str] = []
    for name, old, new in value_changes:
        texts.append(f"{name} {_value_text(old)} -> {_value_text(new)}")
    return ", ".join(texts)


def _value_text(value: Any) -> str:
    """Return the text of a parameter or version, or the word "missing"."""
    from stereo_framework.sweep.missing import MISSING
    from stereo_framework.sweep.value_text import setting_text

    if value is MISSING:
        return "missing"
    return setting_text(value)
