"""Pipelines that begin alike, as a tree of steps: every shared beginning is computed once, depth first.

A chain between two branchings runs slab by slab where its steps are local; a whole volume exists only where several chains start
from it, or a step sees the whole. A stage that can be continued is computed from its own result after fewer iterations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stereo_framework._slabs import Clock, OutOfMemory, State, Step, advance, make_step, needed_before, restore_step
from stereo_framework.errors import StereoFrameworkError
from stereo_framework.match import Match, warnings
from stereo_framework.scene import Scene, Search
from stereo_framework.stage import Bound
from stereo_framework.volume import CostVolume, Labeling, fill_labels

if TYPE_CHECKING:
    from stereo_framework.pipeline import Pipeline


class Node:
    """A step together with everything before it, and what follows on it.

    Attributes
    ----------
    step : Step or None
        None at the root.
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
    needs : frozenset of str
        The volumes of its state that are needed by what follows.
    """

    __slots__ = ("children", "depth", "leaves", "more", "needs", "next", "step")

    def __init__(self, step: Step | None, depth: int):
        self.step, self.depth = step, depth
        self.leaves: list[int] = []
        self.children: list[Node] = []
        self.next: Node | None = None
        self.more: Step | None = None
        self.needs: frozenset[str] = frozenset()

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

    def chain(self) -> tuple[list[Node], frozenset[str]]:
        """The node and those below it up to the first at which something branches off or ends, and the volumes to keep there."""
        found = [self]
        while not (end := found[-1]).leaves and end.next is None and len(end.children) == 1 and end.children[0].next is None:
            found.append(end.children[0])
        return found, end.needs | ({"volume"} if end.next else set())


class Tree:
    """The steps of some pipelines, those that they share once.

    Parameters
    ----------
    pipelines : sequence of Pipeline
        The leaves of the tree are their indices.
    keep_volume : bool
        Keep each optimizer's volume in its match.
    """

    def __init__(self, pipelines: Sequence[Pipeline], *, keep_volume: bool = False):
        self.pipelines, self.keep_volume = pipelines, keep_volume
        self.root = Node(None, 0)
        numbers: dict[Bound | None, int] = {}
        # Settings of a sweep share most of their stages; comparing those by value would take longer than all the rest.
        known: dict[int, int] = {}
        found: dict[tuple[int, int], Node] = {}
        for index, pipeline in enumerate(pipelines):
            node = self.root
            for _, bound in links(pipeline):
                if id(bound) not in known:
                    known[id(bound)] = numbers.setdefault(bound, len(numbers))
                key = id(node), known[id(bound)]
                if key not in found:
                    step = restore_step() if bound is None else make_step(bound, pipeline)
                    found[key] = Node(step, node.depth + 1)
                    node.children.append(found[key])
                node = found[key]
            node.leaves.append(index)
        # A node comes before those below it.
        for node in (*reversed(found.values()), self.root):
            wanted = [needed_before(child.step, child.needs) for child in node.children if child.step]
            node.needs = frozenset({"volume"} if keep_volume and node.leaves else ()).union(*wanted)
            self._continue(node)

    def _continue(self, node: Node) -> None:
        """Join children that differ in nothing but how often their stage iterates."""
        alike: dict[Hashable, list[tuple[int, Node, Bound]]] = {}
        for child in node.children:
            bound = child.step.bound if child.step else None
            if bound is not None and (count := bound.stage.resume) is not None:
                others = [(k, type(v), repr(v)) for k, v in bound.parameters.items() if k != count]
                alike.setdefault((bound.stage.name, *others), []).append((bound.parameters[count], child, bound))
        for line in alike.values():
            line.sort(key=lambda item: item[0])
            for (few, one, _), (many, other, bound) in itertools.pairwise(line):
                rest = Bound(bound.stage.function, bound.parameters | {str(bound.stage.resume): many - few})
                one.next, other.more = other, make_step(rest, self.pipelines[other.all_leaves()[0]])
                node.children.remove(other)

    def walk(
        self, scene: Scene, search: Search, *, notify: Callable[[Step], None] | None = None
    ) -> Iterator[tuple[int, Match | Exception]]:
        """Run the pipelines on a scene.

        Parameters
        ----------
        scene : Scene
        search : Search
        notify : callable, optional
            Called with each step before it runs; what it raises ends the walk unless it is an ordinary exception.

        Yields
        ------
        (index, Match or Exception)
            As they are there: one for each pipeline, what it made of the scene or what one of its stages raised. The seconds
            of a stage that several pipelines share are told by each of them, as if it had been alone.
        """
        state: State = {"scene": scene, "search": search, "protected": ()}
        try:
            state |= {"reference": scene.reference, "match": scene.match}
        except Exception as error:
            yield from ((leaf, error) for leaf in self.root.all_leaves())
            return
        yield from self._visit(self.root, (), state, Clock(notify=notify))

    def _visit(self, node: Node, path: tuple[Node, ...], state: State, clock: Clock) -> Iterator[tuple[int, Match | Exception]]:
        """Finish what ends at a node, then all that starts from its state, which is given away."""
        for leaf in node.leaves:
            try:
                outcome: Match | Exception = self._match(leaf, path, state, clock)
            except Exception as error:  # labels that mean no level, for example
                outcome = error
            yield leaf, outcome
        nodes = list(node.lines())
        shorter: tuple[Node, CostVolume] | None = None
        for child in nodes:
            # The last one takes the state over, so that no volume outlives its use.
            own = state if child is nodes[-1] else _shared(state)
            chain, keep = child.chain()
            steps = [n.step for n in chain if n.step]
            if shorter is not None and child.more is not None:
                own["partial"], steps[0] = shorter[1], child.more
            try:
                advance(steps, own, keep, clock)
            except Exception as error:
                own.clear()
                yield from ((leaf, self._told(leaf, error, chain)) for leaf in child.all_leaves())
                shorter = None
                continue
            if shorter is not None and child.more is not None and child.step is not None and shorter[0].step is not None:
                clock.seconds[child.step] = clock.seconds[shorter[0].step] + clock.seconds[child.more]
            shorter = (child, own["volume"]) if child.next else None
            yield from self._visit(chain[-1], (*path, *chain), _shared(own) if child.next else own, clock)

    def _told(self, leaf: int, error: Exception, chain: Sequence[Node]) -> Exception:
        """What a step raised, in the words of a pipeline."""
        if not isinstance(error, OutOfMemory):
            return error
        depth = next(node.depth for node in chain if error.step in (node.step, node.more))
        address = [address for address, _ in links(self.pipelines[leaf])][depth - 1]
        return StereoFrameworkError(f"{address}: out of memory ({error})")

    def _match(self, leaf: int, path: Sequence[Node], state: State, clock: Clock) -> Match:
        labels, smoothness = state["labels"], state.get("smoothness")
        labelings: list[Labeling] = state["labelings"]
        energy = float(state["data_costs"].sum(dtype=np.float64))
        if smoothness is not None:
            energy += smoothness.of(fill_labels(labels))
        steps = [node.step for node in path if node.step]
        addresses = [address for address, _ in links(self.pipelines[leaf])]
        whole = labelings[0] if len(labelings) == 1 else None
        return Match(
            disparity=np.ascontiguousarray(state["disparity"], np.float32),
            status=state["status"],
            labels=labels,
            search=state["search"],
            energy=energy,
            objective=_objective(labelings, steps),
            lower_bound=whole.lower_bound if whole else None,
            trace=whole.trace if whole else (),
            seconds={address: clock.seconds[step] for address, step in zip(addresses, steps, strict=True)},
            warnings=warnings(labels, state["disparity"], state["search"]),
            volume=state["volume"] if self.keep_volume else None,
        )


def links(pipeline: Pipeline) -> Iterator[tuple[str, Bound | None]]:
    """(address, stage) of all steps in running order; None is the step that restores the cells out of view."""
    stages = pipeline.stages()
    for i, (address, bound) in enumerate(stages):
        yield address, bound
        if bound.stage.slot == "aggregation" and stages[i + 1][1].stage.slot != "aggregation":
            yield "restore_outside", None


def _shared(state: State) -> State:
    """A state for one of several users of its volumes."""
    volumes = [state[name].costs for name in ("volume", "raw") if name in state]
    return {**state, "protected": (*state["protected"], *volumes)}


def _objective(labelings: Sequence[Labeling], steps: Sequence[Step]) -> float | None:
    """The optimizer's own objective; those of a local optimizer add up over slabs, unless halos can make the slabs overlap."""
    values = [labeling.objective for labeling in labelings if labeling.objective is not None]
    at = next(i for i, step in enumerate(steps) if step.slot == "optimization")
    local = list(itertools.takewhile(lambda step: step.halo is not None, steps[at:]))
    reading = max((i + 1 for i, step in enumerate(local) if step.touches_volume), default=0)
    overlap = any(step.halo for step in local[:reading])
    return math.fsum(values) if len(values) == len(labelings) and not overlap else None
