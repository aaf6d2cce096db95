"""Means of statistics over everything that a table or chart does not ask for: scenes, seeds and other parameters.

Which results make up a mean over scenes is decided here, for every table, chart and page. A scene on which no method has a value is left out for all
methods. A method that lacks a value on one of the remaining scenes gets no mean, since it would cover fewer scenes than the means beside it.

The average over scenes that the protocol of a benchmark prescribes, with weights or over pixels, is a row of its own: `average_rows`.
"""

import contextlib
import json
import math
import statistics as _statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.errors import DataError, ParameterError, few
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation import Protocol, resolve
from stereo_framework.evaluation.protocols import PRESETS, average, is_counted, with_metrics
from stereo_framework.io import PathLike
from stereo_framework.script.report import STATISTIC
from stereo_framework.sweep import Result
from stereo_framework.tables.values import (
    all_names,
    by_protocol,
    check_name,
    column,
    grouped,
    is_number,
    one_protocol,
    settings,
)
from stereo_framework.tables.words import part, setting_name, short_names


@dataclass(frozen=True)
class Mean:
    """The values of a statistic and their mean.

    Parameters
    ----------
    values : tuple of float
    complete : bool
        Whether these are all the values that the mean should cover.
    """

    values: tuple[float, ...]
    complete: bool = True

    @property
    def value(self) -> float | None:
        """The mean, or None if values are missing."""
        return math.fsum(self.values) / len(self.values) if self.complete else None

    def spread(self, kind: str) -> tuple[float, float] | None:
        """The ends of an error bar, or None if there is no bar. ``deviation``: the mean minus and plus the standard deviation; ``range``: the extremes."""
        if kind == "none" or self.value is None or len(self.values) < 2:
            return None
        if kind == "range":
            return min(self.values), max(self.values)
        deviation = _statistics.stdev(self.values)
        return self.value - deviation, self.value + deviation


@dataclass(frozen=True)
class Means:
    """Means for each combination of the values of some keys.

    Parameters
    ----------
    cells : mapping of tuple to Mean
        By the values of the keys, in the order of the results.
    averaged : str
        What the means were taken over, in words; empty if nothing was averaged.
    notes : tuple of str
        Which means cover fewer scenes or are missing, and why.
    """

    cells: Mapping[tuple[Any, ...], Mean]
    averaged: str
    notes: tuple[str, ...]


def telling_keys(results: Sequence[Result]) -> list[str]:
    """The keys that distinguish results of one protocol: scene, method, the axes, and any other parameters that vary."""
    axes = all_names(r.axes for r in results)
    first: dict[tuple[str, str], Any] = {}
    varying: dict[str, None] = {}
    for r in results:
        for name, given in r.parameters.items():
            if name not in varying:
                one = first.setdefault((r.method, name), given)
                # 1, 1.0 and true are equal in Python but not as parameters.
                if one.__class__ is not given.__class__ or one != given:
                    varying[name] = None
    # The axis of a whole slot stands for its parameters too, and the seed of a script for those of its stages.
    told = [
        name
        for name in varying
        if any(name == axis or name.startswith(f"{axis}.") for axis in axes)
    ]
    told += [name for name in varying if name.rpartition(".")[2] == "seed" and "seed" in axes]
    return ["scene", "method", *axes, *(name for name in varying if name not in told)]


