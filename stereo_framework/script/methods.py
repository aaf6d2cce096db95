"""Methods as they run: the top of a script merged under each of them, and all their settings."""

from __future__ import annotations

import collections
import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.scene import Search
from stereo_framework.core.stage import NO_SMOOTHNESS, SLOTS, VOLUME_SLOTS
from stereo_framework.core.stage import stages as registered
from stereo_framework.engine.pipeline import Pipeline, misfits
from stereo_framework.engine.step import Step
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.io.places import Faults, Node, Place, join
from stereo_framework.script.addresses import is_slot, names, slot_of, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.document import Document, merge
from stereo_framework.script.settings import Setting, show
from stereo_framework.script.specs import Specs, locate, parameter

_Steps = tuple[tuple[Step, bool], ...]
"""The steps of a slot, each with whether the script's seed was filled in."""


class _Slot(NamedTuple):
    """The stages of a slot in some settings; runs share equal steps."""

    specs: Specs
    steps: _Steps
    shown: dict[str, Any]
    """Values of the axes that chose them, by address."""


class Method:
    """One method of a script, and its settings: one for each choice of a value from every group of axes.

    Parameters
    ----------
    name : str
    said : Document
        What the script says about it, at its top and in the method itself.
    own : collection of str
        Names of the axes that are the method's own; the others are those of the whole script, which vary slower.
    faults : Faults
        Gets what is wrong with its settings, while they are made.
    """

    def __init__(self, name: str, said: Document, own: Collection[str], faults: Faults):
        self.name, self.said, self.own, self.faults, self._fault = name, said, own, faults, faults.add

    @property
    def own_groups(self) -> list[list[Axis]]:
        """The method's own axes: each of a grid is a group of its own, those of a zip are one group. The last group varies fastest."""
        return _groups([self.said.axes[name] for name in self.own])

    @property
    def groups(self) -> list[list[Axis]]:
        """All groups of axes, those of the script's top first."""
        return _groups([axis for name, axis in self.said.axes.items() if name not in self.own]) + self.own_groups

    def no_home(self, home: str) -> str | None:
        """What is wrong with an address in an alternative that the method does not have."""
        found = self.said
        for name in names(home):
            if name not in found.alternatives:
                legal = nearest(name, found.alternatives, kind="alternatives")
                return f"addresses nothing: no alternative {name!r}; {legal} (method {self.name!r})"
            found = found.alternatives[name]
        return None

    def put(self, slot: str, specs: Specs, rest: str, node: Node, place: Place) -> tuple[Specs, int, str]:
        """The stages of a slot with another value of one parameter, which stage has it, and its name there.

        Parameters
        ----------
        slot : str
            Its address.
        specs : tuple of Spec
        rest : str
            The address of the parameter after the slot.
        node : Node
            The value.
        place : Place
            Of the address. What is wrong with either is reported, and nothing changed.
        """
        if specs is None:
            return specs, 0, ""
        found = locate(slot, specs, rest)
        if isinstance(found, str):
            self._fault(place, f"{found} (method {self.name!r})")
            return specs, 0, ""
        i, name = found
        value, message = parameter(specs[i], name, node)
        if message:
            self._fault(node.place, message)
            return specs, 0, ""
        return (*specs[:i], specs[i].having(name, value), *specs[i + 1 :]), i, name

    def set(self, address: str, node: Node) -> None:
        """Set a parameter in every stage that may stand at its address: the slot's own or, where the slot is swept, each of those."""
        home, word, rest = split(address)
        own, slot = self.said.at(home), home + word
        if own is None:
            self._fault(node.place, str(self.no_home(home)))
        elif axis := self.said.axes.get(slot):
            values = tuple(self.put(slot, specs, rest, node, node.place)[0] for specs in axis.values)
            self.said.axes[slot] = replace(axis, values=values)
        else:
            own.slots[word] = self.put(slot, own.slots.get(word, ()), rest, node, node.place)[0]

    def settings(
        self, shared: dict[str, Any], protocols: tuple[Protocol, ...], *, complete: bool, tuning: bool
    ) -> tuple[Setting, ...]:
        """All settings, in the order of the axes: the last one varies fastest. What is wrong with them is reported.

        Parameters
        ----------
        shared, protocols
            As of a `Setting`.
        complete : bool
            False where something included could not be read, so that an empty slot means nothing.
        tuning : bool
            Return none, as a choice will be made among any number of them.
        """
        self.shared, self.protocols, self._complete, self._tuning = shared, protocols, complete, tuning
        # An axis without values has a fault.
        filled = ([axis for axis in group if axis.values] for group in self.groups)
        groups = [group for group in filled if group]
        counts = [min(len(axis.values) for axis in group) for group in groups]
        # Where no axis changes it all runs share one.
        self._search: dict[str, float] = {key: node.value for key, node in self.said.search.items()}  # type: ignore[misc]
        placed = [(g, axis) for g, group in enumerate(groups) for axis in group]
        self._names = [axis.name for _, axis in placed]
        # Per slot, and for search and seed: the axes that change it, that of the whole slot first.
        self._axes: dict[str, list[tuple[int, Axis]]] = collections.defaultdict(list)
        for g, axis in sorted(placed, key=lambda one: not is_slot(one[1].name)):
            self._axes[slot_of(axis.name)].append((g, axis))
        # Where every group of axes changes some slot no pipeline comes twice, and none needs be kept for it.
        self._all_differ = {g for g, axis in placed if split(axis.name)[1] in SLOTS} == set(range(len(groups)))
        self._steps: dict[Step, Step] = {}
        self._slots: dict[tuple[Any, ...], _Slot] = {}
        self._pipelines: dict[tuple[Any, ...], tuple[Pipeline, tuple[str, ...]]] = {}
        self._searches: set[tuple[int, ...]] = set()
        self._told: set[str] = set()
        self._draws = False
        for group in self.groups:
            self._check_axes(group)
        found = tuple(map(self._run, _meetings(groups, counts) if tuning else itertools.product(*map(range, counts))))
        seed = self.said.axes.get("seed")
        if seed and not self._draws:
            self._fault(seed.place, f"addresses nothing: no stage of method {self.name!r} draws random numbers")
        return () if tuning else found

    def _check_axes(self, group: list[Axis]) -> None:
        lengths = {axis.name: len(axis.values) for axis in group if axis.values}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            self._fault(group[0].place, f"axes that move together need equally many values: {said}")
        for axis in group:
            if wrong := self.no_home(split(axis.name)[0]):
                self._fault(axis.place, wrong)

    def run(self, choice: Sequence[int]) -> Setting:
        """The run of one choice: an index for each group."""
        found = self._run(choice)
        self.faults.raise_if_any()
        return found

    def _run(self, choice: Sequence[int]) -> Setting:
        values = {axis.name: axis.values[choice[g]] for word in ("search", "seed") for g, axis in self._axes[word]}
        self._check_search({name.removeprefix("search."): node for name, node in values.items() if name != "seed"})
        values = {name: node and node.value for name, node in values.items()}
        changed = {axis.name.removeprefix("search."): values[axis.name] for _, axis in self._axes["search"]}
        seed = values.get("seed", self.said.seed or 0)
        pipeline, seeded = self._pipeline(self.said, choice, seed, values)
        axes = {name: values.get(name) for name in self._names}
        search = self._search | changed if changed else self._search
        return Setting(self.name, pipeline, search, seed, axes, self.shared, self.protocols, seeded)

    def _check_search(self, swept: dict[str, Any]) -> None:
        which = tuple(map(id, swept.values()))
        if which in self._searches:
            return
        self._searches.add(which)
        given = self.said.search | swept
        if None in given.values():
            return
        step = given["step"].value if "step" in given else 1
        try:
            if "minimum" in given and "maximum" in given:
                _ = Search(given["minimum"].value, given["maximum"].value, step).first
            elif "step" in given:
                Search(0, 4 * max(step, 1), step)
        except ParameterError as error:
            key, message = re.fullmatch(r"search\.?(\w*): (.*)", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
            self._fault(given.get(key, list(given.values())[-1]).place, message)

    def _pipeline(
        self, said: Document, choice: Sequence[int], seed: int, values: dict[str, Any], home: str = ""
    ) -> tuple[Pipeline, tuple[str, ...]]:
        """The pipeline of one choice of values, and the addresses that the seed was filled into; notes the axes' values in `values`."""
        others = {
            name: self._pipeline(other, choice, seed, values, f"{home}alternatives.{name}.")
            for name, other in said.alternatives.items()
        }
        slots = {}
        for word in SLOTS:
            key = (home + word, seed, *(choice[g] for g, _ in self._axes[home + word]))
            if key not in self._slots:
                self._slots[key] = self._slot(home + word, said.slots.get(word, ()), choice, seed)
            slots[word] = self._slots[key]
            values.update(slots[word].shown)
        chosen = [one for slot in slots.values() for one in slot.steps]
        which = (home, *(id(other) for other, _ in others.values()), *chosen)
        if which in self._pipelines:
            return self._pipelines[which]
        methods = {name: other for name, (other, _) in others.items()}
        try:
            pipeline = Pipeline([one for one, _ in chosen], methods)
        except ParameterError as error:
            self._tell(said, slots, home)
            if not self.faults:
                self._fault(said.place, str(error))
            # Something in its place, as there may be further faults.
            return Pipeline(["absolute_difference", "winner_take_all"]), ()
        stages = pipeline.own_stages(home)
        own = [address for (address, _), (_, filled) in zip(stages, chosen, strict=True) if filled]
        made = pipeline, (*itertools.chain.from_iterable(addresses for _, addresses in others.values()), *own)
        if not self._tuning:
            self._check_company(pipeline, stages, [spec.place for slot in slots.values() for spec in slot.specs or ()])
        if home or not self._all_differ:
            self._pipelines[which] = made
        return made

    def _slot(self, slot: str, specs: Specs, choice: Sequence[int], seed: int) -> _Slot:
        shown: dict[str, Any] = {}
        set_by: dict[str, tuple[int, str]] = {}
        for g, axis in self._axes[slot]:
            value = axis.values[choice[g]]
            if axis.name == slot:
                specs = value
                shown[slot] = None if specs is None else show(specs)
            else:
                rest = axis.name.removeprefix(f"{slot}.")
                specs, i, key = self.put(slot, specs, rest, value, axis.place)
                set_by[axis.name] = i, key
        made = [(spec.seeded(seed).step(), spec.takes_seed) for spec in specs or ()]
        self._draws |= specs is None or any(filled for _, filled in made)
        steps = tuple((self._steps.setdefault(one, one), filled) for one, filled in made)
        return _Slot(specs, steps, shown | {name: steps[i][0].parameters[key] for name, (i, key) in set_by.items() if key})

    def _tell(self, said: Document, slots: Mapping[str, _Slot], home: str) -> None:
        """Report why the stages at a home cannot stand together."""
        for slot in VOLUME_SLOTS if slots["matcher"].specs == () and self._complete else ():
            if slots[slot].specs == () and not SLOTS[slot].optional:
                names = [stage.name for stage in registered(slot)]
                at = replace(said.place, path=join(said.place.path, slot))
                self._fault(at, f"missing; every method needs one, if it has no matcher; {nearest('', names, kind='stages')}")
        told: dict[str, Any] = {
            slot: f"{specs[0].stage.name}{specs[0].place.told()}"
            for slot in ("matcher", "scheme")
            if (specs := slots[slot].specs)
        }
        own = (spec for slot in slots.values() for spec in slot.specs or ())
        found = [(spec, misfits(spec.stage, **told, alternatives=bool(said.alternatives))) for spec in own]
        # Alternatives run on the same pairs.
        told.pop("matcher", None)
        for (slot, *_), one in self._slots.items():
            if slot.startswith(f"{home}alternatives."):
                found += [(spec, misfits(spec.stage, **told)) for spec in one.specs or ()]
        for spec, wrong in found:
            for message in wrong:
                self._fault(spec.place, f"{message} (method {self.name!r})")

    def _check_company(self, pipeline: Pipeline, stages: Sequence[tuple[str, Step]], places: Sequence[Place]) -> None:
        """Report what only whole settings show: programs, models and maps from outside that are missing, of which nothing is run, and what
        cannot stand together. Of each stage of a method one message is enough.
        """
        smoothness = [one.stage.name for one in pipeline.in_slot("smoothness")]
        for (address, one), place in zip(stages, places, strict=True):
            stage, wrong = one.stage, one.stage.misfit(one.parameters)
            if stage.needs_smoothness and not smoothness:
                wrong = NO_SMOOTHNESS
            for term in stage.refuses_smoothness.intersection(smoothness):
                legal = ", ".join(other.name for other in registered("smoothness") if other.name not in stage.refuses_smoothness)
                wrong = f"cannot take the smoothness term {term}; legal: {legal}"
            wrong = wrong and f"{stage.name}: {wrong}"
            try:
                one.files()
            except ParameterError as error:
                wrong = wrong or str(error)
            if wrong and address not in self._told:
                self._told.add(address)
                self._fault(place, f"{wrong} (method {self.name!r})")


def _meetings(groups: Sequence[list[Axis]], counts: Sequence[int]) -> Iterator[list[int]]:
    """Choices in which every stage, and every search range, meets every value of each other axis."""
    first = [0] * len(groups)
    yield first
    for g, group in enumerate(groups):
        meets = any(is_slot(axis.name) or axis.name.startswith("search.") for axis in group)
        for h in range(len(groups)) if meets else [g]:
            for one, other in itertools.product(range(counts[g]), range(counts[h])):
                yield [one if i == g else other if i == h else 0 for i in range(len(groups))]


def _groups(axes: Sequence[Axis]) -> list[list[Axis]]:
    zipped = [axis for axis in axes if axis.zipped]
    return [[axis] for axis in axes if not axis.zipped] + ([zipped] if zipped else [])


def methods(root: Document, name: str, faults: Faults) -> list[Method]:
    """The methods of a merged script; without ``methods`` it is one itself, called `name`.

    Axes of the top that address what a method cannot have, as one over windows for a method with a matcher, are none of this method's.
    """
    if not root.methods:
        return [Method(name, root, root.axes.keys(), faults)]
    found, lacked_by_all = [], set(root.axes)
    for key, own in root.methods.items():
        whole = merge(replace(root, methods={}), own).copy()
        lacking = {name for name in root.axes if whole.lacks(name)}
        lacked_by_all &= lacking
        whole.drop_axes(lacking - own.axes.keys())
        found.append(Method(key, whole, own.axes.keys(), faults))
    for axis in root.axes.values():
        if axis.name in lacked_by_all:
            wrong = found[0].no_home(split(axis.name)[0])
            faults.add(axis.place, wrong or "addresses nothing: none of the methods has this slot")
    return found


def count_runs(found: Sequence[Method], faults: Faults) -> None:
    """Refuse more runs than can be held, before anything is made of them.

    Raises
    ------
    ScriptError
        With all faults so far: what comes later takes its time by the number of runs.
    """
    counts = [math.prod(len(group[0].values) for group in method.groups) for method in found]
    if sum(counts) > limits.SETTINGS:
        most = found[max(range(len(found)), key=counts.__getitem__)]
        whose = f"of method {most.name!r}" if len(found) == 1 else f"of {len(found)} methods"
        faults.add(most.said.place, f"{sum(counts)} runs {whose}; at most {limits.SETTINGS} are possible")
        faults.raise_if_any()
