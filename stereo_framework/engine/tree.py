"""Pipelines that begin alike, as a tree of steps: every shared beginning is computed once, depth first.

A chain between two branchings runs slab by slab where its steps are local; a whole volume exists only where several chains start
from it, or a step sees the whole. A stage that can be continued is computed from its own result after fewer iterations.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.call_reports import CallReport, is_stopped
from stereo_framework.engine.kept_parts import Method, kept_match
from stereo_framework.engine.links import BOTH, MATCH, REFERENCE, Link, Name
from stereo_framework.engine.match import DENSE, PASSED_ON, Match, warnings
from stereo_framework.engine.returned import check_returned
from stereo_framework.engine.slabs import advance, needed_before
from stereo_framework.engine.steps import Clock, OutOfMemory, State, Step, confidences, frozen, make_step, open_cells, view_of
from stereo_framework.errors import StereoFrameworkError
from stereo_framework.pair import Pair
from stereo_framework.per_image import kept_here
from stereo_framework.scene import Scene, Search, scale_doubt
from stereo_framework.stage import Bound
from stereo_framework.view import View
from stereo_framework.volume import CostVolume, Labeling, Status, fill_labels


class Node:
    """A step together with everything before it, and what follows on it.

    Attributes
    ----------
    step : Step
        The root, before which and in which nothing runs, has none.
    depth : int
        Number of steps up to this one.
    leaves : list of int
        Pipelines that end here, by index.
    children : list of Node
        What starts from this node's state; of stages that continue each other only the one with the fewest iterations.
    next : Node or None
        A sibling that continues this node's stage.
    more : Step or None
        The step that makes this node from the sibling that it continues.
    needs : frozenset of (int, str)
        The volumes of its states that are needed by what follows.
    """

    __slots__ = ("children", "depth", "leaves", "more", "needs", "next", "step")

    def __init__(self, step: Step, depth: int):
        self.step, self.depth = step, depth
        self.leaves: list[int] = []
        self.children: list[Node] = []
        self.next: Node | None = None
        self.more: Step | None = None
        self.needs: frozenset[Name] = frozenset()

    def lines(self) -> Iterator[Node]:
        """Children, each followed by those that continue it."""
        for child in self.children:
            node: Node | None = child
            while node is not None:
                yield node
                node = node.next

    def all_leaves(self) -> list[int]:
        """Pipelines that end here or below it."""
        return self.leaves + [leaf for node in self.lines() for leaf in node.all_leaves()]

    def chain(self) -> tuple[list[Node], frozenset[Name]]:
        """The node and those below it up to the first at which something branches off or ends, and the volumes to keep there."""
        found = [self]
        while not (end := found[-1]).leaves and end.next is None and len(end.children) == 1 and end.children[0].next is None:
            found.append(end.children[0])
        return found, end.needs | ({(end.step.view, "volume")} if end.next else set())


class Tree:
    """The steps of some pipelines, those that they share once.

    Parameters
    ----------
    pipelines : sequence of Pipeline
        The leaves of the tree are their indices.
    keep_volume : bool
        Keep each optimizer's volume in its match.
    both : bool
        Match both views: each outcome is a pair of matches, the reference image's first.
    """

    def __init__(self, pipelines: Sequence[Method], *, keep_volume: bool = False, both: bool = False):
        self.keep_volume, self.both = keep_volume, both
        self.root = Node(None, 0)  # type: ignore[arg-type]
        self.links: list[Sequence[Link]] = []
        numbers: dict[Hashable, int] = {}
        # Settings of a sweep share most of their stages; comparing those by value would take longer than all the rest.
        known: dict[tuple[int, int, bool], int] = {}
        found: dict[tuple[int, int], Node] = {}
        for index, pipeline in enumerate(pipelines):
            node, integer = self.root, False
            self.links.append(pipeline.links(both=both))
            for link in self.links[-1]:
                about = id(link.work), link.view, link.compact
                if about not in known:
                    known[about] = numbers.setdefault((link.work, *about[1:]), len(numbers))
                key = id(node), known[about]
                if key not in found:
                    found[key] = Node(_step(link, integer=integer), node.depth + 1)
                    node.children.append(found[key])
                integer = _stays_integer(link, integer)
                node = found[key]
            node.leaves.append(index)
        # A node comes before those below it.
        for node in (*reversed(found.values()), self.root):
            wanted = [needed_before(child.step, child.needs) for child in node.children]
            kept = {(view, "volume") for view in ((REFERENCE, MATCH) if both else (REFERENCE,))}
            node.needs = frozenset(kept if keep_volume and node.leaves else ()).union(*wanted)
            self._continue(node)

    def _continue(self, node: Node) -> None:
        """Join children that differ in nothing but how often their stage iterates."""
        alike: dict[Hashable, list[tuple[int, Node, Bound]]] = {}
        for child in node.children:
            bound = child.step.bound
            if bound is not None and (count := bound.stage.resume) is not None:
                others = [(k, type(v), repr(v)) for k, v in bound.parameters.items() if k != count]
                about = (bound.stage.name, child.step.view, *others)
                alike.setdefault(about, []).append((bound.parameters[count], child, bound))
        for line in alike.values():
            line.sort(key=lambda item: item[0])
            for (few, one, _), (many, other, bound) in itertools.pairwise(line):
                rest = Bound(bound.stage.function, bound.parameters | {str(bound.stage.resume): many - few})
                one.next = other
                other.more = make_step(Link(other.step.link.address, rest, other.step.view), integer=other.step.converts)
                node.children.remove(other)

    def walk(
        self,
        scene: Scene | Pair,
        search: Search | None = None,
        *,
        notify: Callable[[Step], None] | None = None,
        artefacts: dict[Hashable, Any] | None = None,
        parts: Path | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """Run the pipelines on a pair.

        Parameters
        ----------
        scene : Scene or Pair
        search : Search, optional
            Instead of the scene's own.
        notify : callable, optional
            Called with each step before it runs; what it raises ends the walk unless it is an ordinary exception.

        artefacts : dict, optional
            What another walk over the same images keeps of them, see `per_image`.
        parts : Path, optional
            Where matches of the pairs that a scheme makes are kept, see `kept_match`.

        Yields
        ------
        (index, Match or Exception)
            As they are there: one for each pipeline, what it made of the pair or what one of its stages raised. The seconds
            of a stage that several pipelines share are told by each of them, as if it had been alone.
        """
        try:
            pair = scene if isinstance(scene, Pair) else Pair.of(scene, search)
            state = _start(pair) | {"parts": parts}
        except Exception as error:
            yield from ((leaf, error) for leaf in self.root.all_leaves())
            return
        yield from self._visit(
            self.root, (), [state, None], Clock(notify=notify, artefacts={} if artefacts is None else artefacts)
        )

    def _visit(self, node: Node, path: tuple[Node, ...], views: list[State | None], clock: Clock) -> Iterator[tuple[int, Any]]:
        """Finish what ends at a node, then all that starts from its states, which are given away."""
        for leaf in node.leaves:
            try:
                outcome: Any = self._outcome(leaf, path, views, clock)
            except Exception as error:  # labels that mean no level, for example
                outcome = error
            yield leaf, outcome
        nodes = list(node.lines())
        # The node that the next one continues, with fewer iterations of the same stage, and the volume that it left.
        shorter: tuple[Node, CostVolume] | None = None
        for child in nodes:
            # The last one takes the states over, so that no volume outlives its use.
            own = views if child is nodes[-1] else _shared(views)
            chain, keep = child.chain()
            steps = [node.step for node in chain]
            if shorter is not None and child.more is not None:
                view_of(own, child.more.view)["partial"], steps[0] = shorter[1], child.more
            try:
                advance(steps, own, keep, clock)
            except Exception as error:
                own[:] = [None, None]
                yield from ((leaf, self._readable(leaf, error, chain)) for leaf in child.all_leaves())
                shorter = None
                continue
            if shorter is not None and child.more is not None:
                clock.seconds[child.step] = clock.seconds[shorter[0].step] + clock.seconds[child.more]
            shorter = (child, view_of(own, child.step.view)["volume"]) if child.next else None
            yield from self._visit(chain[-1], (*path, *chain), _shared(own) if child.next else own, clock)

    def _readable(self, leaf: int, error: Exception, chain: Sequence[Node]) -> Exception:
        """What a step raised, in the words of a pipeline."""
        if not isinstance(error, OutOfMemory):
            return error
        depth = next(node.depth for node in chain if error.step in (node.step, node.more))
        return StereoFrameworkError(f"{self.links[leaf][depth - 1].address}: out of memory ({error})")

    def _outcome(self, leaf: int, path: Sequence[Node], views: list[State | None], clock: Clock) -> Any:
        seconds: dict[str, float] = {}
        reports: list[CallReport] = []
        for node, link in zip(path, self.links[leaf], strict=True):
            taken: float | None = clock.seconds[node.step]
            if node.step in clock.reports:
                reports.append(clock.reports[node.step])
                taken = taken if reports[-1].warning else reports[-1].seconds
            if taken is not None:
                seconds[link.address] = seconds.get(link.address, 0.0) + taken
        found = [self._match(path, view, views, seconds, reports) for view in (REFERENCE, MATCH)[: 2 if self.both else 1]]
        return tuple(found) if self.both else found[0]

    def _match(
        self, path: Sequence[Node], view: int, views: list[State | None], seconds: dict[str, float], reports: Sequence[CallReport]
    ) -> Match:
        state = view_of(views, view)
        if "match of a scheme" in state:
            found: Match = state["match of a scheme"]
            told = (line for line in found.warnings if line.startswith(PASSED_ON))
            doubts = warnings(found.labels, found.disparity, found.search, state["scale"])
            return replace(found, seconds=seconds, warnings=(*doubts, *told, *_warned(reports)))
        labels: Any = state.get("labels")
        labelings: list[Labeling] = state.get("labelings", [])
        whole = labelings[0] if len(labelings) == 1 else None
        energy = None
        if labels is not None:
            energy = float(state["data_costs"].sum(dtype=np.float64))
            if state.get("smoothness") is not None:
                energy += state["smoothness"].of(fill_labels(labels))
        disparity = np.ascontiguousarray(state["disparity"], np.float32)
        return Match(
            disparity=disparity,
            status=state["status"],
            labels=labels,
            search=state["search"],
            energy=energy,
            objective=_objective(labelings, [node.step for node in path if node.step.view == view]),
            lower_bound=whole.lower_bound if whole else None,
            trace=whole.trace if whole else (),
            seconds=seconds,
            warnings=(
                *warnings(labels, disparity, state["search"], state["scale"]),
                *_held_densely(path, state),
                *_warned(reports),
            ),
            volume=state.get("volume") if self.keep_volume else None,
            confidence={name: _told_sure(value, state) for name, value in confidences(state).items()},
            memory=max((one.memory for one in reports if one.memory is not None), default=None),
            messages="\n".join(filter(None, (one.messages for one in reports))),
        )


def _step(link: Link, *, integer: bool) -> Step:
    """The step that runs a link; those that run whole pipelines are made here."""
    if link.slot == "alternatives":
        return Step(link, functools.partial(_run_alternatives, link.work, link.view == BOTH), None)
    if link.slot == "scheme":
        return Step(link, functools.partial(_run_scheme, link.work, link.view), None)
    return make_step(link, integer=integer)


def _stays_integer(link: Link, integer: bool) -> bool:
    """Whether the volume may hold integer costs after a link, given whether it might before."""
    if link.slot == "matching_cost":
        return isinstance(link.work, Bound) and link.work.stage.integer
    return integer and (link.slot != "aggregation" or (link.bound is not None and link.bound.stage.integer))


def _start(pair: Pair) -> State:
    """The state of the reference image's view before the first step."""
    images = [frozen(image) for image in (pair.reference, pair.match)]
    return {
        "reference": images[0],
        "match": images[1],
        "corrected": tuple(images),
        "search": pair.search,
        "domain": pair.domain,
        **open_cells(pair.domain, pair.search, pair.shape),
        "scene": pair.scene,
        "scale": scale_doubt(pair.reference),
        "alternatives": {},
        "protected": (),
    }