def means(
    results: Sequence[Result],
    keys: Sequence[str],
    statistics: Sequence[str],
    telling: Sequence[str] | None = None,
) -> Means:
    """The mean of each statistic for each combination of the keys' values, over everything else that distinguishes results.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol.
    keys : sequence of str
        ``statistic`` stands for the names in `statistics`.
    statistics : sequence of str
    telling : sequence of str, optional
        The `telling_keys` of the results, if the caller knows them already, and that no setting occurs twice.

    Returns
    -------
    Means
        A mean has a value if every setting that it covers has the statistic on every scene that has it at all, and if these scenes are the same as
        those of the other means. The means may cover different numbers of settings, such as seeds.

    Raises
    ------
    ParameterError
        The results are of several protocols or contain the same setting twice, or no result has one of the names.
    """
    one_protocol(results)
    if telling is None:
        _refuse_repeated_settings(results)
    plain = [key for key in keys if key != STATISTIC]
    for name in (*plain, *statistics):
        check_name(name, results)
    left = [
        key for key in (telling_keys(results) if telling is None else telling) if key not in plain
    ]
    columns = {
        key: list(map(_hashable, settings(results, key)))
        for key in dict.fromkeys((*plain, *left, "scene"))
    }
    settled = (
        list(zip(*map(columns.__getitem__, plain), strict=True)) if plain else [()] * len(results)
    )
    rows = grouped(range(len(results)), settled.__getitem__)
    at = columns["scene"]
    cells: dict[tuple[Any, ...], Mean] = {}
    partial: list[str] = []
    # The means that have no value, by the reason.
    lacking: dict[str, list[str]] = {
        "because a run failed, or because not all of its settings ran on every scene": [],
        "which has none": [],
    }
    incomplete, without = lacking.values()
    for statistic in statistics:
        numbers = {
            i: number for i, number in enumerate(column(results, statistic)) if is_number(number)
        }
        scenes = {at[i] for i in numbers}
        if not scenes:
            partial.append(f"not given: {statistic}, which no result has")
        elif len(scenes) < len(set(at)) and "scene" in left:
            others = short_names({*at} - scenes).values()
            partial.append(f"{statistic}: without {', '.join(others)}, where it has no value")
        for row, members in rows.items():
            wanted = [i for i in members if at[i] in scenes]
            there = tuple(numbers[i] for i in wanted if i in numbers)
            if not wanted:
                continue
            covered = {at[i] for i in wanted} == scenes or "scene" not in left
            cell = Mean(
                there, len(there) == len(wanted) and covered and _balanced(wanted, left, columns)
            )
            place = iter(row)
            cells[
                tuple(statistic if key == STATISTIC else next(place) for key in keys)
                if len(plain) < len(keys)
                else row
            ] = cell
            if not cell.complete:
                what = ", ".join(filter(None, map(part, plain, row)))
                # Some statistics do not exist at all for a method, such as the energy of a matcher.
                none = not there and not any(results[i].error for i in wanted)
                (without if none else incomplete).append(f"{statistic} of {what or 'all'}")
    averaged = _averaged(rows.values(), left, columns)
    partial += [f"not given: {few(names, 1)}, {why}" for why, names in lacking.items() if names]
    return Means(cells, averaged, tuple(partial))


def _hashable(item: Any) -> Any:
    return json.dumps(item) if isinstance(item, (list, dict)) else item


def _refuse_repeated_settings(results: Sequence[Result]) -> None:
    seen = set()
    for r in results:
        identity = (r.scene, r.method, *(repr(sorted(of.items())) for of in (r.axes, r.parameters)))
        if identity in seen:
            raise ParameterError(
                f"{r.scene} {r.method}: results of the same setting twice, of an earlier version of the code or of the scene; "
                "leave out those of earlier scripts"
            )
        seen.add(identity)


