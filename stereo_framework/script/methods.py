"""Methods as they run: the top of a script merged under each of them, overrides applied, axes checked against their stages."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core import stage as _stage
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.scene import Search
from stereo_framework.core.stage import SLOTS, VOLUME_SLOTS
from stereo_framework.engine.pipeline import misfits
from stereo_framework.script.addresses import alternatives_of, homes_around, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.document import Document, merge
from stereo_framework.script.overrides import Assignment
from stereo_framework.script.places import Faults, Node, Place, join
from stereo_framework.script.specs import Spec, Specs, no_parameter, parameter


@dataclass
class Method:
    """One method of a script.

    Parameters
    ----------
    name : str
    said : Document
        What the script says about it, at its top and in the method itself.
    own : sequence of str
        Names of the axes that are the method's own; the others are those of the whole script, which vary slower.
    """

    name: str
    said: Document
    own: Sequence[str]

    @property
    def own_groups(self) -> list[list[Axis]]:
        """The method's own axes: each of a grid is a group of its own, those of a zip are one group. The last group varies fastest."""
        return _groups([self.said.axes[name] for name in self.own])

    @property
    def groups(self) -> list[list[Axis]]:
        """All groups of axes, those of the script's top first."""
        return _groups([axis for name, axis in self.said.axes.items() if name not in self.own]) + self.own_groups

    def possible(self, slot: str) -> Sequence[Specs]:
        """The stages that may stand in a slot: those of its axis or the slot's own."""
        axis = self.said.axes.get(slot)
        return axis.values if axis else (self.said.slots.get(slot, ()),)


def _groups(axes: Sequence[Axis]) -> list[list[Axis]]:
    zipped = [axis for axis in axes if axis.zipped]
    return [[axis] for axis in axes if not axis.zipped] + ([zipped] if zipped else [])


def methods(root: Document, name: str, faults: Faults) -> list[Method]:
    """The methods of a merged script; without ``methods`` it is one itself, called `name`.

    Axes of the top that address what a method cannot have, as one over windows for a method with a matcher, are none of this method's.
    """
    if not root.methods:
        return [Method(name, root, tuple(root.axes))]
    found, lacked_by_all = [], set(root.axes)
    for key, own in root.methods.items():
        whole = merge(replace(root, methods={}), own)
        lacking = {name for name in root.axes if whole.lacks(name)}
        lacked_by_all &= lacking
        whole.drop_axes(lacking - own.axes.keys())
        found.append(Method(key, whole, tuple(own.axes)))
    for axis in root.axes.values():
        if axis.name in lacked_by_all:
            faults.add(
                axis.place, _no_home(found[0], split(axis.name)[0]) or "addresses nothing: none of the methods has this slot"
            )
    return found


def assign(method: Method, assignment: Assignment, faults: Faults) -> None:
    """Set a parameter in every stage that may stand at its address: the slot's own or, where the slot is swept, each of those."""
    home, word, rest = split(assignment.name)
    slot = home + word
    if wrong := _no_home(method, home):
        faults.add(assignment.node.place, wrong)
        return

    def changed(specs: Specs) -> Specs:
        if specs is None:
            return None
        found = locate(slot, specs, rest)
        if isinstance(found, str):
            faults.add(assignment.node.place, f"{found} (method {method.name!r})")
            return specs
        i, name = found
        value, message = parameter(specs[i], name, assignment.node)
        if message:
            faults.add(assignment.node.place, message)
            return specs
        return (*specs[:i], specs[i].having(name, value), *specs[i + 1 :])

    if slot in method.said.axes:
        method.said.axes[slot] = replace(method.said.axes[slot], values=tuple(map(changed, method.said.axes[slot].values)))
    else:
        method.said.slots[slot] = changed(method.said.slots.get(slot, ()))


