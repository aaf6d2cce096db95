"""Merge several results folders, into another folder or only in memory.

A sweep may be divided between several computers, each of which writes its results to
another folder. The functions of this module put the results together again. Equal
results are kept once, and results that contradict each other are reported.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, one_line, warn
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.user_metrics import describe_metrics
from stereo_framework.io import read_bytes, write_bytes
from stereo_framework.sweep.merged_files import MapCopies
from stereo_framework.sweep.merged_origins import unite_records
from stereo_framework.sweep.merged_plan import FolderPlan, MethodOnScene, merged_keys
from stereo_framework.sweep.merged_results import (
    Contradiction,
    ResultIndex,
    contradictions_in,
)
from stereo_framework.sweep.merged_scripts import (
    MergedScripts,
    ResolvedScript,
    ScriptReader,
    scripts_of_methods,
)
from stereo_framework.sweep.merged_sources import SourceCopies, with_other_sources
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.store import EXTERNAL_MAP, METRICS_FILE, Store, StoredEntry
from stereo_framework.sweep.value_text import counted

# --- merging in memory ----------------------------------------------------------------


@dataclass(frozen=True)
class CombinedResults:
    """Results of several folders, without repetitions.

    Parameters
    ----------
    results : ResultSet
        The results. Each result keeps the path of its disparity map in the folder from
        which it was read.
    contradictions : tuple of Contradiction
        Results of the same run, or external maps of one name, with different numbers.
        `results` contains all of them.
    missing_count : int
        Number of planned results that no folder contains.
    """

    results: ResultSet
    contradictions: tuple[Contradiction, ...]
    missing_count: int

    @property
    def missing_text(self) -> str:
        """Message about missing results, or an empty text."""
        if self.missing_count == 0:
            return ""
        count_text = counted(self.missing_count, "planned result")
        verb = "is" if self.missing_count == 1 else "are"
        pronoun = "it" if self.missing_count == 1 else "them"
        return (
            f"{count_text} {verb} in none of the folders; if no run is going on, run the same "
            f"commands again to compute {pronoun}"
        )

    @property
    def warnings(self) -> list[str]:
        """A message about each contradiction."""
        return [contradiction.message for contradiction in self.contradictions]


def combined_results(folders: Sequence[Path], *, every: bool = False) -> CombinedResults:
    """Read the results of several folders, and keep equal results once.

    Parameters
    ----------
    folders : sequence of Path
        Results folders.
    every : bool
        Whether to return also the results of earlier plans, as in `Store.results`.

    Returns
    -------
    CombinedResults
        Results in the order of `merge_folders`: the results of the plans, then the
        results of external maps, then the results of earlier plans.

    Warns
    -----
    ResultWarning
        The file of a script is damaged. The order of the results may then differ.

    Raises
    ------
    DataError
        A folder has no results, or its store cannot be read.
    """
    index = ResultIndex()
    reader = ScriptReader()
    plans: list[FolderPlan] = []
    entry_of_key: dict[str, StoredEntry] = {}
    for folder in folders:
        with Store(folder) as store:
            entries = list(store.entries())
            planned_keys = store.planned_keys()
        scripts = reader.read(store.folder)
        new_keys: dict[str, str] = {}
        for entry in entries:
            key = index.add(entry)
            if key is not None:
                new_keys[entry.key] = key
                entry_of_key[key] = entry._replace(key=key)
        plan = _folder_plan(planned_keys, entries, scripts)
        plans.append(_with_new_keys(plan, new_keys))

    warn(reader.problems)
    keys = merged_keys(plans)
    contradictions = contradictions_in(entry_of_key.values(), index.contradicting_runs())
    return CombinedResults(
        results=ResultSet(_ordered_results(entry_of_key, keys, every=every)),
        contradictions=tuple(contradictions),
        missing_count=len(set(keys).difference(entry_of_key)),
    )


def _ordered_results(
    entry_of_key: Mapping[str, StoredEntry], keys: Sequence[str], *, every: bool
) -> list[Result]:
    """Return the results of a plan, then of external maps, then of earlier plans.

    Parameters
    ----------
    entry_of_key : mapping of str to StoredEntry
        All results by their keys.
    keys : sequence of str
        Keys of the plan.
    every : bool
        Whether to return the results of earlier plans.
    """
    results = [entry_of_key[key].result for key in keys if key in entry_of_key]
    planned_keys = set(keys)
    external_results: list[Result] = []
    earlier_results: list[Result] = []
    for key, entry in entry_of_key.items():
        if key in planned_keys:
            continue
        if entry.place == EXTERNAL_MAP:
            external_results.append(entry.result)
        else:
            earlier_results.append(entry.result)
    results += external_results
    if every:
        results += earlier_results
    return results


def united_scripts(folders: Iterable[Path]) -> dict[str, ResolvedScript]:
    """Return the resolved scripts of several folders, by the names of their files.

    Scripts that differ only in their scenes become one script with all of the scenes.

    Warns
    -----
    ResultWarning
        The file of a script is damaged. The returned dictionary lacks this script.
    """
    reader = ScriptReader()
    merged_scripts = MergedScripts()
    for folder in folders:
        for script in reader.read(folder).values():
            merged_scripts.add(script)
    warn(reader.problems)
    return merged_scripts.scripts


# --- merging into a folder ------------------------------------------------------------


@dataclass(frozen=True)
class MergeSummary:
    """Numbers and messages that describe the result of a merge.

    Parameters
    ----------
    result_count : int
        Number of results in the folder.
    equal_count : int
        Number of results that are not kept, because another result of the same run is
        kept. A result that a better result has replaced is counted too.
    contradictions : tuple of Contradiction
        Results of the same run, or external maps of one name, with different numbers.
        The folder contains all of them.
    missing_count : int
        Number of planned results that no folder contains.
    problems : tuple of str
        Messages about files that were not merged.
    """

    result_count: int
    equal_count: int
    contradictions: tuple[Contradiction, ...]
    missing_count: int
    problems: tuple[str, ...]


def merge_folders(folders: Sequence[Path], out: Path) -> MergeSummary:
    """Merge several results folders into another folder.

    Equal results are kept once. If a run failed in one folder and not in another, the
    result without error is kept. If results of a run contradict each other, all of them
    are kept. A killed merge can be continued by the same call.

    Parameters
    ----------
    folders : sequence of Path
        Results folders, which are only read.
    out : Path
        Folder of the merge. If the folder contains results, the other results are added
        to them.

    Returns
    -------
    MergeSummary
        The number of results, and the contradictions.

    Raises
    ------
    DataError
        A folder has no results, `out` is one of the folders, or `out` cannot be
        written.
    """
    for folder in folders:
        if os.path.realpath(folder) == os.path.realpath(out):
            message = (
                f"{out}: is the output folder and also one of the merged folders; choose a new "
                "output folder"
            )
            raise DataError(message)
    reader = ScriptReader()
    contents: list[_FolderContents] = []
    for folder in folders:
        with Store(folder) as store:
            contents.append(_read_contents(store, reader))
    with Store(out, create=True) as store:
        merge = _Merge(store, reader)
        merge.add_folders(contents)
        return merge.summary()


@dataclass(frozen=True)
class _FolderContents:
    """Contents of a results folder except for its results.

    Parameters
    ----------
    folder : Path
        The folder.
    plan : FolderPlan
        Plan of the folder.
    scripts : mapping of str to dict
        Resolved scripts, by the names of their files.
    metrics : sequence of str
        Names of the metrics of plug-ins.
    problems : sequence of str
        Messages about files that cannot be merged.
    """

    folder: Path
    plan: FolderPlan
    scripts: Mapping[str, ResolvedScript]
    metrics: Sequence[str]
    problems: Sequence[str]


def _read_contents(store: Store, reader: ScriptReader) -> _FolderContents:
    """Read the plan, the scripts and the metrics of an open store."""
    scripts = reader.read(store.folder)
    metrics, problems = _read_metrics(store.folder / METRICS_FILE)
    plan = _folder_plan(store.planned_keys(), store.entries(), scripts)
    return _FolderContents(
        folder=store.folder,
        plan=plan,
        scripts=scripts,
        metrics=metrics,
        problems=problems,
    )


def _read_metrics(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of the metrics that a file describes.

    The second list contains a message for each metric that contradicts a registered
    metric.
    When a store is opened, the metrics of its file are registered, unless another
    metric has the same name.
    """
    if not path.is_file():
        return [], []
    try:
        rows = json.loads(read_bytes(path, limits.TEXT))
        descriptions = {str(row[0]): row for row in rows}
    except (DataError, ValueError, TypeError, LookupError, RecursionError):
        # The store has issued a warning about the damaged file.
        return [], []

    names = [name for name in descriptions if name in METRICS]
    problems: list[str] = []
    for name in names:
        kept_text = describe_metrics([name])
        if kept_text and json.loads(kept_text) != [descriptions[name]]:
            message = (
                f"{path}: the metric {name!r} has another unit, direction or source than in "
                "another folder, whose description is kept"
            )
            problems.append(one_line(message))
    return names, problems


