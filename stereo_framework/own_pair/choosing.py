"""Choosing without ground truth: which of several maps of a pair is best, and which method to use for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.errors import ParameterError, StereoFrameworkError, nearest
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation.truth_free import Standing, standings
from stereo_framework.own_pair.matching import DEFAULT, own_search
from stereo_framework.own_pair.search_range import doubts, looked_at
from stereo_framework.own_pair.sparse import SparseMatches
from stereo_framework.script import Setting, load
from stereo_framework.sweep.reference import Reference, reference
from stereo_framework.tables.words import name_of

_CANDIDATES = "truth_free/candidates"

_LEAST = 30.0
"""Percent of the pixels about which both views must agree. On all real pairs at hand they agree about more than half."""

_NAMED = 4
"""Number of names in one line; further ones are only counted."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Maps of one pair, ranked without ground truth.

    Parameters
    ----------
    scene : Scene
    reference : Reference or None
        None if doubts arose before anything was matched.
    standings : tuple of Standing
        Best first; may be empty if there are doubts.
    kin : frozenset of str
        Names of the maps that are of the reference's own kind, whose distances are too low.
    doubts : tuple of str
        Reasons why there is no answer, each with the cure.
    unknown : frozenset of str
        Maps of which nobody knows how they were made: whether they are kin cannot be told.
    """

    scene: Scene
    reference: Reference | None
    standings: tuple[Standing, ...]
    kin: frozenset[str]
    doubts: tuple[str, ...]
    unknown: frozenset[str] = frozenset()

    @property
    def best(self) -> str | None:
        """The map that is better than all others, or None if that cannot be decided. Kin of the reference are never called better than other maps."""
        undecided = [s for s in self.standings if s.undecided]
        favoured = self.standings and self.standings[0].name in self.kin and self.others
        return undecided[0].name if len(undecided) == 1 and not favoured and not self.doubts else None

    @property
    def others(self) -> tuple[Standing, ...]:
        """The standings of all maps that are not kin of the reference."""
        return tuple(s for s in self.standings if s.name not in self.kin)

    @property
    def answer(self) -> str:
        """The answer in a sentence."""
        if self.doubts or self.reference is None:
            return f"cannot tell: {self.doubts[0]}"
        first, *others = self.standings
        if self.best is not None:
            return f"{first.name} is better: {first.distance:.1f} % of the reference's pixels are off it, of {others[0].name}'s {others[0].distance:.1f} %"
        alike = [s.name for s in self.standings if s.undecided]
        if len(alike) == 1:
            best = self.others[0]
            return (
                f"cannot tell {first.name} and {best.name} apart: {first.name} is made as the reference is, so that its {first.distance:.1f} % are too low; "
                f"{best.name}, {best.distance:.1f} %, is the first of the others"
            )
        more = f" and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
        floor = "" if self.reference.own else f", or below {2 * self.reference.floor:.1f} % (twice the floor)"
        return (
            f"cannot tell {', '.join(alike[:_NAMED])}{more} apart: within the intervals{floor}, nothing is decided; "
            f"lowest: {first.name}, {first.distance:.1f} %"
        )


def judge(
    scene: Scene,
    maps: Mapping[str, Disparity],
    *,
    kin: Collection[str] = (),
    unknown: Collection[str] = (),
    estimated: bool = False,
    sparse: SparseMatches | None = None,
) -> Judged:
    """Rank maps of a scene's pair without ground truth.

    Parameters
    ----------
    scene : Scene
        A scene with a search range. If it has a `stand_in`, that is the reference map, and there are neither floor nor kin.
    maps : mapping of str to ndarray, float32, (rows, columns)
        Two maps or more; pixels, not finite = no estimate.
    kin : collection of str
        Names of the maps that were made with the costs and the optimizer of the reference.
    unknown : collection of str
        Names of the maps of which that is not known, such as files.
    estimated : bool
        Whether the range was estimated rather than given; then disparities below zero are not intended.
    sparse : SparseMatches, optional
        The sparse matches of the pair, if the caller has them already.

    Raises
    ------
    ParameterError
        There are fewer than two maps.
    DataError
        A map has another size, the scene has no search range, or the reference map holds no disparity.

    Notes
    -----
    Maps are not ranked if the images are exchanged, not rectified, or of different scenes, if disparities lie outside the range, or if both views agree
    about too few pixels. `Judged.doubts` says why.
    """
    if len(maps) < 2:
        raise ParameterError(f"{len(maps)} map given; ranking needs two or more")
    made = reference(scene)
    kin, unknown = (frozenset() if made.own else frozenset(names) for names in (kin, unknown))
    if sparse is None:
        _, sparse, _ = looked_at(replace(scene, search=made.search))
    found = doubts(sparse, made.search, estimated=estimated)
    if made.consistent < _LEAST and not made.own:
        found.append(
            f"both views agree about {made.consistent:.0f} % of the pixels only, {_LEAST:g} % are needed; are the range and the images right?"
        )
    if found:
        return Judged(scene, made, standings(maps, made.disparity) if made.consistent else (), kin, tuple(found), unknown)
    return Judged(scene, made, standings(maps, made.disparity, floor=made.floor), kin, (), unknown)


def is_kin(parameters: Mapping[str, Any]) -> bool:
    """Whether the parameters of a method, or of one that it builds on, say that it sums census costs along paths as the reference does."""
    homes = [key.removesuffix("optimization.use") for key, value in parameters.items() if value == "semi_global"]
    return any("census" in str(parameters.get(f"{home}matching_cost.use", "")) for home in homes)


_OUTSIDE = ("command", "maps", "onnx", "python")
"""Matchers that may be anything."""


def is_known(parameters: Mapping[str, Any]) -> bool:
    """Whether a result's parameters say how its map was made: not of files that were measured, nor of matchers from outside."""
    return "map" not in parameters and parameters.get("matcher.use") not in _OUTSIDE