def locate(slot: str, specs: Specs, rest: str) -> tuple[int, str] | str:
    """Which stage and parameter of a slot an address means.

    Parameters
    ----------
    slot : str
        Its address.
    specs : tuple of Spec
        The stages that stand there.
    rest : str
        The address after the slot: ``truncation``; where several stages may stand ``box.size`` or ``0.size``, or ``size`` if one of them has it.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and name of the parameter, or what is wrong.
    """
    if not specs:
        return f"addresses nothing: there is no {slot} stage"
    index = 0
    if SLOTS[split(slot)[1]].many or specs[0].added:
        name, _, rest = rest.partition(".")
        names = [spec.stage.name for spec in specs]
        if name.isdecimal():
            index = int(name)
            if index >= len(names):
                return f"addresses nothing: {slot} has {len(names)} stages, the last one is {slot}.{len(names) - 1}"
        elif names.count(name) > 1:
            where = " or ".join(f"{slot}.{i}.{rest}".rstrip(".") for i, other in enumerate(names) if other == name)
            return f"{name!r} occurs {names.count(name)} times in {slot}; write {where}"
        elif name in names:
            index = names.index(name)
        elif having := [i for i, spec in enumerate(specs) if name in spec.legal and not rest]:
            # A parameter that a single one of them has needs no stage's name.
            if len(having) > 1:
                where = " and ".join(f"{slot}.{names[i]}.{name}" for i in having)
                return f"{where} have it; say which"
            index, rest = having[0], name
        else:
            return f"addresses nothing: {slot} has no stage {name!r}; {nearest(name, names, kind='stages there')}"
    else:
        rest = rest.removeprefix(f"{specs[0].stage.name}.")
    spec = specs[index]
    if rest == "use" and rest not in spec.legal:
        return f"'use' is no parameter; give the stages at {slot} itself"
    if not rest:
        return f"addresses the whole stage {spec.stage.name}; {nearest('', spec.legal, kind='parameters of it')}"
    return (index, rest) if rest in spec.legal else no_parameter(spec, rest)


def check(method: Method, faults: Faults, *, complete: bool = True, tuning: bool = False) -> None:
    """Check what only the merged method shows: all slots filled, every axis fits every stage that it may meet, every search range.

    Parameters
    ----------
    method : Method
    faults : Faults
    complete : bool
        False where something included could not be read, so that an empty slot means nothing.
    tuning : bool
        Allow continuous axes and any number of settings: not all of them will be run.
    """
    for home, place in method.said.homes.items():
        if complete:
            _check_complete(method, home, place, faults)
        _check_company(method, home, faults)
    for group in method.groups:
        _check_lengths(group, faults)
        for axis in group:
            home, word, rest = split(axis.name)
            if axis.scale and not tuning:
                listed = "a run needs a list of values, {range: ...}, {linspace: ...} or {geomspace: ...}"
                faults.add(axis.place, f"only 'tune' searches a continuous axis; {listed}")
            if wrong := _no_home(method, home):
                faults.add(axis.place, wrong)
            elif word in SLOTS and rest:
                _check_parameter_axis(method, axis, faults)
            elif word == "seed" and not _draws(method):
                faults.add(axis.place, f"addresses nothing: no stage of method {method.name!r} draws random numbers")
    _check_search(method, faults)


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


def _no_home(method: Method, home: str) -> str | None:
    """What is wrong with an address in an alternative that a method does not have."""
    for inner in reversed(homes_around(home)):
        if inner not in method.said.homes:
            outer, name = inner.removesuffix(".").rsplit("alternatives.", 1)
            legal = alternatives_of(outer, method.said.homes)
            return f"addresses nothing: no alternative {name!r}; {nearest(name, legal, kind='alternatives')} (method {method.name!r})"
    return None


def _check_complete(method: Method, home: str, place: Place, faults: Faults) -> None:
    """Report the slots that a method, or an alternative of it, needs and has not."""
    if () not in method.possible(f"{home}matcher"):
        return
    for slot in VOLUME_SLOTS:
        if not SLOTS[slot].optional and () in method.possible(home + slot):
            names = [stage.name for stage in _stage.stages(slot)]
            at = replace(place, path=join(place.path, slot))
            faults.add(at, f"missing; every method needs one, if it has no matcher; {nearest('', names, kind='stages')}")


