"""From methods with axes to runs: one setting each, ready to be computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.parameters import spelled
from stereo_framework.core.stage import SLOTS
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step
from stereo_framework.evaluation.protocols import Protocol, shortest
from stereo_framework.script.addresses import alternatives_of, slot_of
from stereo_framework.script.methods import Method, locate
from stereo_framework.script.specs import Spec, parameter


@dataclass(frozen=True)
class Common:
    """What all runs of a script share.

    Parameters
    ----------
    search : dict of str to float
        ``minimum``, ``maximum``, ``step`` in pixels and ``truth_margin``, as far as the script sets them.
    protocols : tuple of Protocol
        Empty: that of the scene.
    specification : object
        The protocols as the script writes them; None where it leaves them to the scenes.
    plugins : tuple of str
        Modules and absolute paths.
    """

    search: Mapping[str, float]
    protocols: tuple[Protocol, ...]
    specification: Any
    plugins: tuple[str, ...]

    def mapping(self, search: Mapping[str, float]) -> dict[str, Any]:
        """What stands in a script for it, with this search."""
        said = {
            "plugins": list(self.plugins),
            "search": dict(search),
            "evaluation": None if self.specification is None else {"protocol": self.specification},
        }
        return {key: value for key, value in said.items() if value}


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
    protocols : tuple of Protocol
        Empty: the protocol of the scene.
    seed : int
        Of the script; fills the ``seed`` of stages that were not given one.
    axes : dict of str to object
        Values of what was swept, by address. A whole stage is shown by its name and what differs from its defaults.
    common : Common
    seeded : tuple of str
        Addresses of the stages that `seed` was filled into.
    """

    method: str
    pipeline: Pipeline
    search: dict[str, float]
    protocols: tuple[Protocol, ...]
    seed: int
    axes: dict[str, Any]
    common: Common
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
        shared = self.common.mapping(self.search)
        return {"name": self.method, **shared, "seed": self.seed, **_slots(self.pipeline, self.seeded)}


def _uses(method: Pipeline, home: str = "") -> dict[str, str]:
    """What stands in each slot of a method and, in their order, its alternatives."""
    names: dict[str, list[str]] = {}
    for _, bound in method.own_stages():
        names.setdefault(bound.stage.slot, []).append(bound.stage.name)
    found = {f"{home}{slot}.use": (" + " if SLOTS[slot].added else " > ").join(own) for slot, own in names.items()}
    if method.alternatives:
        found[f"{home}alternatives.use"] = ", ".join(name for name, _ in method.alternatives)
    for name, other in method.alternatives:
        found |= _uses(other, f"{home}alternatives.{name}.")
    return found


def _slots(method: Pipeline, seeded: Sequence[str], home: str = "") -> dict[str, Any]:
    """The slots of a method, and its alternatives, as a script writes them."""
    found: dict[str, Any] = {}
    for address, bound in method.own_stages():
        slot = bound.stage.slot
        written = stage_mapping(bound, seed=home + address not in seeded)
        if SLOTS[slot].many or bound.added:
            found.setdefault(slot, []).append(written)
        else:
            found[slot] = written
    others = {name: _slots(other, seeded, f"{home}alternatives.{name}.") for name, other in method.alternatives}
    return {**found, "alternatives": others} if others else found


def stage_mapping(bound: Step, *, seed: bool) -> dict[str, Any]:
    """A stage as a script writes it, with all its parameters; its seed only on demand."""
    return {"use": bound.stage.name, **{k: v for k, v in bound.parameters.items() if seed or k != "seed"}}


class MethodSettings:
    """All settings of a method that was checked: one for each choice of a value from every group of axes.

    Parameters
    ----------
    method : Method
    common : Common
    """

    def __init__(self, method: Method, common: Common):
        self.method, self.groups = method.name, method.groups
        self._seed, self.common, self._builder = method.seed, common, _Builder(method)
        # Where no axis changes it all runs share one.
        self._search: dict[str, float] = {key: node.value for key, node in method.search.items()}  # type: ignore[misc]
        placed = [(g, axis) for g, group in enumerate(self.groups) for axis in group]
        self._names = [axis.name for _, axis in placed]
        self._searches = [(g, axis) for g, axis in placed if axis.name.startswith("search.")]
        self._seeds = [(g, axis) for g, axis in placed if axis.name == "seed"]

    def __iter__(self) -> Iterator[Setting]:
        """The runs in the order of the axes: the last axis varies fastest. There must be no continuous one."""
        return map(self.run, itertools.product(*(range(len(group[0].values)) for group in self.groups)))

    def run(self, choice: Sequence[float]) -> Setting:
        """The run of one choice: for each group an index or, where its axis is continuous, the value."""
        seed = next((axis.at(choice[g]).value for g, axis in self._seeds), self._seed)
        values: dict[str, Any] = {"seed": seed}
        search = dict(self._search) if self._searches else self._search
        for g, axis in self._searches:
            values[axis.name] = search[axis.name.removeprefix("search.")] = axis.at(choice[g]).value
        pipeline, seeded = self._builder.pipeline(tuple(choice), seed, values)
        axes = {name: values[name] for name in self._names}
        return Setting(self.method, pipeline, search, self.common.protocols, seed, axes, self.common, seeded)


