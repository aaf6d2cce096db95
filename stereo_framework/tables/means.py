"""Average statistics over scenes, seeds and parameters that a table does not show.

A key is a property of results, such as ``scene``, ``method`` or the address of a
parameter. A row of a table is a combination of the values of some keys. Its mean covers
all results with these values.

Every table, chart and report uses these means, so all of them cover the same results.
If no result has a statistic on a scene, the scene is left out of all means. If a row
lacks a value on another scene, the row gets no mean, because its mean would cover fewer
scenes than the means of the other rows.

The module `stereo_framework.tables.averages` computes the averages that the protocol of
a benchmark prescribes, such as weighted averages and averages over pixels.
"""

import math
import statistics as _statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stereo_framework.core.errors import ParameterError, few
from stereo_framework.script.report import STATISTIC
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result_set import ResultSet, hashable
from stereo_framework.sweep.value_text import key_value_text
from stereo_framework.tables.words import short_names

KeyValues = tuple[Any, ...]
"""Values of several keys, in the order of the keys."""

ValuesByKey = Mapping[str, Sequence[Any]]
"""Maps each key to its values in all results, in the order of the results."""

NumberByIndex = Mapping[int, float]
"""Maps the index of a result to its number for one statistic.

A result without a number is not in the mapping.
"""