def _check_company(method: Method, home: str, faults: Faults) -> None:
    """Report stages of a method, or of an alternative of it, that need what they cannot have there: alternatives where none is named, volumes
    beside a matcher, the scene under a scheme.
    """

    def check(spec: Spec, **company: Any) -> None:
        for wrong in misfits(spec.stage, **company):
            faults.add(spec.place, f"{wrong} (method {method.name!r})")

    named = bool(alternatives_of(home, method.said.homes))
    # A matcher stands in the method itself; schemes may also stand in the methods that it is an alternative of.
    around = [f"{home}matcher", *(f"{outer}scheme" for outer in homes_around(home))]
    for slot in (home + slot for slot in SLOTS):
        for spec in itertools.chain.from_iterable(filter(None, method.possible(slot))):
            check(spec, alternatives=named)
        for other, specs in itertools.chain.from_iterable(_meetings(method, one, slot) for one in around):
            for spec in specs or () if other else ():
                check(spec, **{other[0].stage.slot: f"{other[0].stage.name}{other[0].place.told()}"})


def _draws(method: Method) -> bool:
    """Whether any stage that may stand in a method draws random numbers; of stages with a fault nobody knows."""
    slots = [home + slot for home in method.said.homes for slot in SLOTS]
    return any(specs is None or any(spec.takes_seed for spec in specs) for slot in slots for specs in method.possible(slot))


def _check_lengths(group: list[Axis], faults: Faults) -> None:
    lengths = {axis.name: len(axis.values) for axis in group if axis.values}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        faults.add(group[0].place, f"axes that move together need equally many values: {said}")


def _check_parameter_axis(method: Method, axis: Axis, faults: Faults) -> None:
    home, word, rest = split(axis.name)
    slot = home + word
    checked = set()
    for specs, node in _meetings(method, slot, axis.name):
        if specs is None:
            continue
        found = locate(slot, specs, rest)
        if isinstance(found, str):
            faults.add(axis.place, f"{found} (method {method.name!r})")
            continue
        spec, name = specs[found[0]], found[1]
        if (spec.stage.name, id(node)) not in checked:
            checked.add((spec.stage.name, id(node)))
            _, message = parameter(spec, name, node)
            if message:
                faults.add(node.place, message)
            elif axis.scale:
                middle = Node((axis.values[0].value + axis.values[1].value) / 2, axis.place)
                if parameter(spec, name, middle)[1]:
                    said = f"{name} of {spec.stage.name} takes no values in between; list some or write {{range: [first, last, step]}}"
                    faults.add(axis.place, said)


def _meetings(method: Method, one: str, two: str) -> Iterable[tuple[Any, Any]]:
    """The pairs of values at two addresses that occur in some run, without the other axes' product."""
    first, second = method.said.axes.get(one), method.said.axes.get(two)
    if first and second and any(first in group and second in group for group in method.groups):
        return zip(first.values, second.values, strict=False)
    return itertools.product(method.possible(one), method.possible(two))


def _check_search(method: Method, faults: Faults) -> None:
    swept = [[axis for axis in group if axis.name.startswith("search.")] for group in method.groups]
    choices = [range(len(group[0].values)) for group in swept if group]
    if (count := math.prod(map(len, choices))) > limits.SETTINGS:
        faults.add(method.said.place, f"{count} search ranges of method {method.name!r}; at most {limits.SETTINGS} are possible")
        return
    for combination in itertools.product(*choices):
        given = dict(method.said.search)
        for i, group in zip(combination, filter(None, swept), strict=True):
            given.update({axis.name.removeprefix("search."): axis.values[i] for axis in group if i < len(axis.values)})
        if None not in given.values():
            _check_range(given, faults)


def _check_range(given: Mapping[str, Node], faults: Faults) -> None:
    step = given["step"].value if "step" in given else 1
    try:
        if "minimum" in given and "maximum" in given:
            _ = Search(given["minimum"].value, given["maximum"].value, step).first  # type: ignore[arg-type]
        elif "step" in given:
            Search(0, 4 * max(step, 1), step)  # type: ignore[arg-type,type-var,operator]
    except ParameterError as error:
        key, message = re.fullmatch(r"search\.?(\w*): (.*)", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
        faults.add(given.get(key, list(given.values())[-1]).place, message)