def _run_alternatives(alternatives: Sequence[tuple[str, Method]], both: bool, views: list[State | None]) -> None:
    """Match the pair, or both its views, by other methods; what stays are maps, status and confidence."""
    state, kept = view_of(views, REFERENCE), kept_here()
    assert kept is not None, "every step runs under a clock"
    pair = Pair(state["reference"], state["match"], state["search"], state["domain"], state["scene"])
    about = pair.reference.ctypes.data, pair.match.ctypes.data, pair.shape, pair.search, id(pair.domain), both
    # An alternative of an alternative may be one already.
    missing = [method for _, method in alternatives if (method, about) not in kept]
    for index, outcome in Tree(missing, both=both).walk(pair, artefacts=kept):
        if isinstance(outcome, Exception):
            raise outcome
        found = tuple(View(m.disparity, m.status, m.search, m.confidence) for m in (outcome if both else [outcome]))
        kept[missing[index], about] = pair, found
    state["alternatives"] = {name: kept[method, about][1] for name, method in alternatives}


def _run_scheme(work: tuple[Bound, Method], view: int, views: list[State | None]) -> None:
    """Run a method under a scheme, which makes the pairs that it is run on, for one view or for both."""
    scheme, method = work
    both, parts = view == BOTH, view_of(views, REFERENCE if view == BOTH else view)["parts"]
    solve: Callable[[Pair], Match] = method
    # A scheme that cuts pairs up cuts the exchanged one in other places; its parts are kept.
    if scheme.stage.largest is not None:
        solve = method if parts is None else functools.partial(kept_match, method, folder=parts)
    elif both and _same_from_both_sides(method):
        solve = _solver_of_both(method)
    for one in (REFERENCE, MATCH) if both else (view,):
        state = view_of(views, one)
        pair = Pair(state["reference"], state["match"], state["search"], state["domain"])
        across = functools.partial(_unless_stopped, functools.partial(_views, method)) if _looks_across(method) else None
        match = scheme({"solve": functools.partial(_unless_stopped, solve), "pair": pair, "views": across})
        check_returned(scheme.stage, match, state)
        state["match of a scheme"] = match


