"""List the changes between the results of two results folders, setting by setting."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from stereo_framework.sweep.environment import versions_in
from stereo_framework.sweep.merged_results import is_equal_number, numbers_of
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet


class NumberChange(NamedTuple):
    """A statistic, or the energy, with different values in two results.

    Parameters
    ----------
    name : str
        Name of the statistic, or ``energy``.
    old, new : float or None
        Values in the two results. None means that the result lacks the statistic.
    """

    name: str
    old: float | None
    new: float | None

    @property
    def difference(self) -> float | None:
        """New value minus old value, or None if one of the results lacks the value."""
        if self.old is None or self.new is None:
            return None
        return self.new - self.old


class ValueChange(NamedTuple):
    """A parameter or a version that differs between two results.

    Parameters
    ----------
    name : str
        Address of the parameter, or name of the package.
    old, new : object
        Values in the two results. `MISSING` means that the result lacks the value.
    """

    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class ResultChange:
    """A result that differs from the matching result of another folder.

    Parameters
    ----------
    old, new : Result
        The two results.
    numbers : tuple of NumberChange
        Statistics that differ. The tuple is empty if one of the runs failed.
    parameters : tuple of ValueChange
        Parameters that differ. The tuple is empty if the settings are equal.
    versions : tuple of ValueChange
        Versions of Python and of packages that differ. The tuple is empty if the runs
        have the same identity and the same numbers.
    """

    old: Result
    new: Result
    numbers: tuple[NumberChange, ...]
    parameters: tuple[ValueChange, ...]
    versions: tuple[ValueChange, ...]

    @property
    def is_other_run(self) -> bool:
        """True if the results have different identities of the run.

        If the parameters are equal, the code, the scene, a file of a stage or the
        version of a package has changed.
        """
        return self.old.id != self.new.id

    @property
    def has_failed_once(self) -> bool:
        """True if only one of the runs failed."""
        return bool(self.old.error) != bool(self.new.error)

    @property
    def has_other_numbers(self) -> bool:
        """True if the statistics differ, or if only one of the runs has statistics."""
        return bool(self.numbers) or self.has_failed_once

    def record(self) -> dict[str, Any]:
        """Return the change as a dictionary, which the option ``--json`` prints."""
        numbers = [change._asdict() | {"difference": change.difference} for change in self.numbers]
        return {
            "kind": "changed",
            **_names_of_result(self.new),
            "numbers": numbers,
            "old_error": self.old.error,
            "new_error": self.new.error,
            "changed_parameters": [_value_record(change) for change in self.parameters],
            "changed_versions": [_value_record(change) for change in self.versions],
            "is_other_run": self.is_other_run,
        }


@dataclass(frozen=True)
class Changes:
    """All changes between two result sets.

    Parameters
    ----------
    changed : tuple of ResultChange
        Results that are in both result sets and differ, in the order of the first.
    equal_count : int
        Number of results that are in both result sets and have the same identity,
        parameters and numbers, or whose runs failed in both result sets.
    failed_count : int
        Number of results whose runs failed in both result sets.
    only_in_first, only_in_second : ResultSet
        Results that are in only one of the result sets.
    scenes_only_in_first, scenes_only_in_second : tuple of str
        Scenes that are in only one of the result sets.
    """

    changed: tuple[ResultChange, ...]
    equal_count: int
    failed_count: int
    only_in_first: ResultSet
    only_in_second: ResultSet
    scenes_only_in_first: tuple[str, ...]
    scenes_only_in_second: tuple[str, ...]

    @property
    def has_other_numbers(self) -> bool:
        """True if a result that is in both result sets has different statistics."""
        return any(change.has_other_numbers for change in self.changed)

    def records(self) -> list[dict[str, Any]]:
        """Return all changes as dictionaries, which the option ``--json`` prints."""
        records = [change.record() for change in self.changed]
        for kind, results in (
            ("only_in_first", self.only_in_first),
            ("only_in_second", self.only_in_second),
        ):
            records += [{"kind": kind, **_names_of_result(result)} for result in results]
        return records


def _names_of_result(result: Result) -> dict[str, Any]:
    """Return the names and values that identify a result in a list of changes."""
    return {
        "scene": result.scene,
        "method": result.method,
        "axes": dict(result.axes),
        "parameters": dict(result.parameters),
        "protocol": result.protocol,
    }


def _value_record(change: ValueChange) -> dict[str, Any]:
    """Return a change as a dictionary. A missing value has no key."""
    values = {"name": change.name, "old": change.old, "new": change.new}
    return {key: value for key, value in values.items() if value is not MISSING}


def changes(first: ResultSet, second: ResultSet) -> Changes:
    """List the changes between two result sets.

    Results are matched by scene, method, parameters and the text of the protocol. The
    remaining results are matched by scene, method, axes and the text of the protocol,
    because their other parameters may have changed.

    Parameters
    ----------
    first, second : ResultSet
        Results before and after the changes.

    Returns
    -------
    Changes
        The differences. If a result set contains a setting several times, its results
        are matched in their order.
    """
    # Each iteration over stored results creates new objects, so there is only one.
    all_old_results = tuple(first)
    all_new_results = tuple(second)
    pairs, old_results, new_results = _matched(all_old_results, all_new_results, _setting_key)
    pairs_of_axes, old_results, new_results = _matched(old_results, new_results, _axes_key)
    pairs += pairs_of_axes

    position = {id(result): i for i, result in enumerate(all_old_results)}
    pairs.sort(key=lambda pair: position[id(pair.old)])
    changed: list[ResultChange] = []
    for old, new in pairs:
        change = _change(old, new)
        if change.has_other_numbers or change.parameters or change.is_other_run:
            changed.append(change)
    return Changes(
        changed=tuple(changed),
        equal_count=len(pairs) - len(changed),
        failed_count=sum(bool(pair.old.error and pair.new.error) for pair in pairs),
        only_in_first=ResultSet(old_results),
        only_in_second=ResultSet(new_results),
        scenes_only_in_first=_scenes_only_in(all_old_results, all_new_results),
        scenes_only_in_second=_scenes_only_in(all_new_results, all_old_results),
    )


def _scenes_only_in(results: Iterable[Result], other_results: Iterable[Result]) -> tuple[str, ...]:
    """Return the scenes of results that do not occur in other results."""
    other_scenes = {result.scene for result in other_results}
    scenes = dict.fromkeys(result.scene for result in results)
    return tuple(scene for scene in scenes if scene not in other_scenes)


# --- matching -------------------------------------------------------------------------


class _Pair(NamedTuple):
    """Two results that are compared."""

    old: Result
    new: Result


def _matched(
    first: Iterable[Result], second: Iterable[Result], key_of: Callable[[Result], str]
) -> tuple[list[_Pair], list[Result], list[Result]]:
    """Match results with equal keys, and return the pairs and all other results."""
    new_results_of_key: dict[str, list[Result]] = {}
    for result in second:
        new_results_of_key.setdefault(key_of(result), []).append(result)

    pairs: list[_Pair] = []
    other_old_results: list[Result] = []
    for old in first:
        candidates = new_results_of_key.get(key_of(old))
        if candidates:
            pairs.append(_Pair(old, candidates.pop(0)))
        else:
            other_old_results.append(old)
    other_new_results: list[Result] = []
    for results in new_results_of_key.values():
        other_new_results += results
    return pairs, other_old_results, other_new_results


def _setting_key(result: Result) -> str:
    """Return a text that is equal for results of the same setting."""
    return _json_text(_run_names(result), dict(result.parameters))


def _axes_key(result: Result) -> str:
    """Return a text that is equal for results with the same values of the axes."""
    return _json_text(_run_names(result), dict(result.axes))


def _run_names(result: Result) -> list[str]:
    """Return the scene, the method and the text of the protocol of a result."""
    return [result.scene, result.method, result.protocol_text]


def _json_text(*values: Any) -> str:
    """Return a text that distinguishes values of different types."""
    return json.dumps(values, sort_keys=True, default=str)


# --- differences ----------------------------------------------------------------------


def _change(old: Result, new: Result) -> ResultChange:
    """Return the differences between two results."""
    numbers: tuple[NumberChange, ...] = ()
    if not old.error and not new.error:
        numbers = _number_changes(old, new)
    parameters = _value_changes(old.parameters, new.parameters)
    change = ResultChange(old=old, new=new, numbers=numbers, parameters=parameters, versions=())
    if change.has_other_numbers or change.is_other_run:
        return replace(change, versions=_version_changes(old, new))
    return change


def _version_changes(old: Result, new: Result) -> tuple[ValueChange, ...]:
    """Return the versions of Python and of packages that differ between two results."""
    return _value_changes(versions_in(old.environment), versions_in(new.environment))


def _number_changes(old: Result, new: Result) -> tuple[NumberChange, ...]:
    """Return the statistics that differ between two results. NaN equals NaN."""
    old_numbers = numbers_of(old)
    new_numbers = numbers_of(new)
    number_changes: list[NumberChange] = []
    for name in old_numbers | new_numbers:
        change = NumberChange(name, old_numbers.get(name), new_numbers.get(name))
        if not is_equal_number(change.old, change.new):
            number_changes.append(change)
    return tuple(number_changes)


def _value_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[ValueChange, ...]:
    """Return the entries that differ between two mappings."""
    value_changes: list[ValueChange] = []
    for name in dict.fromkeys([*old, *new]):
        change = ValueChange(name, old.get(name, MISSING), new.get(name, MISSING))
        is_missing = change.old is MISSING or change.new is MISSING
        if is_missing or _json_text(change.old) != _json_text(change.new):
            value_changes.append(change)
    return tuple(value_changes)
