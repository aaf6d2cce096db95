"""Scores of methods side by side, made comparable: means over the scenes, normalized scores and ranks.

Measures have different units and directions, and Honauer et al. (2015) do not say how their charts make them comparable. The choices made
here are our own:

- The score of a method in a measure is its mean over the scenes, as in `means`. A measure without any score is refused.
- A missing score counts as the worst where other methods have a score: the method found nothing that could be measured, and leaving the score out
  would reward that.
- A normalized score is a share of the worst method's score: 0 is perfect, and 1 is the worst of these methods. It depends on which methods take part.
  Where higher is better, or scores are negative, there is no perfect score to count from, and 0 is the best of these methods.
- Ranks are taken for each measure on each scene, 1 = best, where equal scores share the better rank as on Middlebury's pages, and are then averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, few
from stereo_framework.evaluation.metrics import spelled_out
from stereo_framework.tables.means import protocol_of
from stereo_framework.tables.ranking import competition_ranks, lower_is_better
from stereo_framework.tables.values import better, check_name, column, one_protocol
from stereo_framework.tables.words import setting_names, short_names

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

DEFAULT_MEASURES = ("hci",)
"""What charts show unless told otherwise: the nine HCI metrics."""

_COVERED = 0.95
"""A note names the methods that estimate a smaller share of a subset than this, since HCI metrics do not count pixels without an estimate."""


@dataclass(frozen=True, eq=False)
class Standings:
    """Scores of methods in several measures on several scenes.

    Parameters
    ----------
    methods : tuple of str
        Names of methods and settings, as `words.setting_names` gives them.
    scenes : tuple of str
        Full names.
    measures : tuple of str
        Statistics.
    scores : ndarray, float64, (methods, scenes, measures)
        NaN = no score.
    means : ndarray, float64, (methods, measures)
        Over the scenes on which some method has a score, each in its unit. NaN where a method lacks a score that another method has.
    ranks : ndarray, float64, (methods, measures)
        Averaged over the same scenes, 1 = best; missing scores share the rank after all others.
    protocol : str
    notes : tuple of str
        Which scores are missing, and how they count.
    """

    methods: tuple[str, ...]
    scenes: tuple[str, ...]
    measures: tuple[str, ...]
    scores: NDArray[np.float64]
    means: NDArray[np.float64]
    ranks: NDArray[np.float64]
    protocol: str = ""
    notes: tuple[str, ...] = ()

    @property
    def normalized(self) -> NDArray[np.float64]:
        """Scores as shares of the worst method's score: float64, (methods, measures), 0..1, lower is better; a missing score is 1."""
        found = np.ones(self.means.shape)
        for name, means, shares in zip(self.measures, self.means.T, found.T, strict=True):
            there = np.isfinite(means)
            low, high = means[there].min(initial=np.inf), means[there].max(initial=-np.inf)
            perfect, worst = (high, low) if better(name) == "higher" else (min(low, 0.0), high)
            shares[there] = (means[there] - perfect) / ((worst - perfect) or 1.0)
        return found

    def footnote(self, how: str, *remarks: str) -> str:
        """A footnote with what one must know to read a chart of these scores: `how` the scenes are combined, what is missing, and the protocol."""
        names = short_names(self.scenes)
        short = [names[scene] for scene in self.scenes]
        scenes = f"{len(short)} scenes ({', '.join(short)})" if 1 < len(short) <= 4 else f"{len(short)} scenes"
        over = f"{how} {scenes}" if len(short) > 1 else f"scene {short[0]}"
        return "; ".join(filter(None, (over, *remarks, *self.notes, f"protocol {self.protocol}")))


