"""Methods as they run: the top of a script merged under each of them, overrides applied, axes checked against their stages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework import stage as _stage
from stereo_framework.errors import ParameterError, nearest
from stereo_framework.scene import Search
from stereo_framework.script.axes import MOST, Axis
from stereo_framework.script.document import Document, Specs, no_parameter, parameter
from stereo_framework.script.include import merge_slots
from stereo_framework.script.overrides import Assignment
from stereo_framework.script.places import Faults, Node, Place, join
from stereo_framework.stage import SLOTS


@dataclass
class Method:
    """One method of a script.

    Parameters
    ----------
    name : str
    place : Place
    slots : dict of str to Specs
    seed : int
    top, own : list of list of Axis
        Axes of the script's top and of the method itself: each axis of a grid is a group of its own, those of a zip are one
        group. The groups vary independently, the last one fastest.
    """

    name: str
    place: Place
    slots: dict[str, Specs]
    seed: int
    top: list[list[Axis]]
    own: list[list[Axis]]

    @property
    def groups(self) -> list[list[Axis]]:
        """All axes, the script's outside."""
        return self.top + self.own

    def axis(self, name: str) -> Axis | None:
        """The axis of that name."""
        return next((axis for group in self.groups for axis in group if axis.name == name), None)


def methods(root: Document, name: str) -> list[Method]:
    """The methods of a merged script; without ``methods`` it is one itself, called `name`."""
    if not root.methods:
        return [Method(name, root.place, dict(root.slots), root.seed or 0, [], _groups(root.grid, root.zip))]
    found = []
    for key, own in root.methods.items():
        taken = own.grid.keys() | own.zip.keys()
        grid = {k: v for k, v in root.grid.items() if k not in taken}
        zipped = {k: v for k, v in root.zip.items() if k not in taken}
        seed = own.seed if own.seed is not None else root.seed or 0
        slots = merge_slots(root.slots, own.slots)
        found.append(Method(key, own.place, slots, seed, _groups(grid, zipped), _groups(own.grid, own.zip)))
    return found


def _groups(grid: Mapping[str, Axis], zipped: Mapping[str, Axis]) -> list[list[Axis]]:
    return [[axis] for axis in grid.values()] + ([list(zipped.values())] if zipped else [])


def assign(method: Method, assignment: Assignment, faults: Faults) -> None:
    """Set a parameter in every stage that may stand at its address: the slot's own or, where the slot is swept, each of those."""
    slot, _, rest = assignment.name.partition(".")

    def changed(specs: Specs) -> Specs:
        if specs is None:
            return None
        found = locate(slot, specs, rest)
        if isinstance(found, str):
            faults.add(assignment.node.place, f"{found} (method {method.name!r})")
            return specs
        i, name = found
        value, message = parameter(specs[i].stage, name, assignment.node)
        if message:
            faults.add(assignment.node.place, message)
            return specs
        return (*specs[:i], specs[i].having(name, value), *specs[i + 1 :])

    if method.axis(slot) is None:
        method.slots[slot] = changed(method.slots.get(slot, ()))
    for group in method.groups:
        group[:] = [replace(a, values=tuple(map(changed, a.values))) if a.name == slot else a for a in group]


def locate(slot: str, specs: Specs, rest: str) -> tuple[int, str] | str:
    """Which stage and parameter of a slot an address means.

    Parameters
    ----------
    slot : str
    specs : tuple of Spec
        The stages that stand there.
    rest : str
        The address after the slot: ``truncation``; in a slot that takes several stages ``box.size`` or ``0.size``.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and name of the parameter, or what is wrong.
    """
    if not specs:
        return f"addresses nothing: there is no {slot} stage"
    index = 0
    if SLOTS[slot].many:
        name, _, rest = rest.partition(".")
        names = [spec.stage.name for spec in specs]
        if name.isdecimal():
            index = int(name)
            if index >= len(names):
                return f"addresses nothing: {slot} has {len(names)} stages, the last one is {slot}.{len(names) - 1}"
        elif names.count(name) > 1:
            where = " or ".join(f"{slot}.{i}.{rest}".rstrip(".") for i, other in enumerate(names) if other == name)
            return f"{name!r} occurs {names.count(name)} times in {slot}; write {where}"
        elif name not in names:
            return f"addresses nothing: {slot} has no stage {name!r}; {nearest(name, names, kind='stages there')}"
        else:
            index = names.index(name)
    stage = specs[index].stage
    if rest == "use" and rest not in stage.parameters:
        return f"'use' is no parameter; give the stages at {slot} itself"
    if not rest:
        return f"addresses the whole stage {stage.name}; {nearest('', stage.parameters, kind='parameters of it')}"
    return (index, rest) if rest in stage.parameters else no_parameter(stage, rest)