class _Merge:
    """A merge of results folders into a store that is open for writing.

    Parameters
    ----------
    store : Store
        Store of the output folder.
    reader : ScriptReader
        Reader that has read the scripts of the folders.
    """

    def __init__(self, store: Store, reader: ScriptReader):
        self._store = store
        self._reader = reader
        self._contents_of_output = _read_contents(store, reader)
        self._index = ResultIndex()
        for entry in store.entries():
            self._index.register(entry)
        self._map_copies = MapCopies(store.folder)
        self._source_copies = SourceCopies(store.folder)
        self._problems = list(self._contents_of_output.problems)

    def add_folders(self, contents: Sequence[_FolderContents]) -> None:
        """Write the scripts and the results of several folders to the store."""
        self._write_scripts(contents)
        self._write_metrics(contents)
        # The plan is written first. If the merge is killed, the plan shows that results
        # are missing.
        plans = [self._contents_of_output.plan]
        plans += [folder_contents.plan for folder_contents in contents]
        self._store.set_listed_keys(merged_keys(plans))

        final_plans = [self._contents_of_output.plan]
        for folder_contents in contents:
            new_keys = self._add_results(folder_contents.folder)
            final_plans.append(_with_new_keys(folder_contents.plan, new_keys))
            self._problems += folder_contents.problems
        self._store.set_listed_keys(merged_keys(final_plans))

    def _write_scripts(self, contents: Sequence[_FolderContents]) -> None:
        """Write the resolved scripts of all folders, and their source files."""
        merged_scripts = MergedScripts(self._contents_of_output.scripts)
        for folder_contents in contents:
            path_prefixes = self._source_copies.copy(folder_contents.folder)
            for script in folder_contents.scripts.values():
                merged_scripts.add(with_other_sources(script, path_prefixes))
        texts = merged_scripts.texts()
        for name, text in texts.items():
            write_bytes(self._store.folder / name, text)
        folders = [folder_contents.folder for folder_contents in contents]
        self._problems += unite_records(self._store.folder, folders, texts)

    def _write_metrics(self, contents: Iterable[_FolderContents]) -> None:
        """Write the descriptions of the metrics of plug-ins."""
        names = dict.fromkeys(self._contents_of_output.metrics)
        for folder_contents in contents:
            names |= dict.fromkeys(folder_contents.metrics)
        description = describe_metrics(names)
        if description:
            write_bytes(self._store.folder / METRICS_FILE, description.encode())

    def _add_results(self, folder: Path) -> dict[str, str]:
        """Add the results of a folder, and return their new keys by their old keys."""
        new_keys: dict[str, str] = {}
        with Store(folder) as source_store:
            for entry in source_store.entries():
                key = self._index.add(entry)
                if key is None:
                    continue
                new_keys[entry.key] = key
                map_file = self._map_copies.copy(entry.result, source_store.folder)
                result = replace(entry.result, map=map_file)
                self._store.add(key, result, is_external=entry.place == EXTERNAL_MAP)
        return new_keys

    def summary(self) -> MergeSummary:
        """Return the summary of the merge."""
        stored_keys = self._index.keys()
        missing_keys = set(self._store.planned_keys()).difference(stored_keys)
        runs = self._index.contradicting_runs()
        problems = [
            *self._reader.problems,
            *self._problems,
            *self._source_copies.problems,
            *self._map_copies.problems,
        ]
        return MergeSummary(
            result_count=len(stored_keys),
            equal_count=self._index.equal_count,
            contradictions=tuple(contradictions_in(self._store.entries(), runs)),
            missing_count=len(missing_keys),
            problems=tuple(problems),
        )


# --- plans ----------------------------------------------------------------------------


def _folder_plan(
    keys: Sequence[str], entries: Iterable[StoredEntry], scripts: Mapping[str, ResolvedScript]
) -> FolderPlan:
    """Return the plan of a folder.

    Parameters
    ----------
    keys : sequence of str
        Keys of the plan.
    entries : iterable of StoredEntry
        All results of the folder.
    scripts : mapping of str to dict
        Resolved scripts of the folder, by the names of their files.
    """
    planned_keys = set(keys)
    origins: dict[str, MethodOnScene] = {}
    for key, _, result in entries:
        if key in planned_keys:
            origins[key] = MethodOnScene(result.method, result.scene)
    return FolderPlan(keys, origins, scripts_of_methods(scripts.values()))


def _with_new_keys(plan: FolderPlan, new_keys: Mapping[str, str]) -> FolderPlan:
    """Return a plan in which some results have other keys.

    Parameters
    ----------
    plan : FolderPlan
        Plan of a folder.
    new_keys : mapping of str to str
        New keys of results, by their old keys.
    """
    keys = [new_keys.get(key, key) for key in plan.keys]
    origins = {new_keys.get(key, key): origin for key, origin in plan.origins.items()}
    return replace(plan, keys=keys, origins=origins)
