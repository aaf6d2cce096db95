"""From methods with axes to runs: one setting each, ready to be computed."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.parameters import spelled
from stereo_framework.core.stage import SLOTS
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step
from stereo_framework.evaluation.protocols import Protocol, shortest
from stereo_framework.script.addresses import alternatives_of, slot_of, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.methods import Method, locate
from stereo_framework.script.specs import Spec, parameter

_Steps = tuple[tuple[Step, bool], ...]
"""The steps of a slot, each with whether the script's seed was filled in."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of a script, for any scene.

    Parameters
    ----------
    method : str
        Key in the script's ``methods``, else the script's name, else its file's.
    pipeline : Pipeline
    search : dict of str to float
        ``minimum``, ``maximum``, ``step`` in pixels, as far as they differ from the scene's own; ``truth_margin`` as a share.
    seed : int
        Of the script; fills the ``seed`` of stages that were not given one.
    axes : dict of str to object
        Values of what was swept, by address. A whole stage is shown by its name and what differs from its defaults.
    shared : dict
        What the whole script says under ``plugins``, ``search`` and ``evaluation``; empty where it says nothing.
    protocols : tuple of Protocol
        How it is measured; empty: by the protocol of the scene.
    seeded : tuple of str
        Addresses of the stages that `seed` was filled into.
    """

    method: str
    pipeline: Pipeline
    search: dict[str, float]
    seed: int
    axes: dict[str, Any]
    shared: dict[str, Any]
    protocols: tuple[Protocol, ...]
    seeded: tuple[str, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """All values that decide the disparity map, defaults filled in, under dotted names.

        ``SLOT.use`` is the stage or, in a slot that takes several, their chain: ``box > min_filter``; costs that are added: ``census + rank``.
        ``seed`` is there if some stage was given it.
        """
        found: dict[str, Any] = {f"search.{key}": value for key, value in self.search.items()}
        found |= _uses(self.pipeline)
        for address, bound in self.pipeline.stages():
            found.update({f"{address}.{name}": value for name, value in bound.parameters.items()})
        if self.seeded:
            found["seed"] = self.seed
        return found

    @property
    def mapping(self) -> dict[str, Any]:
        """A script of this run alone, defaults filled in, that `load` accepts; plain values that YAML can hold."""
        shared = {key: said for key, said in (self.shared | {"search": self.search}).items() if said}
        return {"name": self.method, **shared, "seed": self.seed, **_slots(self.pipeline, self.seeded)}


def _uses(method: Pipeline, home: str = "") -> dict[str, str]:
    """What stands in each slot of a method and, in their order, its alternatives."""
    names = {slot: [one.stage.name for one in method.in_slot(slot)] for slot in SLOTS}
    found = {f"{home}{slot}.use": (" + " if SLOTS[slot].added else " > ").join(own) for slot, own in names.items() if own}
    if method.alternatives:
        found[f"{home}alternatives.use"] = ", ".join(name for name, _ in method.alternatives)
    for name, other in method.alternatives:
        found |= _uses(other, f"{home}alternatives.{name}.")
    return found


def _slots(method: Pipeline, seeded: Sequence[str], home: str = "") -> dict[str, Any]:
    """The slots of a method, and its alternatives, as a script writes them."""
    found: dict[str, list[tuple[Step, bool]]] = {}
    for address, one in method.own_stages(home):
        found.setdefault(one.stage.slot, []).append((one, address in seeded))
    others = {name: _slots(other, seeded, f"{home}alternatives.{name}.") for name, other in method.alternatives}
    return {slot: written(slot, own) for slot, own in found.items()} | ({"alternatives": others} if others else {})


def written(slot: str, steps: Sequence[tuple[Step, bool]]) -> Any:
    """Stages of a slot as a script writes them, with all their parameters but the seeds that were filled in, as is told of each."""
    found = [
        {"use": one.stage.name, **{k: v for k, v in one.parameters.items() if not (filled and k == "seed")}}
        for one, filled in steps
    ]
    return found if SLOTS[slot].many or (steps and steps[0][0].added) else found[0] if found else None


class MethodSettings:
    """All settings of a method that was checked: one for each choice of a value from every group of axes.

    Parameters
    ----------
    method : Method
    shared, protocols
        As of a `Setting`.
    """

    def __init__(self, method: Method, shared: dict[str, Any], protocols: tuple[Protocol, ...]):
        self.method, self.groups, self._method, self._shared, self.protocols = (
            method.name,
            method.groups,
            method,
            shared,
            protocols,
        )
        # Where no axis changes it all runs share one.
        self._search: dict[str, float] = {key: node.value for key, node in method.said.search.items()}  # type: ignore[misc]
        placed = [(g, axis) for g, group in enumerate(self.groups) for axis in group]
        self._names = [axis.name for _, axis in placed]
        # Per slot, and for search and seed: the axes that change it.
        self._axes: dict[str, list[tuple[int, Axis]]] = collections.defaultdict(list)
        for g, axis in placed:
            self._axes[slot_of(axis.name)].append((g, axis))
        # Where every group of axes changes some slot no pipeline comes twice, and none needs be kept for it.
        self._all_differ = {g for g, axis in placed if split(axis.name)[1] in SLOTS} == set(range(len(self.groups)))
        self._steps: dict[Step, Step] = {}
        self._slots: dict[tuple[Any, ...], tuple[_Steps, dict[str, Any]]] = {}
        self._pipelines: dict[tuple[Any, ...], tuple[Pipeline, tuple[str, ...]]] = {}

    def __iter__(self) -> Iterator[Setting]:
        """The runs in the order of the axes: the last axis varies fastest. There must be no continuous one."""
        return map(self.run, itertools.product(*(range(len(group[0].values)) for group in self.groups)))

    def run(self, choice: Sequence[float]) -> Setting:
        """The run of one choice: for each group an index or, where its axis is continuous, the value."""
        values = {axis.name: axis.at(choice[g]).value for word in ("search", "seed") for g, axis in self._axes[word]}
        changed = {axis.name.removeprefix("search."): values[axis.name] for _, axis in self._axes["search"]}
        seed = values.get("seed", self._method.said.seed or 0)
        pipeline, seeded = self._pipeline(choice, seed, values)
        axes = {name: values[name] for name in self._names}
        search = self._search | changed if changed else self._search
        return Setting(self.method, pipeline, search, seed, axes, self._shared, self.protocols, seeded)

    def _pipeline(
        self, choice: Sequence[float], seed: int, values: dict[str, Any], home: str = ""
    ) -> tuple[Pipeline, tuple[str, ...]]:
        """The pipeline of one choice of values, and the addresses that the seed was filled into; notes the axes' values in `values`."""
        inner = alternatives_of(home, self._method.said.homes)
        others = {name: self._pipeline(choice, seed, values, within) for name, within in inner.items()}
        chosen: list[tuple[Step, bool]] = []
        for slot in SLOTS:
            key = (home + slot, seed, *(choice[g] for g, _ in self._axes[home + slot]))
            if key not in self._slots:
                self._slots[key] = self._slot(home + slot, choice, seed)
            steps, shown = self._slots[key]
            chosen += steps
            values.update(shown)
        which = (home, *(id(other) for other, _ in others.values()), *chosen)
        if which in self._pipelines:
            return self._pipelines[which]
        pipeline = Pipeline([one for one, _ in chosen], {name: other for name, (other, _) in others.items()})
        own = [address for (address, _), (_, filled) in zip(pipeline.own_stages(home), chosen, strict=True) if filled]
        made = pipeline, (*itertools.chain.from_iterable(addresses for _, addresses in others.values()), *own)
        if home or not self._all_differ:
            self._pipelines[which] = made
        return made

    def _slot(self, slot: str, choice: Sequence[float], seed: int) -> tuple[_Steps, dict[str, Any]]:
        """Stages of a slot, each with whether the seed was filled in, and the values of the axes that chose them. Runs share equal steps."""
        axes = {axis.name: axis.at(choice[g]) for g, axis in self._axes[slot]}
        whole = axes.pop(slot, None)
        specs: list[Spec] = list((self._method.said.slots.get(slot) or ()) if whole is None else whole)
        set_by: dict[str, tuple[int, str]] = {}
        for name, value in axes.items():
            found = locate(slot, tuple(specs), name.removeprefix(f"{slot}."))
            assert not isinstance(found, str), "axes were checked"
            i, key = set_by[name] = found
            specs[i] = specs[i].having(key, parameter(specs[i], key, value)[0])
        made = [(spec.seeded(seed).step(), spec.takes_seed) for spec in specs]
        steps = tuple((self._steps.setdefault(one, one), filled) for one, filled in made)
        shown = {} if whole is None else {slot: show(whole)}
        return steps, shown | {name: steps[i][0].parameters[key] for name, (i, key) in set_by.items()}


def show(specs: tuple[Spec, ...]) -> str:
    """Stages in short, as an axis shows them: names and what differs from the defaults, ``box(size=21) > min_filter``.

    Costs that are added are joined by a plus: ``census(weight=2) + rank``; a list of a single one is shown as ``[census]``.
    """
    shown = list(map(_show_one, specs))
    if specs and specs[0].added:
        return " + ".join(shown) if len(shown) > 1 else f"[{shown[0]}]"
    return " > ".join(shown) or "none"


def _show_one(spec: Spec) -> str:
    defaults = replace(spec, parameters={}).step().parameters
    own = [f"{k}={_text(v)}" for k, v in spec.step().parameters.items() if _text(v) != _text(defaults[k])]
    return f"{spec.stage.name}({', '.join(own)})" if own else spec.stage.name


def _text(value: Any) -> str:
    """A value as one would write it: 20, not 20.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return shortest(value)
    return spelled(value) if isinstance(value, bool | None) else repr(value)
