"""Pipeline: stages in order, one scene in, one Match out."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

from stereo_framework.engine.costs import CostSum, Weighted, cost_sum
from stereo_framework.engine.links import BOTH, REFERENCE, RESTORE, Link, running_order
from stereo_framework.engine.match import Match
from stereo_framework.engine.memory import free_memory, holds_volume, peak_memory
from stereo_framework.engine.steps import Step
from stereo_framework.engine.tree import Tree
from stereo_framework.errors import ParameterError, StereoFrameworkError, nearest, warn
from stereo_framework.notebooks import Shown
from stereo_framework.pair import Pair
from stereo_framework.parameters import check_kind
from stereo_framework.per_image import kept_here
from stereo_framework.progress import Progress, in_notebook
from stereo_framework.scene import Scene, Search
from stereo_framework.stage import SLOTS, VOLUME_SLOTS, Bound, Stage, find

__all__ = ["Match", "Pipeline"]

_OF_VOLUMES = ("matching_cost", "aggregation", "optimization")


@dataclass(frozen=True)
class Pipeline(Shown):
    """A stereo method: bound stages by slot.

    Parameters
    ----------
    matching_cost : Bound, or iterable of Bound or Weighted
        A registered stage function, or its name, stands for itself with its defaults, here and below. Several costs are added.
    optimization : Bound
    preprocessing, aggregation, confidence, refinement : iterable of Bound
    smoothness : Bound or None
    matcher : Bound or None
        A whole matcher, which stands instead of cost, aggregation, smoothness and optimization.
    scheme : iterable of Bound
        What makes the pairs that the method is run on, the first outermost.
    alternatives : mapping of str to Pipeline
        Other methods, matched on the same pair, whose maps go to the stages that name ``alternatives``.

    Raises
    ------
    ParameterError
        A stage stands in a slot that is not its own, one is missing, or one names what a matcher or a scheme does not give.

    Examples
    --------
    >>> from stereo_framework import Bound, Pipeline, load_scene
    >>> from stereo_framework.aggregation import box
    >>> from stereo_framework.matching_cost import absolute_difference
    >>> from stereo_framework.optimization import winner_take_all
    >>> method = Pipeline(absolute_difference, winner_take_all, aggregation=[Bound(box, {"size": 9})])
    >>> method(load_scene("synthetic/planes")).disparity.shape
    (240, 320)
    """

    matching_cost: Any = None
    optimization: Any = None
    preprocessing: Any = ()
    aggregation: Any = ()
    smoothness: Any = None
    refinement: Any = ()
    matcher: Any = None
    confidence: Any = ()
    scheme: Any = ()
    alternatives: Any = ()

    def __post_init__(self) -> None:
        for name, slot in SLOTS.items():
            value = getattr(self, name)
            checked: Any
            if slot.added and isinstance(value, list | tuple | CostSum):
                # Pipelines of a sweep share their sums.
                total = value if isinstance(value, CostSum) else cost_sum([_found(v, name) for v in value])
                for part in total.parts:
                    _as_bound(part.bound, name)
                checked = total if total.parts else None
            elif slot.many:
                single = isinstance(value, Bound | str) or callable(value)
                checked = tuple(_as_bound(v, name) for v in ([value] if single else value or ()))
            else:
                checked = None if value is None else _as_bound(value, name)
            object.__setattr__(self, name, checked)
        given = self.alternatives.items() if isinstance(self.alternatives, Mapping) else self.alternatives
        object.__setattr__(self, "alternatives", tuple((str(name), method) for name, method in given))
        if faults := self.faults():
            raise ParameterError("\n".join(f"{address}: {message}" for address, message in faults))

    def faults(self) -> list[tuple[str, str]]:
        """(address, message) of what does not go together."""
        matcher, scheme = (self.matcher and self.matcher.stage.name), (self.scheme[0].stage.name if self.scheme else None)
        if matcher is None:
            missing = [slot for slot in VOLUME_SLOTS if not SLOTS[slot].optional and getattr(self, slot) is None]
            found = [(slot, "missing; a method needs one, or a matcher") for slot in missing]
        else:
            instead = f"the matcher {matcher} stands instead of it; remove one of both"
            found = [(slot, instead) for slot in VOLUME_SLOTS if getattr(self, slot)]
        own = dict(self.own_stages())
        for address, bound in self.stages():
            # Those of alternatives run on the same pairs.
            others = {"matcher": matcher, "alternatives": bool(self.alternatives)} if address in own else {}
            found += [(address, message) for message in misfits(bound.stage, scheme=scheme, **others)]
        return found

    @staticmethod
    def from_script(script: str | Path | Mapping[str, Any], **overrides: Any) -> Pipeline:
        """The method of a script that has one setting.

        Parameters
        ----------
        script : str, path-like or mapping
            The name of a shipped script (``sgm``), a file, or the script itself.
        **overrides
            Values by address, ``**{"aggregation.box.size": 9}``, or by the name of a parameter alone where a single stage has it: ``p1=10``.

        Raises
        ------
        ScriptError, ParameterError
            No such script, faults in it, several settings, or a parameter that no stage or more than one has.

        Examples
        --------
        >>> Pipeline.from_script("ssd", truncation=400)
        Pipeline(squared_difference(truncation=400.0) > box(size=21) > min_filter(size=21) > winner_take_all)
        """
        # On use, and by name: scripts lie on a floor above, and make pipelines.
        load = importlib.import_module("stereo_framework.script").load
        method: Pipeline = load(script).only.pipeline
        if overrides:
            given = [f"{method._address(name)}={json.dumps(value)}" for name, value in overrides.items()]
            method = load(script, overrides=given).only.pipeline
        return method

    def _address(self, name: str) -> str:
        """Where a parameter is set that is given by its name alone."""
        having = [address for address, bound in self.stages() if name in bound.parameters]
        if "." in name or len(having) == 1:
            return name if "." in name else f"{having[0]}.{name}"
        if having:
            raise ParameterError(f"{name}: {' and '.join(having)} have it; say which, as in **{{'{having[0]}.{name}': ...}}")
        raise ParameterError(f"{name}: no stage has it; {nearest(name, {p for _, b in self.stages() for p in b.parameters})}")

    def __str__(self) -> str:
        return " > ".join(str(b) for _, b in self.stages())

    def __repr__(self) -> str:
        return f"Pipeline({' > '.join(_in_short(b) for _, b in self.stages())})"

    def own_stages(self) -> tuple[tuple[str, Bound | Weighted], ...]:
        """(address, stage) in running order, without those of the alternatives."""
        found: list[tuple[str, Bound | Weighted]] = []
        for name in SLOTS:
            value = getattr(self, name)
            stages = value.parts if isinstance(value, CostSum) else value
            if not isinstance(stages, tuple):
                found += [(name, value)] if value is not None else []
                continue
            names = [b.stage.name for b in stages]
            found += [(f"{name}.{b.stage.name if names.count(b.stage.name) == 1 else i}", b) for i, b in enumerate(stages)]
        return tuple(found)

    def stages(self) -> tuple[tuple[str, Bound | Weighted], ...]:
        """(address, stage) in running order; addresses as in scripts, ``aggregation.box``, by index where a name repeats.

        Those of alternatives come first, under ``alternatives.NAME.``.
        """
        others = [(f"alternatives.{name}.{address}", b) for name, method in self.alternatives for address, b in method.stages()]
        return (*others, *self.own_stages())

    def files(self, scene: Scene | None = None) -> dict[str, tuple[Path, ...]]:
        """Files from outside that decide what stages do, by address, as of `Bound.files`."""
        bounds = ((address, b.bound if isinstance(b, Weighted) else b) for address, b in self.stages())
        return {address: bound.files(scene) for address, bound in bounds if bound.stage.files}

    @functools.cached_property
    def compact(self) -> bool:
        """Whether all its stages that make or read volumes take compact ones."""
        if isinstance(self.matching_cost, CostSum):
            return False
        return all(
            b.stage.compact
            for _, b in self.own_stages()
            if b.stage.slot in _OF_VOLUMES or {"volume", "raw"} & {*b.stage.data, *b.stage.other_needs}
        )

    @functools.cached_property
    def _schemed(self) -> tuple[Bound, Pipeline]:
        """The first scheme and the method that it runs; the same object each time, as a sweep tells steps apart by what they run."""
        return self.scheme[0], replace(self, scheme=self.scheme[1:])

    def links(self, *, both: bool = False) -> list[Link]:
        """The steps in running order, for one view or for both; see `running_order`."""
        if self.scheme:
            return [Link(f"scheme.{self.scheme[0].stage.name}", self._schemed, BOTH if both else REFERENCE)]
        steps: list[tuple[str, Any]] = [("alternatives", self.alternatives)] if self.alternatives else []
        stages = [(address, b) for address, b in self.own_stages() if b.stage.slot != "matching_cost"]
        for i, (address, bound) in enumerate(stages):
            steps.append((address, bound))
            if bound.stage.slot == "aggregation" and stages[i + 1][1].stage.slot != "aggregation":
                steps.append((RESTORE, None))
        if self.matching_cost is not None:
            at = sum(address == "alternatives" or address.startswith("preprocessing") for address, _ in steps)
            steps.insert(at, ("matching_cost", self.matching_cost))
        order = running_order(steps, both=both)
        return [replace(link, compact=self.compact) if link.slot == "matching_cost" else link for link in order]

    def __call__(
        self,
        scene: Scene | Pair,
        search: Search | None = None,
        *,
        keep_volume: bool = False,
        notify: Callable[[Step], None] | None = None,
    ) -> Match:
        """Match the scene's frame pair, or a pair.

        Parameters
        ----------
        scene : Scene or Pair
        search : Search, optional
            Instead of the scene's own; its direction is taken from the scene.
        keep_volume : bool
            Keep the optimizer's volume in the result. It then exists whole.
        notify : callable, optional
            Called with each step before it runs.

        Returns
        -------
        Match

        Raises
        ------
        DataError
            The scene has no search range, its images differ in size or are missing.
        ParameterError
            Neither a scene nor a pair.
        StereoFrameworkError
            A stage refuses its input, or the volume would not fit into memory.

        Warns
        -----
        ResultWarning
            What the match says in its warnings.
        """
        found = self.matched(scene, search, keep_volume=keep_volume, notify=notify)
        # A method that a scheme calls tells nobody but the scheme.
        if kept_here() is None:
            warn(found.warnings)
        return found

    def matched(
        self,
        scene: Scene | Pair,
        search: Search | None = None,
        *,
        keep_volume: bool = False,
        notify: Callable[[Step], None] | None = None,
    ) -> Match:
        """What a call returns, without its Python warnings: for callers that tell of the match's warnings themselves."""
        check_kind("Pipeline", "scene", scene, (Scene, Pair), "a Scene or a Pair, such as Pair(left, right, Search(0, 63))")
        check_kind("Pipeline", "search", search, (Search, NoneType), "a Search, such as Search(0, 63)")
        pair = Pair.of(scene, search) if isinstance(scene, Scene) else replace(scene, search=search or scene.search)
        tree = Tree([self], keep_volume=keep_volume)
        self._check_memory(tree, pair)
        with in_notebook(1) as progress:
            [(_, outcome)] = tree.walk(pair, notify=functools.partial(_tell, progress, notify))
        if isinstance(outcome, Exception):
            raise outcome
        found: Match = outcome
        return found

    @property
    def name(self) -> str:
        """The stage that decides: the optimizer or the matcher."""
        decides: Bound = self.matcher or self.optimization
        return decides.stage.name

    def _check_memory(self, tree: Tree, pair: Pair) -> None:
        """Refuse a volume that cannot fit."""
        if not holds_volume(tree.root):
            return
        (rows, columns), levels = pair.shape, pair.search.levels
        held = self._held_levels(pair)
        free, need = free_memory(), peak_memory(tree.root, pair.shape, held, search=pair.search, whole=levels)
        if free is not None and need > free:
            raise StereoFrameworkError(
                f"{self.name} needs about {need / 2**30:.1f} GiB for {columns}x{rows} pixels and "
                f"{held} levels; {free / 2**30:.1f} GiB are free; use fewer levels, smaller images or the scheme tiles"
            )

    def _held_levels(self, pair: Pair) -> int:
        """How many levels the volumes hold of a pixel on average, those of the view that takes more."""
        if pair.domain is None or self.scheme or not self.compact:
            return pair.search.levels
        search = pair.search
        found = pair.domain.held_levels(search)
        if self._matches_both:
            found = max(found, pair.domain.exchanged(search).held_levels(replace(search, direction=-search.direction)))
        return found

    @property
    def _matches_both(self) -> bool:
        """Whether it, or one of its alternatives, makes volumes of the match image's view too."""
        own = any(link.slot in ("matching_cost", "alternatives") and link.view != REFERENCE for link in self.links())
        return own or any(method._matches_both for _, method in self.alternatives)