class _Builder:
    """Makes pipelines of a method; slots that several runs share are bound once."""

    def __init__(self, method: Method):
        self.method = method
        self.bounds: dict[str, Step] = {}
        self.slots: dict[tuple[Any, ...], tuple[tuple[Step, ...], dict[str, Any], tuple[int, ...]]] = {}
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.pipelines: dict[tuple[Any, ...], tuple[Pipeline, tuple[str, ...]]] = {}
        # Per slot: the groups of axes that change it.
        self.relevant = {
            slot: [g for g, group in enumerate(method.groups) if any(slot_of(axis.name) == slot for axis in group)]
            for slot in (home + slot for home in method.homes for slot in SLOTS)
        }
        # Where every axis changes some slot no pipeline comes twice, and none needs be kept for it.
        self.all_differ = set().union(*self.relevant.values()) == set(range(len(method.groups)))

    def pipeline(
        self, choice: tuple[float, ...], seed: int, values: dict[str, Any], home: str = ""
    ) -> tuple[Pipeline, tuple[str, ...]]:
        """The pipeline of one choice of values, and the addresses that the seed was filled into; notes the axes' values in `values`."""
        inner = alternatives_of(home, self.method.homes)
        others = {name: self.pipeline(choice, seed, values, within) for name, within in inner.items()}
        chosen: dict[str, tuple[Step, ...]] = {}
        seeded: dict[str, tuple[int, ...]] = {}
        for slot in SLOTS:
            key = (home + slot, seed, *(choice[g] for g in self.relevant[home + slot]))
            if key not in self.slots:
                self.slots[key] = self._slot(home + slot, choice, seed)
            chosen[slot], shown, seeded[slot] = self.slots[key]
            values.update(shown)
        if not home and self.all_differ:
            return self._made(home, chosen, seeded, others)
        # There are as many keys as pipelines, and few different slots.
        stands = ((*map(id, bounds), seeded[slot]) for slot, bounds in chosen.items())
        key = (
            home,
            *(id(other) for other, _ in others.values()),
            *(self.numbers.setdefault(s, len(self.numbers)) for s in stands),
        )
        if key not in self.pipelines:
            self.pipelines[key] = self._made(home, chosen, seeded, others)
        return self.pipelines[key]

    def _made(
        self,
        home: str,
        chosen: Mapping[str, tuple[Step, ...]],
        seeded: Mapping[str, tuple[int, ...]],
        others: Mapping[str, tuple[Pipeline, tuple[str, ...]]],
    ) -> tuple[Pipeline, tuple[str, ...]]:
        pipeline = Pipeline(chosen.values(), {name: other for name, (other, _) in others.items()})
        by_seed = [i in seeded[slot] for slot, bounds in chosen.items() for i in range(len(bounds))]
        own = [home + address for (address, _), its in zip(pipeline.own_stages(), by_seed, strict=True) if its]
        below = [address for _, addresses in others.values() for address in addresses]
        return pipeline, (*below, *own)

    def _slot(self, slot: str, choice: tuple[float, ...], seed: int) -> tuple[tuple[Step, ...], dict[str, Any], tuple[int, ...]]:
        """Stages of a slot, the values of the axes that chose them, and the indices of those that the seed was filled into."""
        axes = [(axis, axis.at(choice[g])) for g in self.relevant[slot] for axis in self.method.groups[g]]
        specs: list[Spec] = list(self.method.slots.get(slot) or ())
        shown: dict[str, Any] = {}
        for axis, value in axes:
            if axis.name == slot:
                specs = list(value)
                shown[slot] = show(value)
        set_by: dict[str, tuple[int, str]] = {}
        for axis, value in axes:
            if slot_of(axis.name) == slot and axis.name != slot:
                rest = axis.name.removeprefix(f"{slot}.")
                i, name = set_by[axis.name] = _checked(locate(slot, tuple(specs), rest))
                specs[i] = specs[i].having(name, parameter(specs[i], name, value)[0])
        seeded = tuple(i for i, spec in enumerate(specs) if spec.takes_seed)
        bounds = tuple(self._bound(spec.seeded(seed)) for spec in specs)
        shown.update({name: bounds[i].parameters[key] for name, (i, key) in set_by.items()})
        return bounds, shown, seeded

    def _bound(self, spec: Spec) -> Step:
        bound = spec.step()
        return self.bounds.setdefault(f"{bound.stage.slot}.{bound!r}", bound)


def _checked(found: tuple[int, str] | str) -> tuple[int, str]:
    if isinstance(found, str):
        raise TypeError(found)  # an axis that was not checked: a bug here
    return found


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
