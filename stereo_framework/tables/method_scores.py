"""One value for each method and scene, for comparisons over scenes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, few
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result_set import ResultSet, hashable
from stereo_framework.sweep.value_text import counted, setting_text
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.grouping import group_items
from stereo_framework.tables.words import caption, short_names

_MAX_NAMES = 6
"""Maximum number of scenes or settings in one line."""

IndicesByCell = Mapping[tuple[str, str], Sequence[int]]
"""Maps a method and a scene to the indices of their results."""


@dataclass(frozen=True, eq=False)
class MethodScores:
    """The values of a statistic for each method and scene.

    Parameters
    ----------
    methods : tuple of str
        Names of the methods.
    scenes : tuple of str
        Names of the scenes on which at least one method has a value.
    values : ndarray, float64, (methods, scenes)
        The values. NaN means that the method has no value on the scene.
    lower_is_better : bool
        Whether lower values are better. Otherwise, higher values are better.
    notes : tuple of str
        Remarks on averages over seeds and on scenes without any value.
    """

    methods: tuple[str, ...]
    scenes: tuple[str, ...]
    values: NDArray[np.float64]
    lower_is_better: bool
    notes: tuple[str, ...] = ()

    def sorted_by_mean(self) -> MethodScores:
        """Sort the methods by the means of their values, the best first."""
        value_counts = np.count_nonzero(~np.isnan(self.values), axis=1)
        # The mean of a method without a value is 0 / 0, so it is NaN and comes last.
        with np.errstate(invalid="ignore"):
            means = np.nansum(self.values, axis=1) / value_counts
        order = np.argsort(means if self.lower_is_better else -means, kind="stable")
        methods = tuple(self.methods[i] for i in order)
        return replace(self, methods=methods, values=self.values[order])

    def warnings_on_missing_scenes(self) -> Iterator[str]:
        """Yield a warning for each method that lacks scenes of the other methods."""
        shown_names = short_names(self.scenes)
        for method, row in zip(self.methods, self.values, strict=True):
            missing = [shown_names[self.scenes[i]] for i in np.flatnonzero(np.isnan(row))]
            if missing:
                listed = few(missing, _MAX_NAMES)
                yield (
                    f"{method} has no value on {len(missing)} of "
                    f"{counted(len(self.scenes), 'scene')} ({listed}), because a run failed or is "
                    "missing there; its pairs leave these scenes out"
                )


def scores_of_methods(results: ResultSet, statistic: str, keys: Sequence[str]) -> MethodScores:
    """Return one value for each method and scene, averaged over seeds.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    statistic : str
        Name of a statistic whose lower or higher values are better.
    keys : sequence of str
        Names that distinguish the methods, such as ``method``.

    Raises
    ------
    ParameterError
        The results have several protocols, or a method has several results on a scene
        that differ in more than the seed. Or no result has a name or a value, or
        neither lower nor higher values of the statistic are better.
    """
    _ = results.protocol  # The property refuses results of several protocols.
    refuse_empty_results(results)
    _check_statistic(results, statistic)
    _check_keys(results, keys)
    methods_of_results = _method_names(results, keys)
    scenes_of_results = results.column("scene")
    cells = list(zip(methods_of_results, scenes_of_results, strict=True))
    indices_by_cell = group_items(range(len(cells)), cells.__getitem__)
    _refuse_several_settings(results, keys, indices_by_cell)

    methods = tuple(dict.fromkeys(methods_of_results))
    scenes = tuple(dict.fromkeys(scenes_of_results))
    numbers = np.array(_finite_numbers(results, statistic))
    values = np.full((len(methods), len(scenes)), math.nan)
    for (method, scene), indices in indices_by_cell.items():
        # The sum is NaN if one of the seeds lacks a value.
        mean = math.fsum(numbers[indices]) / len(indices)
        values[methods.index(method), scenes.index(scene)] = mean

    has_value = ~np.isnan(values).all(axis=0)
    notes = [*_notes_on_seeds(indices_by_cell), *_notes_on_empty_scenes(scenes, has_value)]
    return MethodScores(
        methods=methods,
        scenes=tuple(scenes[i] for i in np.flatnonzero(has_value)),
        values=values[:, has_value],
        lower_is_better=better_direction(statistic) == "lower",
        notes=tuple(notes),
    )


def refuse_empty_results(results: ResultSet) -> None:
    """Refuse an empty set of results."""
    if not results:
        message = "nothing to compare: there are no results; select the results of several methods"
        raise ParameterError(message)


def _check_statistic(results: ResultSet, statistic: str) -> None:
    """Refuse a statistic without a direction, and a statistic that no result has."""
    results.check_name(statistic)
    if not better_direction(statistic):
        message = (
            f"{statistic!r}: neither lower nor higher values are better, so methods cannot be "
            "compared by it; choose another statistic, such as bad_pixels_nonocc"
        )
        raise ParameterError(message)
    if all(math.isnan(number) for number in _finite_numbers(results, statistic)):
        message = f"{statistic!r}: no result has a value of it; choose another statistic"
        raise ParameterError(message)


def _check_keys(results: ResultSet, keys: Sequence[str]) -> None:
    """Refuse names that cannot distinguish methods."""
    if not keys:
        raise ParameterError(
            "by: has no name; add a name that distinguishes the methods, such as method"
        )
    for key in keys:
        if key == "scene":
            message = "by: methods are compared on the same scenes; leave scene out of by"
            raise ParameterError(message)
        results.check_name(key)


def _method_names(results: ResultSet, keys: Sequence[str]) -> list[str]:
    """Return the name of the method of each result, such as ``window, size=9``.

    Results have the same name only if they have equal values of all keys.
    """
    columns = [map(_distinguishable, results.column(key)) for key in keys]
    rows = list(zip(*columns, strict=True))
    # Thousands of results usually have only few methods.
    different_rows = list(dict.fromkeys(rows))
    names = _different_names(keys, list(map(_values_of_row, different_rows)))
    name_of_row = dict(zip(different_rows, names, strict=True))
    return [name_of_row[row] for row in rows]


def _distinguishable(value: Any) -> tuple[Any, bool]:
    """Return a hashable value that is equal only for equal settings.

    In Python, 1 and True are equal, so the second item is whether the value is a truth
    value.
    """
    return hashable(value), isinstance(value, bool)


def _values_of_row(row: Sequence[tuple[Any, bool]]) -> list[Any]:
    """Return the values of a row of results of `_distinguishable`."""
    return [value for value, _ in row]


def _different_names(keys: Sequence[str], values_of_rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return a different name for each row of values, as short as possible.

    The captions of two rows can be equal, because a caption has only the last part of
    each key. The names then have whole keys. If even these are equal, such as those of
    the number 9 and the text "9", the names have the values as in Python code.
    """
    names = [caption(keys, values) or "-" for values in values_of_rows]
    for value_text in (setting_text, repr):
        if len(set(names)) == len(names):
            break
        names = [_name_with_whole_keys(keys, values, value_text) for values in values_of_rows]
    return names