@dataclass(frozen=True)
class Mean:
    """The values of a statistic, and their mean.

    Parameters
    ----------
    values : tuple of float
        The values of the results.
    complete : bool
        Whether the results have all values that the mean should cover.
    """

    values: tuple[float, ...]
    complete: bool = True

    @property
    def value(self) -> float | None:
        """The mean; None if values are missing."""
        return math.fsum(self.values) / len(self.values) if self.complete else None

    def spread(self, kind: str) -> tuple[float, float] | None:
        """Return the two ends of an error bar.

        Parameters
        ----------
        kind : {"deviation", "range", "none"}
            "deviation": from the mean minus the standard deviation to the mean plus the
            standard deviation. "range": from the smallest to the largest value. "none":
            no error bar.

        Returns
        -------
        (float, float) or None
            Lower and upper end. None if `kind` is "none", if the mean has no value, or
            if there is only one value.
        """
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
        The mean for each combination, in the order of the results. A combination is
        left out if no result has the statistic on one of its scenes.
    averaged : str
        Description of the scenes and parameters that were averaged. The text is empty
        if nothing was averaged.
    notes : tuple of str
        Notes on scenes that were left out, and on means that are missing.
    """

    cells: Mapping[KeyValues, Mean]
    averaged: str
    notes: tuple[str, ...]


def means(
    results: ResultSet,
    keys: Sequence[str],
    statistics: Sequence[str],
    varying_keys: Sequence[str] | None = None,
) -> Means:
    """Average statistics for each combination of the keys' values.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    keys : sequence of str
        Keys whose values are not averaged. The values of the key ``statistic`` are the
        names in `statistics`.
    statistics : sequence of str
        Names of the statistics to average.
    varying_keys : sequence of str, optional
        The names that `ResultSet.varying` returns for these results. Pass this argument
        only if no setting occurs twice, because repeated settings are then not
        detected.

    Returns
    -------
    Means
        The means. A mean has no value if a result lacks the statistic, if a scene is
        missing, or if the scenes have different settings. Scenes on which no result has
        the statistic do not count. Settings are compared only between the scenes of one
        mean, so two means may cover different numbers of seeds.

    Raises
    ------
    ParameterError
        If the results have several protocols, if they contain a setting twice, or if no
        result has one of the names.
    """
    _ = results.protocol  # The property refuses results of several protocols.
    if varying_keys is None:
        _refuse_repeated_settings(results)
        varying_keys = results.varying()
    row_keys = [key for key in keys if key != STATISTIC]
    for name in (*row_keys, *statistics):
        results.check_name(name)
    averaged_keys = [key for key in varying_keys if key not in row_keys]

    used_keys = dict.fromkeys((*row_keys, *averaged_keys, "scene"))
    results.read_columns([*used_keys, *statistics])
    values_by_key = _values_by_key(results, used_keys)
    rows = _indices_by_row(values_by_key, row_keys, len(results))

    failed_indices = set(results.failed_indices())
    cells: dict[KeyValues, Mean] = {}
    missing = _MissingMeans()
    notes: list[str] = []
    for statistic in statistics:
        numbers = _numbers_by_index(results, statistic)
        notes += _notes_on_scenes(statistic, numbers, averaged_keys, values_by_key)
        for row, indices, mean in _means_of_rows(rows, numbers, averaged_keys, values_by_key):
            cells[_cell_key(keys, row, statistic)] = mean
            if not mean.complete:
                has_error = not failed_indices.isdisjoint(indices)
                missing.add(statistic, _text_of_row(row_keys, row), mean, has_error=has_error)
    averaged = _text_of_average(rows.values(), averaged_keys, values_by_key)
    return Means(cells, averaged, (*notes, *missing.notes()))


def _means_of_rows(
    rows: Mapping[KeyValues, Sequence[int]],
    numbers: NumberByIndex,
    averaged_keys: Sequence[str],
    values_by_key: ValuesByKey,
) -> Iterator[tuple[KeyValues, Sequence[int], Mean]]:
    """Yield the mean of each row.

    Scenes on which no result has a number are left out. A row that has only such scenes
    is not yielded.

    Parameters
    ----------
    rows : mapping of tuple to sequence of int
        Indices of the results in each row.
    numbers, averaged_keys, values_by_key
        See `_mean`.

    Yields
    ------
    row : tuple
        Values of the keys of the row.
    indices : sequence of int
        Indices of the results that the mean should cover.
    mean : Mean
        The mean of their numbers.
    """
    scene_of = values_by_key["scene"]
    scenes = {scene_of[i] for i in numbers}
    for row, row_indices in rows.items():
        indices = [i for i in row_indices if scene_of[i] in scenes]
        if indices:
            yield row, indices, _mean(indices, numbers, scenes, averaged_keys, values_by_key)


def _mean(
    indices: Sequence[int],
    numbers: NumberByIndex,
    scenes: Collection[str],
    averaged_keys: Sequence[str],
    values_by_key: ValuesByKey,
) -> Mean:
    """Average the numbers of some results.

    The mean is complete if all these results have a number, if they cover all scenes,
    and if every scene has the same settings.

    Parameters
    ----------
    indices : sequence of int
        Indices of the results.
    numbers : mapping of int to float
        The numbers of the statistic, by the index of the result.
    scenes : collection of str
        The scenes on which any result has a number.
    averaged_keys : sequence of str
        The keys over which the mean is computed.
    values_by_key : mapping of str to sequence
        The values of the keys in all results.
    """
    present_numbers = tuple(numbers[i] for i in indices if i in numbers)
    covered_scenes = {values_by_key["scene"][i] for i in indices}
    covers_all_scenes = covered_scenes == set(scenes)
    complete = (
        len(present_numbers) == len(indices)
        and (covers_all_scenes or "scene" not in averaged_keys)
        and _has_same_settings_on_every_scene(indices, averaged_keys, values_by_key)
    )
    return Mean(present_numbers, complete)


@dataclass
class _MissingMeans:
    """Names of the means without a value, in one list for each reason.

    Parameters
    ----------
    incomplete : list of str
        Means that lack some of their values, or whose runs failed.
    never_measured : list of str
        Means of statistics that a method never has. A matcher, for example, has no
        energy.
    """

    incomplete: list[str] = field(default_factory=list)
    never_measured: list[str] = field(default_factory=list)

    def add(self, statistic: str, text_of_row: str, mean: Mean, *, has_error: bool) -> None:
        """Add the missing mean of a statistic in a row of the table."""
        name = f"{statistic} of {text_of_row or 'all'}"
        if mean.values or has_error:
            self.incomplete.append(name)
        else:
            self.never_measured.append(name)

    def notes(self) -> Iterator[str]:
        """Yield one note for each reason that occurs."""
        if self.incomplete:
            reason = "because a run failed, or because not all of its settings ran on every scene"
            yield f"not given: {few(self.incomplete, 1)}, {reason}"
        if self.never_measured:
            yield f"not given: {few(self.never_measured, 1)}, which has none"


def _values_by_key(results: ResultSet, names: Iterable[str]) -> ValuesByKey:
    """Return the values of some keys. Lists and dictionaries become texts."""
    values_by_key = {}
    for name in names:
        values_by_key[name] = [hashable(value) for value in results.column(name)]
    return values_by_key


def _numbers_by_index(results: ResultSet, statistic: str) -> NumberByIndex:
    """Return the numbers of a statistic. Values that are no numbers are left out."""
    column = results.column(statistic)
    return {i: value for i, value in enumerate(column) if is_number(value)}


def _indices_by_row(
    values_by_key: ValuesByKey, row_keys: Sequence[str], count: int
) -> dict[KeyValues, list[int]]:
    """Return the indices of the results in each row of the table."""
    columns = [values_by_key[key] for key in row_keys]
    row_of_each_result = zip(*columns, strict=True) if columns else [()] * count
    rows: dict[KeyValues, list[int]] = {}
    for i, row in enumerate(row_of_each_result):
        rows.setdefault(row, []).append(i)
    return rows


def _cell_key(keys: Sequence[str], row: KeyValues, statistic: str) -> KeyValues:
    """Return the key of a cell: the values of the row, and the name of the statistic.

    The name of the statistic is at the position of the key ``statistic``.
    """
    values = []
    row_values = iter(row)
    for key in keys:
        value = statistic if key == STATISTIC else next(row_values)
        values.append(value)
    return tuple(values)


def _text_of_row(keys: Sequence[str], row: KeyValues) -> str:
    """Describe a row by the values of its keys. Without keys, the text is empty."""
    texts = [key_value_text(key, value) for key, value in zip(keys, row, strict=True)]
    return ", ".join(filter(None, texts))


def _notes_on_scenes(
    statistic: str,
    numbers: NumberByIndex,
    averaged_keys: Collection[str],
    values_by_key: ValuesByKey,
) -> Iterator[str]:
    """Yield a note if no result has a statistic, or if no result has it on some scenes.

    Parameters
    ----------
    statistic : str
        Name of the statistic.
    numbers : mapping of int to float
        The numbers of the statistic, by the index of the result.
    averaged_keys : collection of str
        The keys over which the means are computed. Missing scenes are reported only if
        the means are computed over scenes.
    values_by_key : mapping of str to sequence
        The values of the keys in all results.
    """
    if not numbers:
        yield f"not given: {statistic}, which no result has"
        return
    if "scene" not in averaged_keys:
        return

    scene_of = values_by_key["scene"]
    scenes_with_numbers = {scene_of[i] for i in numbers}
    missing_scenes = set(scene_of) - scenes_with_numbers
    if missing_scenes:
        listed = ", ".join(short_names(missing_scenes).values())
        yield f"{statistic}: without {listed}, where it has no value"


def _refuse_repeated_settings(results: ResultSet) -> None:
    """Refuse results that contain a setting twice on the same scene."""
    repeated = results.repeated_setting()
    if repeated is not None:
        scene, method = repeated
        message = (
            f"{scene} {method}: results of the same setting twice, of an earlier version of the "
            "code or of the scene; leave out those of earlier scripts"
        )
        raise ParameterError(message)


def _has_same_settings_on_every_scene(
    indices: Sequence[int], averaged_keys: Sequence[str], values_by_key: ValuesByKey
) -> bool:
    """Return whether some results contain the same settings on each of their scenes."""
    if len(indices) == 1:
        return True
    scene_of = values_by_key["scene"]
    columns = [values_by_key[key] for key in averaged_keys if key != "scene"]
    settings_of_scene: dict[str, set[KeyValues]] = {}
    for i in indices:
        setting = tuple([column[i] for column in columns])
        settings_of_scene.setdefault(scene_of[i], set()).add(setting)

    first_settings, *other_settings = settings_of_scene.values()
    return all(scene_settings == first_settings for scene_settings in other_settings)


def _text_of_average(
    rows: Collection[Sequence[int]], averaged_keys: Sequence[str], values_by_key: ValuesByKey
) -> str:
    """Describe the average, as in ``mean over 2 scenes (sawtooth, venus)``.

    Parameters
    ----------
    rows : collection of sequence of int
        Indices of the results in each row.
    averaged_keys : sequence of str
        The keys over which the means are computed.
    values_by_key : mapping of str to sequence
        The values of the keys in all results.
    """
    phrases = []
    for key in averaged_keys:
        values_of_rows = [_distinct_values(values_by_key[key], indices) for indices in rows]
        counts = [len(distinct_values) for distinct_values in values_of_rows] or [1]
        if max(counts) == 1:
            # In each row, all results have the same value of this key.
            continue
        number = f"up to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
        if key == "scene":
            scenes = short_names(set().union(*values_of_rows)).values()
            phrases.append(f"{number} scenes ({', '.join(scenes)})")
        else:
            phrases.append(f"{number} values of {key}")
    return f"mean over {', '.join(phrases)}" if phrases else ""


def _distinct_values(values: Sequence[Any], indices: Sequence[int]) -> set[Any]:
    return {values[i] for i in indices}