def _balanced(
    members: Sequence[int], left: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> bool:
    """Whether there are results of the same settings on every scene; `members` are places in the columns."""
    if len(members) == 1:
        return True
    settings: dict[str, set[Any]] = {}
    others = [columns[key] for key in left if key != "scene"]
    for i in members:
        settings.setdefault(columns["scene"][i], set()).add(tuple([column[i] for column in others]))
    first, *more = settings.values()
    return all(other == first for other in more)


def _averaged(
    rows: Collection[Sequence[int]], left: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> str:
    """What is averaged, in words: ``mean over 3 scenes (sawtooth, tsukuba, venus), up to 7 values of seed``."""
    said = []
    for key in left:
        values = [dict.fromkeys([columns[key][i] for i in row]) for row in rows]
        most, least = max(map(len, values), default=1), min(map(len, values), default=1)
        if most == 1:
            continue
        number = f"{'up to ' * (least < most)}{most}"
        if key == "scene":
            said.append(
                f"{number} scenes ({', '.join(short_names({s for row in values for s in row}).values())})"
            )
        else:
            said.append(f"{number} values of {key}")
    return f"mean over {', '.join(said)}" if said else ""


def average_rows(results: Sequence[Result], data: PathLike | None = None) -> list[Result]:
    """For each method and setting, a row with the average over the scenes that its protocol prescribes.

    Parameters
    ----------
    results : sequence of Result
        They may be of several protocols.
    data : path-like, optional
        Data root, where the weights of scenes are looked up if the protocol weights them.

    Returns
    -------
    list of Result
        Their scene is ``average of 10``, or ``average of 9 of 10`` if the method lacks a result on a scene on which another method was measured; a
        warning of the row then names it.
        There are no such rows if there is only one scene, if the protocol is not known any more, or if the weights of scenes cannot be looked up.
    """
    found = []
    for same in by_protocol(results).values():
        scenes = dict.fromkeys(r.scene for r in same)
        protocol = protocol_of(same) if len(scenes) > 1 else None
        if protocol is None:
            continue
        weights = (
            _weights(scenes, data)
            if protocol.averaging == "weighted"
            else dict.fromkeys(scenes, 1.0)
        )
        if weights is None:
            continue
        for own in grouped(same, setting_name).values():
            there = [r for r in own if r.statistics and is_counted(r.statistics, protocol)]
            if there and len({r.scene for r in there}) == len(there):
                mean = average(
                    [r.statistics for r in there], protocol, [weights[r.scene] for r in there]
                )
                energies = [r.energy for r in there if r.energy is not None]
                energy = (
                    math.fsum(energies) / len(energies) if len(energies) == len(there) else None
                )
                of = f"average of {len(there)}" + (
                    f" of {len(scenes)}" if len(there) < len(scenes) else ""
                )
                absent = short_names(scenes.keys() - {r.scene for r in there}).values()
                row_warnings: tuple[str, ...] = ()
                if absent:
                    is_meant = any(
                        map(there[0].is_meant_for, scenes.keys() - {r.scene for r in there})
                    )
                    reason = "where it has no result" if is_meant else "on which it does not run"
                    row_warnings = (f"without {', '.join(absent)}, {reason}",)
                blank: dict[str, Any] = {
                    "energy": energy,
                    "seconds": {},
                    "warnings": row_warnings,
                    "error": None,
                    "map": None,
                    "id": "",
                }
                found.append(replace(there[0], scene=of, statistics=mean, _disparity=None, **blank))
    return found


def protocol_of(results: Sequence[Result]) -> Protocol | None:
    """The protocol that results have in common: a preset, or one that a script of theirs describes, with the metrics that it names; None if it is neither."""
    text = results[0].protocol_text
    if (preset := next((p for p in map(resolve, PRESETS) if str(p) == text), None)) is not None:
        return preset
    for told in {
        repr(told): told for r in results if (told := r.script.get("evaluation"))
    }.values():
        given = told.get("protocol") or [*PRESETS], told.get("metrics") or []
        specs, metrics = (one if isinstance(one, list) else [one] for one in given)
        for spec in specs:
            # Of a plug-in that is not there now; or a folder of somebody else says anything.
            with contextlib.suppress(ParameterError, TypeError):
                if str(found := with_metrics(resolve(spec), tuple(metrics))) == text:
                    return found
    return None


def _weights(scenes: Iterable[str], data: PathLike | None) -> dict[str, float] | None:
    try:
        return {scene: load_scene(scene, data=data).weight for scene in scenes}
    except DataError:
        return None
