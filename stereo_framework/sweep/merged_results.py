"""Decide which of several stored results with the same key are kept.

Two results with the same key are results of the same run, or external maps of the same
name on the same scene. If their numbers are equal, one of them is kept. If their
numbers differ, they contradict each other. Then both are kept, and the key of the
second has a further part with a digest of its numbers. If the results belong to the
same run, at least one of them is wrong. External maps may differ because two methods
have the same name.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stereo_framework.core.errors import one_line
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.result import MEMORY, Result
from stereo_framework.sweep.store import EXTERNAL_MAP, StoredEntry

_CONTRADICTION = "contradiction"
"""First word of the part of a key that distinguishes contradicting results."""

_CONTRADICTION_PART = re.compile(rf"{_CONTRADICTION} [0-9a-f]{{16}}")
"""Pattern of the part of a key that distinguishes contradicting results."""

_MAX_TEXT_LENGTH = 80
"""Maximum length of a name or host in a message."""


@dataclass(slots=True)
class _Variant:
    """One of the kept results of a run.

    Parameters
    ----------
    key : str
        Key of the result.
    numbers_digest : str
        Digest of the numbers of the result.
    has_failed : bool
        Whether the run failed.
    has_map : bool
        Whether the file of the disparity map exists.
    """

    key: str
    numbers_digest: str
    has_failed: bool
    has_map: bool


@dataclass
class ResultIndex:
    """Index of the results that are kept, without the results themselves.

    Attributes
    ----------
    equal_count : int
        Number of results that are not kept, because another result of the same run is
        kept. A result that a better result has replaced is counted too.
    """

    equal_count: int = 0
    _variants_of_run: dict[str, list[_Variant]] = field(default_factory=dict)

    def register(self, entry: StoredEntry) -> None:
        """Add a stored result under its own key, without a comparison."""
        variants = self._variants_of_run.setdefault(key_without_contradiction(entry.key), [])
        variants.append(_variant(entry))

    def add(self, entry: StoredEntry) -> str | None:
        """Add a result, and return the key under which it is kept.

        The key is None if the result is left out. If a result with the returned key
        exists, the given result replaces it. A result replaces a failed result, or an
        equal result whose disparity map is missing. In both cases, `equal_count`
        increases by one.

        Parameters
        ----------
        entry : StoredEntry
            Result of a further folder.
        """
        variants = self._variants_of_run.setdefault(key_without_contradiction(entry.key), [])
        variant = _variant(entry)
        for i, kept_variant in enumerate(variants):
            if not _can_keep_only_one(variant, kept_variant):
                continue
            self.equal_count += 1
            if not _is_better(variant, kept_variant):
                return None
            variant.key = kept_variant.key
            variants[i] = variant
            return variant.key
        if any(kept_variant.key == variant.key for kept_variant in variants):
            variant.key = _contradiction_key(variant)
        variants.append(variant)
        return variant.key

    def contradicting_runs(self) -> set[str]:
        """Return the keys of the runs with contradicting results.

        The function `key_without_contradiction` returns the same keys. A failed result
        contradicts no other result.
        """
        runs: set[str] = set()
        for run, variants in self._variants_of_run.items():
            if sum(not variant.has_failed for variant in variants) > 1:
                runs.add(run)
        return runs

    def keys(self) -> set[str]:
        """Return the keys of all kept results."""
        keys: set[str] = set()
        for variants in self._variants_of_run.values():
            keys.update(variant.key for variant in variants)
        return keys


def _variant(entry: StoredEntry) -> _Variant:
    """Return the description of a result under its own key."""
    result = entry.result
    return _Variant(
        key=entry.key,
        numbers_digest=_digest_of_numbers(result),
        has_failed=bool(result.error),
        has_map=result.map is not None and result.map.is_file(),
    )


def _can_keep_only_one(variant: _Variant, kept_variant: _Variant) -> bool:
    """Return whether only one of two results of the same run must be kept."""
    if variant.has_failed or kept_variant.has_failed:
        return True
    return variant.numbers_digest == kept_variant.numbers_digest


def _is_better(variant: _Variant, kept_variant: _Variant) -> bool:
    """Return whether a result of the same run replaces the kept result."""
    if variant.has_failed:
        return False
    return kept_variant.has_failed or (variant.has_map and not kept_variant.has_map)


# --- keys -----------------------------------------------------------------------------


def key_without_contradiction(key: str) -> str:
    """Return the key of a result without the part about a contradiction.

    Results for which this function returns the same text are results of the same run,
    or external maps of the same name, evaluated by the same protocol.

    Examples
    --------
    >>> key_without_contradiction('["a", "ssd", "contradiction 0123456789abcdef"]')
    '["a", "ssd"]'
    """
    *first_parts, last_part = _parts_of_key(key)
    if first_parts and _CONTRADICTION_PART.fullmatch(last_part):
        return result_key(*first_parts)
    return result_key(*first_parts, last_part)


def _contradiction_key(variant: _Variant) -> str:
    """Return the key of a result that contradicts a kept result.

    The key depends on the numbers of the result. Therefore it is the same if the
    folders are merged again.
    """
    part = f"{_CONTRADICTION} {variant.numbers_digest}"
    return result_key(*_parts_of_key(key_without_contradiction(variant.key)), part)


def _parts_of_key(key: str) -> list[str]:
    """Return the parts of a key. A key that is not a list of texts is a single part."""
    try:
        parts = json.loads(key)
    except (ValueError, RecursionError):
        return [key]
    if not isinstance(parts, list) or not parts:
        return [key]
    if not all(isinstance(part, str) for part in parts):
        return [key]
    return parts


# --- numbers --------------------------------------------------------------------------


def numbers_of(result: Result) -> dict[str, float]:
    """Return the statistics and the energy of a result, by name.

    Run times and the peak memory of programs are left out, because they differ between
    two computations of a result.
    """
    numbers = {name: float(value) for name, value in result.statistics.items() if name != MEMORY}
    if result.energy is not None:
        numbers["energy"] = float(result.energy)
    return numbers


def is_equal_number(first: float | None, second: float | None) -> bool:
    """Return whether two numbers are equal. NaN equals NaN, and None equals None."""
    if first is None or second is None:
        return first is second
    return first == second or (math.isnan(first) and math.isnan(second))


def _digest_of_numbers(result: Result) -> str:
    """Return a digest that differs between results with different numbers.

    The digest covers the identity of the run, because the key of the result of an
    external map does not contain it.
    """
    # The sum with 0.0 replaces -0.0, which equals 0.0.
    numbers = sorted((name, repr(value + 0.0)) for name, value in numbers_of(result).items())
    text = json.dumps([result.id, numbers])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- contradictions -------------------------------------------------------------------


@dataclass(frozen=True)
class Contradiction:
    """Two results of the same run, or external maps of one name, that differ.

    Parameters
    ----------
    first, second : Result
        The two results.
    is_external : bool
        Whether other programs have computed the disparity maps of the results.
    """

    first: Result
    second: Result
    is_external: bool = False

    @property
    def message(self) -> str:
        """Description with the names of the run, and one differing statistic."""
        scene = one_line(self.first.scene, _MAX_TEXT_LENGTH)
        setting = one_line(self.first.setting_name, _MAX_TEXT_LENGTH)
        if self.is_external:
            return (
                f"{scene} {setting}: two maps of this name on this scene have different numbers: "
                f"{self._difference()}; both results are kept; if two methods have computed the "
                "maps, evaluate one of the maps under another name"
            )
        return (
            f"{scene} {setting}: two computations of this run contradict each other: "
            f"{self._difference()}; both results are kept; compute the run again on one of the "
            "hosts to find the wrong result"
        )

    def _difference(self) -> str:
        """Return the name, the values and the hosts of a differing statistic."""
        first_host = _host(self.first)
        second_host = _host(self.second)
        name = self._differing_name()
        if name is None:
            return f"the disparity maps of {first_host} and {second_host} differ"
        first_number = _number_text(numbers_of(self.first), name)
        second_number = _number_text(numbers_of(self.second), name)
        shown_name = one_line(name, _MAX_TEXT_LENGTH)
        first_text = f"{first_number} on {first_host}"
        return f"{shown_name} is {first_text} and {second_number} on {second_host}"

    def _differing_name(self) -> str | None:
        """Return the name of the first differing number, or None if all are equal."""
        first_numbers = numbers_of(self.first)
        second_numbers = numbers_of(self.second)
        for name in first_numbers | second_numbers:
            if not is_equal_number(first_numbers.get(name), second_numbers.get(name)):
                return name
        return None


def _number_text(numbers: Mapping[str, float], name: str) -> str:
    """Return all digits of a number, or the word "missing"."""
    if name not in numbers:
        return "missing"
    return repr(numbers[name])


def _host(result: Result) -> str:
    """Return the name of the computer that has computed a result."""
    return one_line(result.environment.get("host") or "an unknown host", _MAX_TEXT_LENGTH)


def contradictions_in(
    entries: Iterable[StoredEntry], contradicting_runs: set[str]
) -> list[Contradiction]:
    """Return the contradictions among stored results.

    Parameters
    ----------
    entries : iterable of StoredEntry
        Stored results. The function keeps only results of the given runs.
    contradicting_runs : set of str
        The runs with several results, which `ResultIndex.contradicting_runs` returns.
    """
    if not contradicting_runs:
        return []
    entries_of_run: dict[str, list[StoredEntry]] = {}
    for entry in entries:
        run = key_without_contradiction(entry.key)
        if run in contradicting_runs and not entry.result.error:
            entries_of_run.setdefault(run, []).append(entry)

    contradictions: list[Contradiction] = []
    for first, *further_entries in entries_of_run.values():
        is_external = first.place == EXTERNAL_MAP
        for second in further_entries:
            contradiction = Contradiction(first.result, second.result, is_external=is_external)
            contradictions.append(contradiction)
    return contradictions