def standings(
    results: Sequence[Result], measures: Sequence[str] = DEFAULT_MEASURES, methods_of: Sequence[str] | None = None
) -> Standings:
    """The scores that results hold, side by side.

    Parameters
    ----------
    results : sequence of Result
        Results of one protocol. A failed run has no scores.
    measures : sequence of str
        Statistics, or names of groups: ``hci`` is the nine HCI metrics.
    methods_of : sequence of str, optional
        The `setting_names` of the results, if the caller knows them already.

    Raises
    ------
    ParameterError
        The results are of several protocols, or two of them have the same method and settings on a scene; or no result has a measure, a measure has no
        score on any scene, or neither lower nor higher values of it are better.
    """
    one_protocol(results)
    names = spelled_out(measures)
    if not results or not names:
        raise ParameterError("nothing to compare: no results" if names else "nothing to compare: no measures")
    places = [*zip(setting_names(results) if methods_of is None else methods_of, (r.scene for r in results), strict=True)]
    if len(set(places)) < len(places):
        method, scene = next(place for place, count in Counter(places).items() if count > 1)
        raise ParameterError(f"{scene}: two results of {method!r}; keep one with where, or give each method a name of its own")
    methods, scenes = (tuple(dict.fromkeys(part)) for part in zip(*places, strict=True))
    for name in names:
        check_name(name, results, "measure ")
        if not better(name):
            raise ParameterError(f"measure {name!r}: neither lower nor higher is better; methods cannot be compared by it")
    scores = np.full((len(methods), len(scenes), len(names)), np.nan)
    row, at = ({name: i for i, name in enumerate(of)} for of in (methods, scenes))
    i, k = np.array([(row[method], at[scene]) for method, scene in places]).T
    for j, name in enumerate(names):
        scores[i, k, j] = np.array(column(results, name), np.float64)
    empty = [name for name, there in zip(names, np.isfinite(scores).any(axis=(0, 1)), strict=True) if not there]
    if empty:
        raise ParameterError(
            f"no scene has a score in {', '.join(empty)}: no method measured it, or the scenes lack what it is about; leave it out of the measures"
        )
    notes = _missing(methods, scenes, names, scores) + _uncovered(results, [method for method, _ in places], names)
    # Where some method has a score: (scenes, measures).
    scored = np.isfinite(scores).any(axis=0)
    lower = lower_is_better(scores, [better(name) for name in names])
    by_scene = competition_ranks(lower.reshape(len(lower), -1)).reshape(lower.shape)
    means, ranks = (_over_scenes(values, scored) for values in (scores, by_scene))
    return Standings(methods, scenes, names, scores, means, ranks, results[0].protocol, tuple(notes))


def _over_scenes(values: NDArray, scored: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Means of (methods, scenes, measures) over the scenes on which some method has a score."""
    return np.stack([values[:, there, j].mean(axis=1) for j, there in enumerate(scored.T)], axis=1)


def _missing(methods: Sequence[str], scenes: Sequence[str], measures: Sequence[str], scores: NDArray[np.float64]) -> list[str]:
    """Notes on missing scores and how they count."""
    short = short_names(scenes)
    holes = ~np.isfinite(scores)
    nobody = np.asarray(holes.all(axis=0))
    # Measures of one subset are missing together.
    together: dict[tuple[str, ...], list[str]] = {}
    for name, lacking in zip(measures, nobody.T, strict=True):
        together.setdefault(tuple(short[s] for s, absent in zip(scenes, lacking, strict=True) if absent), []).append(name)
    notes = [
        f"{', '.join(names)}: without {', '.join(where)}, where no method has a score"
        for where, names in together.items()
        if where
    ]
    own = holes & ~nobody
    told = [
        f"{method} ({', '.join(name for name, absent in zip(measures, lacking.any(axis=0), strict=True) if absent)})"
        for method, lacking in zip(methods, own, strict=True)
        if lacking.any()
    ]
    if told:
        notes.append(f"missing scores count as the worst: {few(told, 3)}")
    return notes


def _uncovered(results: Sequence[Result], methods: Sequence[str], measures: Sequence[str]) -> list[str]:
    """A note on methods that were measured only on a part of the pixels, those with an estimate, so that their scores are not those of dense maps.

    Fragmentation is not considered: there it would mean missed structures, and porosity tells of missing estimates.
    """
    protocol = protocol_of(results)
    apart = protocol is not None and protocol.missing in ("apart", "skip")
    partial = [
        name for name in measures if name != "hci_fragmentation" and (apart or name.startswith("hci_") or name == "error_rate")
    ]
    least: dict[str, float] = {}
    for method, result in zip(methods, results, strict=True) if partial else ():
        shares = [_coverage(result, name) for name in partial]
        known = [share for share in shares if share < _COVERED]
        if known:
            least[method] = min([*known, least.get(method, 1.0)])
    told = [f"{method} (down to {share:.0%})" for method, share in sorted(least.items(), key=lambda item: item[1])]
    return [f"measured on a part of the pixels alone, those with an estimate: {few(told, 3)}"] if told else []


def _coverage(result: Result, name: str) -> float:
    """The share of its pixels on which a measure was taken; NaN for a measure that counts missing estimates although the protocol leaves them out."""
    if name.startswith("hci_"):
        return result.statistics.get(name.replace("hci_", "hci_coverage_", 1), np.nan)
    if name == "error_rate":
        return 1 - result.statistics.get("sparsity_rate", np.nan)
    region = name.rpartition("_")[2]
    if name.startswith(("invalid_pixels", "density", "total_bad")):
        return np.nan
    statistics = result.statistics
    return statistics.get(f"density_{region}", 100 - statistics.get(f"invalid_pixels_{region}", np.nan)) / 100