def _looks_across(method: Method) -> bool:
    """Whether a method matches the other view of a pair too."""
    return any(link.view != REFERENCE for link in method.links())


def _views(method: Method, pair: Pair) -> tuple[Match, Match]:
    """The matches of both views of a pair."""
    [(_, outcome)] = Tree([method], both=True).walk(pair)
    if isinstance(outcome, Exception):
        raise outcome
    found: tuple[Match, Match] = outcome
    return found


def _unless_stopped(solve: Callable[[Pair], Any], pair: Pair) -> Any:
    """The match of a pair that a scheme makes, which may be one of many."""
    if is_stopped():
        raise StereoFrameworkError("interrupted")
    return solve(pair)


def _same_from_both_sides(method: Method) -> bool:
    """Whether the view of the match image that a method gives with the other is the one that it gives of the exchanged pair."""
    one_sided = ("alternatives", "matcher", "scheme")
    return not any(
        link.slot in one_sided or (link.slot == "preprocessing" and link.bound and link.bound.stage.data[0] == "reference")
        for link in method.links()
    )


def _solver_of_both(method: Method) -> Callable[[Pair], Match]:
    """A method that matches both views of a pair at once, and gives the other's match when it is asked for the exchanged pair."""
    kept: list[tuple[Pair, Match]] = []

    def solve(pair: Pair) -> Match:
        if pair.domain is not None:
            return method(pair)
        for other, match in kept:
            images = (pair.reference, other.match), (pair.match, other.reference)
            if pair.exchanged().search == other.search and all(np.array_equal(*two) for two in images):
                return match
        own, others = _views(method, pair)
        kept.append((pair, others))
        return own

    return solve


