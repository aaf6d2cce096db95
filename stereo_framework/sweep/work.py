"""What workers do: compute the tasks of a unit and measure their maps."""

from __future__ import annotations

import functools
import json
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stereo_framework.core.errors import ParameterError, StereoFrameworkError, short
from stereo_framework.core.scene import Disparity, Scene, Search
from stereo_framework.core.stage import load_plugin
from stereo_framework.engine.match import Match
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.stage_errors import blame
from stereo_framework.engine.step import Step
from stereo_framework.engine.walk import Walk
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.evaluation.sanity import doubts
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.threads import threads
from stereo_framework.sweep.identity import environment
from stereo_framework.sweep.kept_parts import kept_match
from stereo_framework.sweep.plan import Unit
from stereo_framework.sweep.reference import reference
from stereo_framework.sweep.result import EVALUATION, GAP, LOWER_BOUND, MEMORY, MESSAGES, TRACE
from stereo_framework.sweep.scenes import SentScene


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of one task.

    Parameters
    ----------
    statistics : tuple of dict
        One for each protocol; none after an error.
    seconds : tuple of dict
        Likewise: wall-clock time per stage and of the evaluation, as in `Result`.
    energy : float or None
    warnings : tuple of str
    error : str or None
    stage : str
        Slot and name of the stage that raised the error, empty where none did.
    traceback : str
        Of the error.
    disparity : ndarray or None
        Where it is kept.
    confidence : mapping of str to ndarray
        Likewise: the method's own, by measure.
    environment : mapping
        Versions and machine that computed.
    """

    statistics: tuple[Mapping[str, float], ...] = ()
    seconds: tuple[Mapping[str, float], ...] = ()
    energy: float | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    stage: str = ""
    traceback: str = ""
    disparity: Disparity | None = None
    confidence: Mapping[str, Disparity] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def measure(
    pipelines: Sequence[Pipeline],
    protocols: Sequence[Sequence[Protocol]],
    scene: Scene,
    search: Search,
    *,
    keep: bool,
    parts: Path | None = None,
    watch: Callable[[Step], None] | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Run pipelines and measure each map under the protocols of its own; what is raised becomes an error of its own runs alone.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    protocols : sequence of sequence of Protocol
        For each pipeline.
    scene : Scene
    search : Search
    keep : bool
        Return the maps as well.
    parts : Path, optional
        Where matches of the parts that schemes make are kept, see `kept_match`.
    watch : callable, optional
        As of `Walk`.
    """
    solve = None if parts is None else functools.partial(kept_match, folder=parts)
    for i, outcome in Walk(pipelines, scene, search, watch=watch, solve=solve):
        try:
            if isinstance(outcome, Exception):
                raise outcome
            measured = _evaluated(outcome, scene, search, protocols[i], keep)
        except Exception as error:  # a plug-in may raise anything; one failed run must not end a sweep
            told = blame(error)
            measured = replace(failed(told.line), stage=told.stage, traceback="".join(traceback.format_exception(error)))
        yield i, measured


def failed(error: str) -> Outcome:
    """A task that came to nothing."""
    return Outcome(error=short(error), environment=environment())


def _evaluated(match: Match, scene: Scene, search: Search, protocols: Sequence[Protocol], keep: bool) -> Outcome:
    statistics, seconds, told = [], [], list(match.warnings)
    about = {} if match.memory is None else {MEMORY: match.memory}
    if match.lower_bound is not None:
        about[LOWER_BOUND] = match.lower_bound
        if match.energy is not None and match.lower_bound > 0:
            about[GAP] = 100 * (match.energy / match.lower_bound - 1)
    stand_in = None
    if any(protocol.without_truth for protocol in protocols):
        try:
            stand_in = reference(scene, search)
        except StereoFrameworkError as error:
            told.append(f"no distances to a reference map: {error}")
    for protocol in protocols:
        start = working_time()
        statistics.append(
            statistics_of(match.disparity, scene, protocol, reference=stand_in, confidence=match.confidence) | about
        )
        seconds.append(match.seconds | {EVALUATION: working_time() - start})
    computed = {MESSAGES: match.messages, TRACE: json.dumps(match.trace, default=float) if match.trace else ""}
    return Outcome(
        statistics=tuple(statistics),
        seconds=tuple(seconds),
        energy=match.energy,
        warnings=tuple(dict.fromkeys((*told, *doubts(match.disparity, scene)))),
        disparity=match.disparity if keep else None,
        confidence=match.confidence if keep else {},
        environment={**environment(), **{name: text for name, text in computed.items() if text}},
    )


# --- in other processes -----------------------------------------------------------------------------------------------


def pack(unit: Unit, keep: bool, parts: Path | None) -> tuple[tuple[str, ...], bytes]:
    """A unit as it is sent, without its scene: the plug-ins that must be loaded first, and all the rest.

    Raises
    ------
    ParameterError
        A stage's function cannot be sent.
    """
    plugins = dict.fromkeys(plugin for _, task in unit.tasks for plugin in task.run.shared["plugins"])
    pipelines = [task.run.pipeline for _, task in unit.tasks]
    try:
        return tuple(plugins), pickle.dumps((pipelines, [task.protocols for _, task in unit.tasks], unit.search, keep, parts))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"a stage cannot be sent to another process: {error}; name its file or module under plugins:"
        ) from error


def work(plugins: Sequence[str], packed: bytes, sent: SentScene) -> list[tuple[int, Outcome]]:
    """Compute a unit in this process, each kernel in one thread."""
    for plugin in plugins:
        load_plugin(plugin)
    pipelines, protocols, search, keep, parts = pickle.loads(packed)
    with threads(1):
        return list(measure(pipelines, protocols, sent.load(), search, keep=keep, parts=parts))