@dataclass(frozen=True, eq=False)
class Chosen:
    """What `choose` found.

    Parameters
    ----------
    judged : Judged
    maps : mapping of str to ndarray, float32, (rows, columns)
        The maps of all methods that were tried; pixels, NaN = no estimate. Empty if the pair is doubtful.
    runs : mapping of str to Setting
    seconds : mapping of str to float
        Seconds that matching took.
    failed : mapping of str to str
        The methods that raised an error, and the errors.
    left_out : tuple of str
        The methods for which there was no time.
    """

    judged: Judged
    maps: Mapping[str, Disparity]
    runs: Mapping[str, Setting]
    seconds: Mapping[str, float]
    failed: Mapping[str, str]
    left_out: tuple[str, ...]

    @property
    def name(self) -> str:
        """What was chosen: the best map. Where that cannot be told, the default method of `match` if it is among the undecided, else the map of the lowest distance."""
        undecided = [s.name for s in self.judged.standings if s.undecided]
        return self.judged.best or (DEFAULT if DEFAULT in undecided else self.judged.standings[0].name)

    @property
    def script(self) -> dict[str, Any]:
        """A script of the chosen method with all values filled in."""
        return self.runs[self.name].mapping


def choose(
    scene: Scene,
    methods: Sequence[str] = (),
    *,
    seconds: float = 60.0,
    watch: Callable[[str], None] | None = None,
) -> Chosen:
    """Try methods on a pair without ground truth, and choose one by the distance of its map to a reference map.

    Parameters
    ----------
    scene : Scene
        As in `judge`; if it has no search range, one is estimated.
    methods : sequence of str
        Names of shipped scripts, or files. Default: the shipped methods with a few settings of each, in the order of ``truth_free/candidates``.
    seconds : float
        After this time no further method is started, but two are always tried.
    watch : callable, optional
        Called with the name of each method, or other step, when it begins.

    Raises
    ------
    ParameterError, DataError, ScriptError
        As in `judge`; there is no such method; fewer than two maps could be made.

    Notes
    -----
    If sparse matches speak against the pair or its range, nothing is matched; `Chosen.judged.doubts` says why.

    Examples
    --------
    >>> from stereo_framework import load_scene
    >>> chosen = choose(load_scene("synthetic/planes"), ["window", "sgbm"])
    >>> chosen.name
    'sgbm'
    """
    begun = time.monotonic()
    search, sparse, estimated = looked_at(scene, watch or (lambda doing: None))
    scene = replace(scene, search=search)
    found = [run for script in methods or [_CANDIDATES] for run in load(script).settings]
    runs = {name_of(run.method.removesuffix("_settings"), run.axes): run for run in found}
    if len(runs) < 2:
        raise ParameterError(f"{', '.join(runs)}: one method; a choice needs two or more; {nearest('', runs)}")
    if speaks_against := doubts(sparse, search, estimated=estimated):
        return Chosen(Judged(scene, None, (), frozenset(), tuple(speaks_against)), {}, runs, {}, {}, ())
    maps: dict[str, Disparity] = {}
    spent: dict[str, float] = {}
    failed: dict[str, str] = {}
    left_out = []
    for name, run in runs.items():
        if len(maps) >= 2 and time.monotonic() - begun > seconds:
            left_out.append(name)
            continue
        if watch is not None:
            watch(name)
        try:
            match = run.pipeline.matched(scene, own_search(run, search))
        except StereoFrameworkError as error:
            failed[name] = str(error)
            continue
        maps[name], spent[name] = match.disparity, sum(match.seconds.values())
    if len(maps) < 2:
        raise ParameterError("; ".join(f"{name}: {error}" for name, error in failed.items()))
    if watch is not None:
        watch("the reference map")
    kin = [name for name in maps if is_kin(runs[name].parameters)]
    judged = judge(scene, maps, kin=kin, estimated=estimated, sparse=sparse)
    return Chosen(judged, maps, runs, spent, failed, tuple(left_out))
