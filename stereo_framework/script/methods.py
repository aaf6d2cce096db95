"""Methods as they run: the top of a script merged under each of them, and all their settings."""

from __future__ import annotations

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
from stereo_framework.io.places import Node, Place, join
from stereo_framework.script.addresses import NAME, is_slot, names, slot_of, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.merging import axes, clash, filled, lacks, merge, tree, without_axes
from stereo_framework.script.model import Model
from stereo_framework.script.settings import Setting, as_written, show
from stereo_framework.script.specs import Spec, Specs, locate, parameter, same_run


class _Chosen(NamedTuple):
    """The stages of a slot in some settings, which share its steps."""

    specs: Specs
    steps: tuple[Step, ...]
    seeded: tuple[bool, ...]
    """Whether the script's seed was filled into each."""
    shown: dict[str, Any]
    """Values of the axes that chose them, by address."""


class Method:
    """One method of a script, and its settings: one for each choice of a value from every group of axes.

    Parameters
    ----------
    name : str
    whole : Node
        What the script says about it, at its top and in the method itself.
    own : collection of str
        Names of the axes that are the method's own; the others are those of the whole script, which vary slower.
    model : Model
        Gets what is wrong with its settings, while they are made.

    Attributes
    ----------
    homes : dict of str to Place
        Of the method itself (empty) and of its alternatives.
    slots : dict of str to tuple of Spec
        What stands in them, by address.
    axes : dict of str to Axis
    search : dict of str to Node
    seed : int
    """

    def __init__(self, name: str, whole: Node, own: Collection[str], model: Model):
        self.name, self.whole, self.own, self.faults, self._fault = name, whole, own, model.faults, model.fault
        self.homes = {home: part.place for home, part in tree(whole)}
        self.slots: dict[str, Specs] = {}
        for home, part in tree(whole):
            self.slots |= {home + word: model.slot(word, part.entries[word]) for word in SLOTS if word in part.entries}
            seed = model.seed(part.at("seed")) if home else None
            if clash(filled(whole, home)):
                self.slots |= dict.fromkeys([home + word for word in ("matcher", *VOLUME_SLOTS)])
            if seed is not None:
                for word in SLOTS:
                    specs = self.slots.get(home + word)
                    self.slots[home + word] = specs and tuple(spec.seeded(seed) for spec in specs)
        if "maps" in whole.entries:
            self.slots["matcher"] = model.maps(whole.entries["maps"])
        self.search, self.seed = model.search(whole.at("search")), model.seed(whole.at("seed")) or 0
        self.axes = _each_once(model.sweep(whole.at("sweep")))

    @property
    def own_groups(self) -> list[list[Axis]]:
        """The method's own axes: each of a grid is a group of its own, those of a zip are one group. The last group varies fastest."""
        return _groups([axis for name, axis in self.axes.items() if name in self.own])

    @property
    def groups(self) -> list[list[Axis]]:
        """All groups of axes, those of the script's top first."""
        return _groups([axis for name, axis in self.axes.items() if name not in self.own]) + self.own_groups

    def no_home(self, home: str) -> str | None:
        """What is wrong with an address in an alternative that the method does not have."""
        outer = ""
        for name in names(home):
            if f"{outer}alternatives.{name}." not in self.homes:
                legal = nearest(name, [names(other)[-1] for other in self.under(outer)], kind="alternatives")
                return f"addresses nothing: no alternative {name!r}; {legal} (method {self.name!r})"
            outer += f"alternatives.{name}."
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
        slot = home + word
        if wrong := self.no_home(home):
            self._fault(node.place, wrong)
        elif axis := self.axes.get(slot):
            values = tuple(self.put(slot, specs, rest, node, node.place)[0] for specs in axis.values)
            self.axes[slot] = replace(axis, values=values)
        else:
            self.slots[slot] = self.put(slot, self.slots.get(slot, ()), rest, node, node.place)[0]

    def written(self, axis: Axis) -> list[Any]:
        """The values of an axis as a script writes them, checked."""
        slot = slot_of(axis.name)
        if split(slot)[1] not in SLOTS:
            return [node.value for node in axis.values]
        if slot == axis.name:
            return [as_written(split(slot)[1], specs) for specs in axis.values]
        specs = self.axes[slot].values[0] if slot in self.axes else self.slots[slot]
        put = (self.put(slot, specs, axis.name.removeprefix(f"{slot}."), node, axis.place) for node in axis.values)
        return [changed[i].parameters[name] for changed, i, name in put if changed is not None]

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
        self._prepare()
        for group in self.groups:
            self._check_axes(group)
        counts = [min(len(axis.values) for axis in group) for group in self._moved]
        found = tuple(map(self._run, _meetings(self._moved, counts) if tuning else itertools.product(*map(range, counts))))
        seed = self.axes.get("seed")
        if seed and not self._draws:
            self._fault(seed.place, f"addresses nothing: no stage of method {self.name!r} draws random numbers")
        return () if tuning else found

    def run(self, choice: Sequence[int]) -> Setting:
        """The run of one choice: an index for each group."""
        found = self._run(choice)
        self.faults.raise_if_any()
        return found

    def _prepare(self) -> None:
        """Which axes change what, and nothing made yet."""
        # An axis without values has a fault.
        left = ([axis for axis in group if axis.values] for group in self.groups)
        self._moved = [group for group in left if group]
        placed = [(g, axis) for g, group in enumerate(self._moved) for axis in group]
        self._names = tuple(axis.name for _, axis in placed)
        self._search: dict[str, float] = {key: node.value for key, node in self.search.items()}  # type: ignore[misc]
        # Per slot, and for search and seed: the axes that change it, that of the whole slot first.
        self._changes: dict[str, list[tuple[int, Axis]]] = {}
        for g, axis in sorted(placed, key=lambda one: not is_slot(one[1].name)):
            self._changes.setdefault(slot_of(axis.name), []).append((g, axis))
        # Per home the groups that change its pipeline. Where all do so none comes twice, and none needs be kept for it.
        self._moving = {
            home: [
                g
                for g, group in enumerate(self._moved)
                if any(
                    axis.name == "seed" or (axis.name.startswith(home) and not axis.name.startswith("search.")) for axis in group
                )
            ]
            for home in self.homes
        }
        self._chosen: dict[tuple[Any, ...], _Chosen] = {}
        self._pipelines: dict[tuple[Any, ...], tuple[Pipeline, tuple[str, ...], dict[str, Any]]] = {}
        self._searches: set[tuple[int, ...]] = set()
        self._told: set[str] = set()
        self._draws = False

    def _check_axes(self, group: list[Axis]) -> None:
        lengths = {axis.name: len(axis.values) for axis in group if axis.values}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            self._fault(group[0].place, f"axes that move together need equally many values: {told}")
        for axis in group:
            if wrong := self.no_home(split(axis.name)[0]):
                self._fault(axis.place, wrong)

    def _run(self, choice: Sequence[int]) -> Setting:
        ranges = {axis.name.removeprefix("search."): axis.values[choice[g]] for g, axis in self._changes.get("search", ())}
        self._check_search(ranges)
        changed = {key: node and node.value for key, node in ranges.items()}
        seeds = [axis.values[choice[g]] for g, axis in self._changes.get("seed", ())]
        seed = seeds[0].value if seeds and seeds[0] else self.seed
        pipeline, seeded, shown = self._pipeline("", choice, seed)
        shown = shown | {f"search.{key}": value for key, value in changed.items()} | {"seed": seed}
        values = tuple(shown.get(name) for name in self._names)
        # Where no axis changes it all runs share one.
        search = self._search | changed if changed else self._search
        return Setting(self.name, pipeline, search, seed, self._names, values, self.shared, self.protocols, seeded)

    def _check_search(self, swept: dict[str, Any]) -> None:
        which = tuple(map(id, swept.values()))
        if which in self._searches:
            return
        self._searches.add(which)
        given = self.search | swept
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

    def _pipeline(self, home: str, choice: Sequence[int], seed: int) -> tuple[Pipeline, tuple[str, ...], dict[str, Any]]:
        """The pipeline of one choice of values, the addresses that the seed was filled into, and what the axes chose, by name."""
        key = (home, *(choice[g] for g in self._moving[home]))
        if key in self._pipelines:
            return self._pipelines[key]
        inner = {names(other)[-1]: self._pipeline(other, choice, seed) for other in self.under(home)}
        slots = {word: self._slot(home + word, choice, seed) for word in SLOTS}
        shown = {name: value for slot in slots.values() for name, value in slot.shown.items()}
        for _, _, values in inner.values():
            shown |= values
        seeded = [address for _, addresses, _ in inner.values() for address in addresses]
        try:
            pipeline = Pipeline(
                [one for slot in slots.values() for one in slot.steps], {name: one for name, (one, _, _) in inner.items()}
            )
            fills = (one for slot in slots.values() for one in slot.seeded)
            seeded += [address for (address, _), one in zip(pipeline.own_stages(home), fills, strict=True) if one]
        except ParameterError as error:
            self._tell(home, slots, alternatives=bool(inner))
            if not self.faults:
                self._fault(self.homes[home], str(error))
            # Something in its place, as there may be further faults.
            pipeline = Pipeline(["absolute_difference", "winner_take_all"])
        for optimizer in slots["optimization"].specs or ():
            self._check_smoothness(home, optimizer, slots["smoothness"].specs)
        made = pipeline, tuple(seeded), shown
        if len(key) <= len(self._moving[""]) or home:
            self._pipelines[key] = made
        return made

    def under(self, home: str) -> list[str]:
        """The homes of the alternatives of a home."""
        return [other for other in self.homes if re.fullmatch(re.escape(home) + rf"alternatives\.{NAME}\.", other)]

    def _slot(self, slot: str, choice: Sequence[int], seed: int) -> _Chosen:
        changes = self._changes.get(slot, ())
        key = (slot, seed, *(choice[g] for g, _ in changes))
        if key in self._chosen:
            return self._chosen[key]
        specs, shown = self.slots.get(slot, ()), dict[str, Any]()
        set_by: dict[str, tuple[int, str]] = {}
        for g, axis in changes:
            value = axis.values[choice[g]]
            if axis.name == slot:
                specs = value
                shown[slot] = None if specs is None else show(specs)
            else:
                rest = axis.name.removeprefix(f"{slot}.")
                specs, i, name = self.put(slot, specs, rest, value, axis.place)
                set_by[axis.name] = i, name
        steps = tuple(spec.seeded(seed).step() for spec in specs or ())
        fills = tuple(spec.takes_seed for spec in specs or ())
        self._draws |= specs is None or any(fills)
        shown |= {name: steps[i].parameters[key] for name, (i, key) in set_by.items() if key}
        for i, (spec, one) in enumerate(zip(specs or (), steps, strict=True)):
            self._check_alone(f"{slot} {i}", spec.place, one)
        found = self._chosen[key] = _Chosen(specs, steps, fills, shown)
        return found

    def _check_alone(self, where: str, place: Place, one: Step) -> None:
        """Report what only whole settings show: parameters that cannot stand together, and programs, models and maps from outside that are missing."""
        if self._tuning:
            return
        if misfit := one.stage.misfit(one.parameters):
            self._once(where, place, f"{one.stage.name}: {misfit}")
        try:
            one.files()
        except ParameterError as error:
            self._once(where, place, str(error))

    def _check_smoothness(self, home: str, optimizer: Spec, terms: Specs) -> None:
        """Report an optimizer that needs a smoothness term, or cannot take the one that there is."""
        if terms is None or self._tuning:
            return
        where = f"{home}optimization 0"
        stage, refused = (
            optimizer.stage,
            [spec.stage.name for spec in terms if spec.stage.name in optimizer.stage.refuses_smoothness],
        )
        if stage.needs_smoothness and not terms:
            self._once(where, optimizer.place, f"{stage.name}: {NO_SMOOTHNESS}")
        if refused:
            legal = ", ".join(other.name for other in registered("smoothness") if other.name not in stage.refuses_smoothness)
            self._once(where, optimizer.place, f"{stage.name}: cannot take the smoothness term {refused[0]}; legal: {legal}")

    def _once(self, where: str, place: Place, message: str) -> None:
        """Of each stage of a method one message is enough."""
        if where not in self._told:
            self._told.add(where)
            self._fault(place, f"{message} (method {self.name!r})")

    def _tell(self, home: str, slots: Mapping[str, _Chosen], *, alternatives: bool) -> None:
        """Report why the stages at a home cannot stand together."""
        for slot in VOLUME_SLOTS if slots["matcher"].specs == () and self._complete else ():
            if slots[slot].specs == () and not SLOTS[slot].optional:
                names = [stage.name for stage in registered(slot)]
                at = replace(self.homes[home], path=join(self.homes[home].path, slot))
                self._fault(at, f"missing; every method needs one, if it has no matcher; {nearest('', names, kind='stages')}")
        told: dict[str, Any] = {
            slot: f"{specs[0].stage.name}{specs[0].place.told()}"
            for slot in ("matcher", "scheme")
            if (specs := slots[slot].specs)
        }
        own = (spec for slot in slots.values() for spec in slot.specs or ())
        found = [(spec, misfits(spec.stage, **told, alternatives=alternatives)) for spec in own]
        # Alternatives run on the same pairs.
        told.pop("matcher", None)
        for (slot, *_), one in self._chosen.items():
            if slot.startswith(f"{home}alternatives."):
                found += [(spec, misfits(spec.stage, **told)) for spec in one.specs or ()]
        for spec, wrong in found:
            for message in wrong:
                self._fault(spec.place, f"{message} (method {self.name!r})")