def check(method: Method, search: Mapping[str, Node], faults: Faults, *, complete: bool = True, tuning: bool = False) -> None:
    """Check what only the merged method shows: all slots filled, every axis fits every stage that it may meet, every search range.

    Parameters
    ----------
    method : Method
    search : mapping of str to Node
        The script's ``search``.
    faults : Faults
    complete : bool
        False where something included could not be read, so that an empty slot means nothing.
    tuning : bool
        Allow continuous axes and any number of settings: not all of them will be run.
    """
    for slot, about in SLOTS.items():
        if complete and not about.optional and method.axis(slot) is None and method.slots.get(slot, ()) == ():
            names = [stage.name for stage in _stage.stages(slot)]
            place = replace(method.place, path=join(method.place.path, slot))
            faults.add(place, f"missing; every method needs one; {nearest('', names, kind='stages')}")
    for group in method.groups:
        _check_lengths(group, faults)
        for axis in group:
            slot, _, rest = axis.name.partition(".")
            if axis.scale and not tuning:
                listed = "a run needs a list of values, {range: ...}, {linspace: ...} or {geomspace: ...}"
                faults.add(axis.place, f"only 'tune' searches a continuous axis; {listed}")
            if slot in SLOTS and rest:
                _check_parameter_axis(method, axis, faults)
            elif slot == "seed" and not any(map(_is_seeded, _possible_specs(method))):
                faults.add(axis.place, f"addresses nothing: no stage of method {method.name!r} draws random numbers")
    _check_search(method, search, faults)
    if not tuning and (count := number_of_runs(method)) > MOST:
        faults.add(method.place, f"{count} runs of method {method.name!r}; at most {MOST} are possible")


def number_of_runs(method: Method) -> int:
    """Product of the lengths of all groups of axes."""
    count = 1
    for group in method.groups:
        count *= len(group[0].values)
    return count


def takes_seed(stage: _stage.Stage, parameters: Mapping[str, Any]) -> bool:
    """Whether the script's seed fills a parameter of a stage: it draws random numbers and was given no seed of its own."""
    return "seed" in stage.parameters and "seed" not in parameters


def _is_seeded(specs: Specs) -> bool:
    return specs is None or any(takes_seed(spec.stage, spec.parameters) for spec in specs)


def _possible_specs(method: Method) -> Iterator[Specs]:
    for slot in SLOTS:
        axis = method.axis(slot)
        yield from axis.values if axis else (method.slots.get(slot, ()),)


def _check_lengths(group: list[Axis], faults: Faults) -> None:
    lengths = {axis.name: len(axis.values) for axis in group if axis.values}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        faults.add(group[0].place, f"axes that move together need equally many values: {said}")


def _check_parameter_axis(method: Method, axis: Axis, faults: Faults) -> None:
    slot, _, rest = axis.name.partition(".")
    checked = set()
    for specs, node in _meetings(method, axis, slot):
        if specs is None:
            continue
        found = locate(slot, specs, rest)
        if isinstance(found, str):
            faults.add(axis.place, f"{found} (method {method.name!r})")
            continue
        stage = specs[found[0]].stage
        if (stage.name, id(node)) not in checked:
            checked.add((stage.name, id(node)))
            _, message = parameter(stage, found[1], node)
            if message:
                faults.add(node.place, message)
            elif axis.scale:
                middle = Node((axis.values[0].value + axis.values[1].value) / 2, axis.place)
                if parameter(stage, found[1], middle)[1]:
                    said = f"{found[1]} of {stage.name} takes no values in between; list some or write {{range: [first, last, step]}}"
                    faults.add(axis.place, said)


def _meetings(method: Method, axis: Axis, slot: str) -> Iterator[tuple[Specs, Node]]:
    """The pairs of a slot's stages and an axis's value that occur in some run, without the other axes' product."""
    stages = method.axis(slot)
    if stages is None:
        return itertools.product([method.slots.get(slot, ())], axis.values)
    together = any(stages in group and axis in group for group in method.groups)
    return zip(stages.values, axis.values, strict=False) if together else itertools.product(stages.values, axis.values)


def _check_search(method: Method, search: Mapping[str, Node], faults: Faults) -> None:
    swept = [[axis for axis in group if axis.name.startswith("search.")] for group in method.groups]
    choices = [range(len(group[0].values)) for group in swept if group]
    for combination in itertools.product(*choices):
        given = dict(search)
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