def _held_densely(path: Sequence[Node], state: State) -> tuple[str, ...]:
    """What is told of a method whose volumes hold all levels although the ranges of the pixels need fewer."""
    stages = [node.step.bound.stage for node in path if node.step.bound is not None and node.step.link.touches_volume]
    names = list(dict.fromkeys(stage.name for stage in stages if not stage.compact))
    made = [node.step.link for node in path if node.step.link.slot == "matching_cost"]
    if state["held"] is None or not made or all(link.compact for link in made):
        return ()
    names += ["a sum of costs"] if any(link.bound is None for link in made) else []
    held, levels = state["held"].mean, state["search"].levels
    return (
        f"{DENSE}{' and '.join(names)} cannot use them; {levels} levels of a pixel were held where {held} would do on average",
    )


def _warned(reports: Sequence[CallReport]) -> list[str]:
    """What stages warned of."""
    return [report.warning for report in reports if report.warning]


def _told_sure(confidence: Any, state: State) -> Any:
    """A map of confidence with its lowest value where nothing is known."""
    unsure = np.isnan(state["disparity"]) | (state["status"] == Status.FILLED)
    return np.where(unsure, confidence.min(), confidence)


def _shared(views: list[State | None]) -> list[State | None]:
    """States for one of several users of their volumes."""
    found: list[State | None] = []
    for state in views:
        volumes = [] if state is None else [state[name].costs for name in ("volume", "raw") if name in state]
        found.append(state and {**state, "protected": (*state["protected"], *volumes)})
    return found


def _objective(labelings: Sequence[Labeling], steps: Sequence[Step]) -> float | None:
    """The optimizer's own objective; those of a local optimizer add up over slabs, unless halos can make the slabs overlap."""
    values = [labeling.objective for labeling in labelings if labeling.objective is not None]
    if not values:
        return None
    at = next(i for i, step in enumerate(steps) if step.link.slot == "optimization")
    local = list(itertools.takewhile(lambda step: step.halo is not None, steps[at:]))
    reading = max((i + 1 for i, step in enumerate(local) if step.link.touches_volume), default=0)
    overlap = any(step.halo for step in local[:reading])
    return math.fsum(values) if len(values) == len(labelings) and not overlap else None
