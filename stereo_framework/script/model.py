"""What a script's mappings say: known keys, stages, parameters, axes; all that is wrong is told with its location."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from stereo_framework.core import registration
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.parameters import as_yaml
from stereo_framework.core.registration import step
from stereo_framework.core.slots import SLOTS, exclusions
from stereo_framework.core.step import Step
from stereo_framework.evaluation import protocols
from stereo_framework.io import name_fault
from stereo_framework.io.locations import Faults, Location, Node
from stereo_framework.script.merging import filled, tree
from stereo_framework.script.reading import (
    AUXILIARY_KEYS,
    FAULTY,
    KEYS,
    METHOD_KEYS,
    NOTHING,
    SEARCH,
    Axis,
    SearchKeys,
    SeedKey,
    entry,
    expect_mapping,
    is_right,
    read,
    text,
    texts,
    values,
)
from stereo_framework.script.report import parse_report
from stereo_framework.script.specs import NAME, Steps, checked, no_parameter, parameter_names, split

_WHAT = {KEYS: "", METHOD_KEYS: " of a method", AUXILIARY_KEYS: " of an auxiliary method"}


class Model:
    """Reads what stands under each key, a method for each; `check` reads all.

    Scripts are checked as they are written, each for itself, and read once more where they are merged: a fault is told once.

    Parameters
    ----------
    faults : Faults
        Gets all that is wrong; the faulty parts are left out of what is returned.

    Attributes
    ----------
    executions : dict of str to Location
        Third-party code that stages of the settings execute, and the locations of these stages.
    notes : list of str
        Remarks about axes without effect on some settings.
    """

    def __init__(self, faults: Faults):
        self.faults, self.fault = faults, faults.add
        self.executions: dict[str, Location] = {}
        self.notes: list[str] = []
        self._unread: dict[Location, str] = {}
        self._read: set[Location] = set()
        self._axes: dict[Node, Axis] = {}
        self._slots: dict[tuple[str, Node], Steps] = {}

    def note_reading(self, location: Location, reason: str) -> None:
        """Note that a setting reads the value at a location, or why the setting does not.

        Parameters
        ----------
        location : Location
        reason : str
            Why a stage does not read it; empty if one does.
        """
        if reason:
            self._unread.setdefault(location, reason)
        else:
            self._read.add(location)

    def remarks(self) -> tuple[str, ...]:
        """Return the remarks about axes and keys without effect, in the order of the file."""
        keys = {
            location: reason
            for location, reason in self._unread.items()
            if location not in self._read
        }
        return (
            *self.notes,
            *(
                f"{location}: has no effect on any disparity map, because {keys[location]}"
                for location in keys
            ),
        )

    def forget(self) -> None:
        """Let go of the stages that stand in slots."""
        self._slots.clear()

    def check(self, node: Node, allowed: tuple[str, ...] = KEYS) -> None:
        """Check a script, an entry of its ``methods``, or an auxiliary method as it is written."""
        entries = expect_mapping(node, allowed, self.faults, what=_WHAT[allowed])
        for key, value in entries.items():
            if key in SLOTS:
                self.slot(key, value)
            elif key == "auxiliary" or (
                value.value is not None and key not in ("include", "plugins")
            ):
                getattr(self, key)(value)
        others = [
            key
            for key in (*SLOTS, "auxiliary")
            if key in entries and entries[key].value is not None
        ]
        if "maps" in entries and entries["maps"].value is not None and others:
            said = ", ".join(f"{key}{node.key(key).in_brackets()}" for key in others)
            self.fault(node.key("maps"), f"maps stand instead of {said}; keep one or the other")
        for home, _ in tree(node) if allowed != AUXILIARY_KEYS else ():
            self._check_exclusions(filled(node, home))

    def _check_exclusions(self, filled_slots: Mapping[str, Location]) -> None:
        """Report each slot with stages that excludes other slots with stages.

        Parameters
        ----------
        filled_slots : mapping of str to Location
            Locations of the stages, by slot.
        """
        for excluding, excluded in exclusions(filled_slots):
            excluded_slots = ", ".join(
                f"{slot}{filled_slots[slot].in_brackets()}" for slot in excluded
            )
            message = f"a {excluding} replaces {excluded_slots}; keep one or the other"
            self.fault(filled_slots[excluding], message)

    # One method for each key -----------------------------------------------------------------------------------------

    def auxiliary(self, node: Node) -> None:
        """Check the auxiliary methods and their names."""
        if node.value is not None and not node.entries:
            self.fault(
                node.location,
                "no auxiliary methods; write NAME: {slots or include} for each, or null for none",
            )
        for name, one in node.entries.items():
            if not re.fullmatch(NAME, name):
                said = f"{name!r} cannot be the name of an auxiliary method; allowed: letters, digits, _ and -"
                self.fault(node.keys[name], said)
                continue
            self.check(one, AUXILIARY_KEYS)

    def methods(self, node: Node) -> None:
        """Methods by name."""
        if not node.entries:
            self.fault(
                node.location,
                "no methods; write NAME: {slots, include, sweep, seed} for each, or leave the key out",
            )
        for name, one in node.entries.items():
            if wrong := name_fault(name) if name.strip() else "a method without a name":
                self.fault(node.keys[name], wrong)
            self.check(one, METHOD_KEYS)

    def name(self, node: Node) -> str | None:
        """Of the script."""
        found = text(node)
        wrong = name_fault(found) if found else f"{as_yaml(node.data())} is not a text"
        if node.value is None or not wrong:
            return found
        self.fault(node.location, wrong)
        return None

    def scenes(self, node: Node) -> tuple[str, ...]:
        """Names of scenes, each once."""
        if node.value == []:
            self.fault(
                node.location, "an empty list; name at least one scene, or leave the key out"
            )
        found = texts(node, self.faults, "the name of a scene") if node.value is not None else []
        return tuple(dict.fromkeys(str(text(item)) for item in found))

    def search(self, node: Node) -> dict[str, Node]:
        """The keys that are right."""
        return {key: node.entries[key] for key in read(SearchKeys, node, self.faults)}

    def seed(self, node: Node) -> int | None:
        """Return the seed of stages that draw random numbers, or None if invalid."""
        if node.value is not None and is_right(SeedKey, "seed", node, self.faults):
            return node.value  # type: ignore[return-value]
        return None

    def report(self, node: Node) -> None:
        """Plots and tables."""
        # Its keys may be parameters of stages that nobody knows.
        if not self.faults.without_plugins:
            parse_report(node, self.faults)

    def evaluation(self, node: Node) -> None:
        """One protocol or several, and metrics beside their own."""
        entries = expect_mapping(node, ("protocol", "metrics"), self.faults)
        if metrics := entries.get("metrics"):
            for message in protocols.faults(
                {"base": "taxonomy2002", "metrics": metrics.data()}
            ).values():
                self.fault(metrics.location, message)
        if (given := entries.get("protocol")) is None:
            return
        first: dict[str, Node] = {}
        if given.value == []:
            self.fault(
                given.location, "an empty list; name at least one protocol, or leave the key out"
            )
        for item in given.items:
            wrong = protocols.faults(item.data())
            for path, message in wrong.items():
                self.fault(item.entries.get(path, item).location, message)
            name = "" if wrong else protocols.resolve(item.data()).name
            if name and first.setdefault(name, item) is not item:
                self.fault(
                    item.location,
                    f"a second protocol named {name!r}; results are told apart by this name",
                )

    def maps(self, node: Node) -> Node:
        """Maps of others as the matcher that they are; it leaves nothing of all other slots."""
        own = entry("maps", node)
        if not isinstance(own.value, dict) or "use" in own.value:
            said = f"{as_yaml(node.data())} is no path; write a folder, PATH/{{scene}}.pfm, or {{path: PATH, disparity_scale: 4}}"
            self.fault(node.location, said)
            return FAULTY
        matcher = own.having("use", Node("maps", node.location))
        self.slot("matcher", matcher)
        return matcher

    def sweep(self, node: Node) -> dict[str, Axis]:
        """Axes by name; those of a zip move together."""
        found: dict[str, Axis] = {}
        for kind, axes in expect_mapping(node, ("grid", "zip"), self.faults).items():
            if not isinstance(axes.value, dict | None):
                said = f"{as_yaml(axes.data())} is not a mapping of axes: {{matching_cost.truncation: [5, 10, 20]}}"
                self.fault(axes.location, said)
            for name, value in axes.entries.items():
                if value not in self._axes:
                    self._axes[value] = self.axis(name, value, axes.key(name))
                if name in found:
                    self.fault(
                        axes.key(name), "this axis stands in sweep.grid and in sweep.zip; keep one"
                    )
                found[name] = replace(self._axes[value], zipped=kind == "zip")
        return found

    # Stages and axes --------------------------------------------------------------------------------------------------

    def slot(self, slot: str, node: Node) -> Steps:
        """The stages of a slot: one or a list, a name or a mapping each."""
        if (slot, node) not in self._slots:
            self._slots[slot, node] = None if node is FAULTY else self._slot(slot, node)
        return self._slots[slot, node]

    def _slot(self, slot: str, node: Node) -> Steps:
        if node is NOTHING or (node.value is None and SLOTS[slot].optional):
            return ()
        listed = isinstance(node.value, list)
        added = SLOTS[slot].added and listed
        if listed and not SLOTS[slot].many and not added:
            self.fault(
                node.location,
                f"a list; {slot} is one stage: a name or {{use: NAME, parameter: value}}",
            )
            return None
        if added and not node.value:
            self.fault(node.location, f"an empty list; name at least one stage of {slot}")
            return None
        found = [self._stage(slot, item, added=added) for item in node.items]
        return None if None in found else tuple(filter(None, found))

    def _stage(self, slot: str, node: Node, *, added: bool) -> Step | None:
        """One stage, with the parameters that are right."""
        use = node.entries.get("use") if isinstance(node.value, dict) else node
        if use is None or not isinstance(use.value, str):
            names = nearest("", [s.name for s in registration.stages(slot)], kind="stages")
            said = "a stage without 'use'; write use: NAME"
            if use is not None:
                said = f"{as_yaml(use.data())} is not the name of a stage; write NAME or {{use: NAME, parameter: value}}"
            self.fault((use or node).location, f"{said}; {names}")
            return None
        try:
            stage = registration.find(slot, use.value)
        except ParameterError as error:
            at = replace(use.location, path=node.location.path.removesuffix(f".{use.value}"))
            if self.faults.without_plugins:
                self.faults.unknown.append(f"{slot} {use.value}")
            else:
                self.fault(at, str(error).removeprefix(f"{slot}: "))
            return None
        given = {
            name: value
            for name, value in node.entries.items()
            if name in parameter_names(stage, added=added)
        }
        for name in node.entries:
            if name not in given and name != "use":
                self.fault(node.keys[name], no_parameter(stage, name, added=added))
        inner_steps = {}
        has_faulty_inner_stage = False
        for name, slot_of_inner_stage in stage.inner_slots.items():
            if name in given and given[name].value is not None:
                inner_step = self._inner_stage(name, slot_of_inner_stage, given[name])
                if inner_step is None:
                    has_faulty_inner_stage = True
                    del given[name]
                else:
                    inner_steps[name] = inner_step
        right, wrong = checked(stage, given, inner_steps, added=added)
        for name, message in wrong.items():
            self.fault(given[name].location, message)
        if has_faulty_inner_stage:
            return None
        factors = {"weight": 1.0} if added else {}
        new_step = step(stage.function, **{**factors, **right})
        return _without_default_seeds(new_step, right)

    def _inner_stage(self, name: str, slot: str, node: Node) -> Step | None:
        """Return the inner stage that a script gives, or None if it has a fault.

        Parameters
        ----------
        name : str
            Name of the parameter of the outer stage.
        slot : str
            Slot of the inner stage.
        node : Node
        """
        if isinstance(node.value, list):
            message = f"a list; {name} is one stage: a name or {{use: NAME, parameter: value}}"
            self.fault(node.location, message)
            return None
        return self._stage(slot, node, added=False)

    def axis(self, name: str, node: Node, location: Location) -> Axis:
        """An axis of a sweep; without values where it has a fault."""
        _, head, rest = split(name)
        if hint := _what_axes_address(name):
            self.fault(location, f"this axis addresses nothing; {hint}")
            return Axis(name, location, ())
        found = [*values(node, self.faults)]
        for i, item in enumerate(found):
            if split(name).is_slot:
                self.slot(head, item)
            elif head not in SLOTS and not is_right(
                SeedKey if head == "seed" else SearchKeys, rest or head, item, self.faults
            ):
                found[i] = FAULTY
        return Axis(name, location, tuple(found))


def _without_default_seeds(stage_step: Step, script_parameters: Collection[str]) -> Step:
    """Remove the seeds that a script does not give, because its own seed fills them.

    Parameters
    ----------
    stage_step : Step
        Step with all parameters. The inner steps that the script gives have no default
        seeds any more.
    script_parameters : collection of str
        Names of the parameters that the script gives.
    """
    parameters = {}
    for name, value in stage_step.parameters.items():
        is_default = name not in script_parameters
        if isinstance(value, Step) and is_default:
            value = _without_default_seeds(value, ())
        if name != "seed" or not is_default:
            parameters[name] = value
    return replace(stage_step, parameters=parameters)


def _what_axes_address(name: str) -> str:
    """What an axis could address instead of `name`, which is nothing that one can vary; empty where it is."""
    home, head, rest = split(name)
    heads = SLOTS if home else (*SLOTS, "auxiliary", "search", "seed")
    if head == "auxiliary" and not home:
        return "write auxiliary.NAME.SLOT or auxiliary.NAME.SLOT.PARAMETER"
    if head not in heads or (rest and head == "seed"):
        kind = f"words after {home}" if home else "first words of an axis"
        return new_or_nearest("script_keys", "script", head, heads, kind=kind)
    return (
        nearest(rest, SEARCH, kind="keys of search")
        if head == "search" and rest not in SEARCH
        else ""
    )