def _name_with_whole_keys(
    keys: Sequence[str], values: Sequence[Any], value_text: Callable[[Any], str]
) -> str:
    """Return a name such as ``window, aggregation.box.size=9``."""
    parts: list[str] = []
    for key, value in zip(keys, values, strict=True):
        if key == "method":
            parts.append(str(value))
        elif value is not MISSING:
            parts.append(f"{key}={value_text(value)}")
    return ", ".join(parts) or "-"


def _finite_numbers(results: ResultSet, statistic: str) -> list[float]:
    """Return the value of each result as a number, NaN if it is no finite number."""
    column: list[Any] = results.column(statistic)
    return [
        float(value) if is_number(value) and math.isfinite(value) else math.nan for value in column
    ]


def _refuse_several_settings(
    results: ResultSet, keys: Sequence[str], indices_by_cell: IndicesByCell
) -> None:
    """Refuse several results of a method on a scene, unless they differ only in seeds.

    Raises
    ------
    ParameterError
        Results of a method on a scene differ in other settings, or in nothing.
    """
    repeated = {cell: indices for cell, indices in indices_by_cell.items() if len(indices) > 1}
    if not repeated:
        return
    names = [name for name in _possible_settings(results) if name not in ("scene", *keys)]
    columns: dict[str, list[Any]] = {}
    for name in names:
        columns[name] = list(map(_distinguishable, results.column(name)))

    for (method, scene), indices in repeated.items():
        varying = [name for name in names if _count_values(columns[name], indices) > 1]
        settings = [name for name in varying if not is_seed(name)]
        if settings:
            message = (
                f"{method!r} has {len(indices)} results on {scene}, which differ in "
                f"{few(settings, _MAX_NAMES)}; name these settings in by as well, such as "
                f"{','.join([*keys, settings[0]])}, or select one of their values"
            )
            raise ParameterError(message)
        count = _largest_repetition([columns[name] for name in varying], indices)
        if count > 1:
            message = (
                f"{method!r} has {count} results on {scene} whose settings are equal; keep one of "
                "them; results of an earlier version of the code or of the scene are a possible "
                "cause"
            )
            raise ParameterError(message)


def _possible_settings(results: ResultSet) -> list[str]:
    """Return the names of the settings in which results of a method can differ."""
    names = results.varying()
    if not results.axis_names():
        # A parameter does not vary if some results have one value and others have none.
        # Without axes, such as in a DataFrame, the parameter is a setting nevertheless.
        names += results.parameter_names()
    return list(dict.fromkeys(names))


def _count_values(column: Sequence[Any], indices: Sequence[int]) -> int:
    """Return the number of different values at some indices of a column."""
    return len({column[i] for i in indices})


def _largest_repetition(columns: Sequence[Sequence[Any]], indices: Sequence[int]) -> int:
    """Return how often the most frequent row occurs at some indices of columns."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for i in indices:
        counts[tuple(column[i] for column in columns)] += 1
    return max(counts.values())


def is_seed(name: str) -> bool:
    """Return whether a name is that of an axis or a parameter with a seed."""
    return name.rpartition(".")[2] == "seed"


def _notes_on_seeds(indices_by_cell: IndicesByCell) -> Iterator[str]:
    """Yield a note if results were averaged over seeds."""
    counts = sorted({len(indices) for indices in indices_by_cell.values()})
    if counts[-1] > 1:
        number = f"{counts[-1]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        yield f"the values of a method on a scene are means over {number} seeds"


def _notes_on_empty_scenes(scenes: Sequence[str], has_value: Collection[np.bool_]) -> Iterator[str]:
    """Yield a note if no method has a value on some scenes."""
    pairs = zip(scenes, has_value, strict=True)
    empty_scenes = [scene for scene, is_present in pairs if not is_present]
    if empty_scenes:
        listed = few(list(short_names(empty_scenes).values()), _MAX_NAMES)
        yield f"without {listed}, where no method has a value"