def misfits(stage: Stage, *, matcher: str | None = None, scheme: str | None = None, alternatives: bool = True) -> list[str]:
    """Why a stage cannot stand in a method: it needs what the method does not have.

    Parameters
    ----------
    stage : Stage
    matcher, scheme : str, optional
        What to call those of the method, where it has one.
    alternatives : bool
        Whether the method has some.
    """
    found = []
    volumes = sorted({"volume", "raw"}.intersection((*stage.data, *stage.other_needs)))
    if matcher and volumes and stage.slot in ("confidence", "refinement"):
        found.append(f"{stage.name} needs the {volumes[0]}, and the matcher {matcher} makes none")
    if scheme and "scene" in stage.data:
        found.append(f"{stage.name} needs the scene, and {scheme} makes pairs without one")
    if "alternatives" in stage.data and not alternatives and not stage.defaults("alternatives"):
        found.append(f"{stage.name} needs alternatives, and the method names none")
    return found


def _tell(progress: Progress | None, notify: Callable[[Step], None] | None, step: Step) -> None:
    if notify:
        notify(step)
    if progress:
        progress.watch(step.bound.stage.name if step.bound else step.link.address)


def _in_short(bound: Bound | Weighted) -> str:
    """A stage with those of its parameters that are not the defaults."""
    usual = {name: parameter.default for name, parameter in bound.stage.parameters.items()} | {"weight": 1, "scale": None}
    own = ", ".join(f"{name}={value!r}" for name, value in bound.parameters.items() if value != usual[name])
    return f"{bound.stage.name}({own})" if own else bound.stage.name


def _found(value: Any, slot: str) -> Any:
    """The stage of a slot that a name means; anything else as it is."""
    return find(slot, value).function if isinstance(value, str) else value


def _as_bound(value: Any, slot: str) -> Bound:
    value = _found(value, slot)
    bound = value if isinstance(value, Bound) else Bound(value)
    if bound.stage.slot != slot:
        raise ParameterError(f"{slot}: {bound.stage.name} is a stage of {bound.stage.slot}")
    return bound