def _each_once(axes: dict[str, Axis]) -> dict[str, Axis]:
    """The same axes; those that move together have every row of their values once, as others that moved with them may be gone."""
    zipped = [axis for axis in axes.values() if axis.zipped]
    if len({len(axis.values) for axis in zipped}) != 1:
        return axes
    rows: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for row in zip(*(axis.values for axis in zipped), strict=True):
        rows.setdefault(tuple(map(same_run, row)), row)
    columns = zip(*rows.values(), strict=True)
    return axes | {axis.name: replace(axis, values=values) for axis, values in zip(zipped, columns, strict=False)}


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


def methods(root: Node, name: str, model: Model) -> list[Method]:
    """The methods of a merged script; without ``methods`` it is one itself, called `name`.

    Axes of the top that address what a method cannot have, as one over windows for a method with a matcher, are none of this method's.
    """
    entries = root.at("methods").entries
    if not entries:
        return [Method(name, root, axes(root), model)]
    top = replace(root, value={key: value for key, value in root.entries.items() if key != "methods"})
    found, lacked_by_all = [], set(axes(root))
    for key, own in entries.items():
        whole = merge(top, own)
        lacking = {name for name in axes(root) if lacks(whole, name)}
        lacked_by_all &= lacking
        found.append(Method(key, without_axes(whole, lacking - axes(own).keys()), axes(own), model))
    for name in lacked_by_all:
        place = next(root.at("sweep", kind).key(name) for kind in ("grid", "zip") if name in root.at("sweep", kind).entries)
        model.fault(place, found[0].no_home(split(name)[0]) or "addresses nothing: none of the methods has this slot")
    return found


def count_runs(found: Sequence[Method], model: Model) -> None:
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
        model.fault(most.homes[""], f"{sum(counts)} runs {whose}; at most {limits.SETTINGS} are possible")
        model.faults.raise_if_any()
