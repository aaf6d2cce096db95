"""The methods of a merged script: their slots, search range, seed and axes.

The module `expansion` makes the settings of a method from them. The module `overrides`
changes them as the option ``--set`` demands.
"""

import copy
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.errors import nearest
from stereo_framework.core.slots import SLOTS, exclusions
from stereo_framework.core.step import Step
from stereo_framework.io.document import Document, list_of
from stereo_framework.io.locations import Location
from stereo_framework.script.addresses import (
    Address,
    inner_slot,
    locate,
    locate_stage,
    names,
    split,
)
from stereo_framework.script.axes import Axis, groups_of_axes
from stereo_framework.script.keys import is_number, texts_in
from stereo_framework.script.layers import (
    as_stage,
    axis_key,
    axis_names,
    filled_slots,
    lacks,
    merged,
    merged_slot,
    methods_inside,
    without_axes,
)
from stereo_framework.script.model import Model, SceneValue
from stereo_framework.script.setting import written, written_stage
from stereo_framework.script.slot_stages import FAULTY, NOTHING, with_parameter


@dataclass(frozen=True)
class Parameter:
    """A parameter of a stage in a slot.

    Two addresses mean the same parameter if these values are equal.

    Parameters
    ----------
    index : int
        Index of the stage in the slot.
    name : str
        Name of the parameter, such as ``size``, or ``inner.size`` in an inner stage.
    """

    index: int
    name: str


class Method:
    """A method of a script, before its sweep is expanded.

    Parameters
    ----------
    name : str
    document : Document
        The keys of the method, merged over the keys at the top of the script.
    own_axes : collection of str
        Names of the axes that only this method has. The other axes are those at the top
        of the script. All methods share them, and they vary more slowly.
    model : Model
        Checks the keys, and reports their faults.
    scenes : tuple of str
        Scenes to which the method is restricted. If they are empty, the method runs on
        all scenes.

    Attributes
    ----------
    locations : dict of str to Location
        Locations of the method and of its auxiliary methods, by prefix. The prefix of
        the method itself is empty.
    slots : dict of str to Document
        Contents of the slots, by the address of the slot.
    axes : dict of str to Axis
        Axes by name.
    search : dict of str to Document
        Keys of the search range that the script sets.
    seed : int
    scene_values : list of SceneValue
        Values that the script sets on some scenes.
    default_scenes : tuple of str
        Scenes at the top of the script, if some methods have the key ``scenes``. By
        default, a method without this key runs only on the scenes at the top.
    on_scenes : str
        Words about these scenes for messages, if the method has such values now.
    """

    def __init__(
        self,
        name: str,
        document: Document,
        own_axes: Collection[str],
        model: Model,
        scenes: tuple[str, ...] = (),
    ):
        self.name = name
        self.document = document
        self.own_axes = own_axes
        self.model = model
        self.scenes = scenes
        self.default_scenes: tuple[str, ...] = ()
        self.on_scenes = ""
        self.locations = {prefix: method.location for prefix, method in methods_inside(document)}
        self.slots = _contents_of_slots(document, model)
        self.search = model.search(document.part("search"))
        self.seed = model.seed(document.part("seed")) or 0
        self.axes = model.sweep(document.part("sweep"))
        # A value for all methods does not concern a method that cannot have its slot.
        self.scene_values = [
            scene_value
            for scene_value in model.by_scene(document.part("by_scene"))
            if not lacks(document, scene_value.address)
        ]
        self._remove_repeated_values()

    @property
    def groups(self) -> list[list[Axis]]:
        """Groups of axes that move together. The last group varies fastest."""
        shared_axes = [axis for name, axis in self.axes.items() if name not in self.own_axes]
        own_axes = [axis for name, axis in self.axes.items() if name in self.own_axes]
        return groups_of_axes(shared_axes) + groups_of_axes(own_axes)

    def fault(self, location: Location, message: str) -> None:
        """Report a fault that only occurs in this method."""
        self.model.findings.fault(location, f"{message} (method {self.name!r}{self.on_scenes})")

    def steps(self, slot: str, content: Document) -> tuple[Step, ...] | None:
        """Return the stages of a slot's content, or None after a fault.

        Parameters
        ----------
        slot : str
            Address of the slot, which may be that of an auxiliary method.
        content : Document
        """
        return self.model.slots.read(split(slot).word, content)

    # --- auxiliary methods ------------------------------------------------------------

    def auxiliary_prefixes(self, prefix: str) -> list[str]:
        """Return the prefixes of the auxiliary methods of a method.

        An auxiliary method may contain further auxiliary methods. Their prefixes are
        not returned.
        """
        depth = len(names(prefix)) + 1
        return [
            inner
            for inner in self.locations
            if inner.startswith(prefix) and len(names(inner)) == depth
        ]

    def fault_of_prefix(self, prefix: str) -> str:
        """Return a message if an auxiliary method is missing; empty otherwise."""
        outer_prefix = ""
        for name in names(prefix):
            inner_prefix = f"{outer_prefix}auxiliary.{name}."
            if inner_prefix not in self.locations:
                siblings = [names(other)[-1] for other in self.auxiliary_prefixes(outer_prefix)]
                allowed = nearest(name, siblings, kind="auxiliary methods")
                return (
                    "this address means nothing, because there is no auxiliary method "
                    f"{name!r}; {allowed}"
                )
            outer_prefix = inner_prefix
        return ""

    # --- changing the content of a slot -----------------------------------------------

    def with_value(
        self,
        content: Document,
        address: Address,
        value: Document,
        location: Location,
        *,
        merges: bool = False,
    ) -> Document:
        """Return the content of a slot with a new value at an address.

        Parameters
        ----------
        content : Document
            Content of the slot before.
        address : Address
            Address of the slot, or of a parameter of one of its stages.
        value : Document
        location : Location
            Location of the address. If the address has a fault, the fault is reported
            there, and the content stays as it is.
        merges : bool
            True if a value that is the same inner stage as before changes only the
            parameters that it gives.
        """
        if address.is_slot:
            return value
        steps = self.steps(address.slot, content)
        if steps is None:
            return content
        located = locate(address.slot, steps, address.rest)
        if isinstance(located, str):
            self.fault(location, located + self._remedy_in_axis_of_stage(address))
            return content
        index, name = located
        items = content.items()
        stage = as_stage(items[index])
        items[index] = with_parameter(stage, steps[index], name, value, merges=merges)
        if isinstance(content.data, list):
            return list_of(items, content.location)
        return items[0]

    def _remedy_in_axis_of_stage(self, address: Address) -> str:
        """Return a clause for a parameter that only some inner stages of an axis have.

        The clause is empty if no axis varies the inner stage at the address.
        """
        full_address = f"{address.slot}.{address.rest}"
        for name in self.axes_around(full_address):
            if not split(name).is_slot:
                parameter = self._part_below(name, full_address)
                return (
                    f"; the axis {name} also has stages without this parameter, so write its "
                    f"values there: {{use: NAME, {parameter}: ...}}"
                )
        return ""

    def set_value(self, address: str, value: Document) -> None:
        """Set a parameter in every stage that may stand at its address.

        If an axis varies the slot or an inner stage around the parameter, the parameter
        is set in each stage of the axis.
        """
        target = split(address)
        message = self.fault_of_prefix(target.home)
        if message:
            self.fault(value.location, message)
            return
        axes_around = self.axes_around(address)
        if not axes_around:
            content = self.slots.get(target.slot, NOTHING)
            self.slots[target.slot] = self.with_value(
                content, target, value, value.location, merges=True
            )
            return
        # The innermost axis decides which stages the runs contain.
        axis = self.axes[axes_around[-1]]
        if split(axis.name).is_slot:
            stages = [
                self.with_value(content, target, value, value.location, merges=True)
                for content in axis.values
            ]
        else:
            stages = [self._inner_stage_with(axis, stage, address, value) for stage in axis.values]
        self.axes[axis.name] = replace(axis, values=tuple(stages))

    def with_scene_values(self, values: Sequence[SceneValue]) -> "Method":
        """Return the method with the values that a script sets on a scene."""
        variant = copy.copy(self)
        variant.slots, variant.axes = dict(self.slots), dict(self.axes)
        variant.search = dict(self.search)
        scene_names = dict.fromkeys(scene_value.scenes for scene_value in values)
        variant.on_scenes = f" on {' and '.join(scene_names)}"
        for scene_value in values:
            address = split(scene_value.address)
            value = scene_value.value
            if address.word == "search":
                variant.search[address.rest] = value
            elif address.word == "seed":
                variant.seed = value.data
            elif address.is_slot:
                content = variant.slots.get(address.slot, NOTHING)
                variant.slots[address.slot] = merged_slot(address.word, content, value)
            else:
                variant.set_value(scene_value.address, value)
        return variant

    def drop_values_of_own_axes(self, own_document: Document) -> None:
        """Remove values of the script that an axis of this method replaces.

        The script may set a window size on a single scene for all methods. A method
        that sweeps the window size itself does not use this value. If the method itself
        both sets and sweeps the window size, the value is kept, and the contradiction
        is reported later.

        Parameters
        ----------
        own_document : Document
            The keys of the method itself, without those at the top of the script.
        """
        own_values = own_document.part("by_scene").data or {}
        self.scene_values = [
            scene_value
            for scene_value in self.scene_values
            if scene_value.address in own_values.get(scene_value.scenes, {})
            or not set(self.axes_of(scene_value.address)).intersection(self.own_axes)
        ]

    def _inner_stage_with(
        self, axis: Axis, stage: Document, address: str, value: Document
    ) -> Document:
        """Return a stage of an axis of inner stages, with a new parameter value."""
        axis_address = split(axis.name)
        base = self._content_below(axis)
        if base is None:
            return stage
        content = self.with_value(base, axis_address, stage, axis.location)
        if self.with_value(content, split(address), value, value.location) is content:
            return stage
        inner_step = self._value_at(axis_address, content)
        name = self._part_below(axis.name, address)
        if not isinstance(inner_step, Step) or not name:
            return stage
        return with_parameter(as_stage(stage), inner_step, name, value, merges=True)

    # --- axes of stages and of their parameters ---------------------------------------

    def contents(self, slot: str) -> tuple[Document, ...]:
        """Return all contents of a slot: the values of its axis, or its only content."""
        if slot in self.axes:
            return self.axes[slot].values
        return (self.slots.get(slot, NOTHING),)

    def all_contents(self, slot: str) -> Iterator[Document]:
        """Yield all contents of a slot, with each value of the axes of inner stages."""
        yield from self.contents(slot)
        for axis in self.axes.values():
            address = split(axis.name)
            base = self._content_below(axis)
            if address.slot == slot and base is not None and self._is_inner_stage(address, base):
                for value in axis.values:
                    yield self.with_value(base, address, value, axis.location)

    def parameter_in(self, content: Document, address: Address) -> Parameter | None:
        """Return the parameter that an address means in the content of a slot.

        The inner stages on the way to the parameter need not have it. The result is
        None if no stage of the slot is at the address.
        """
        if address.word not in SLOTS or not address.rest:
            return None
        steps = self.steps(address.slot, content)
        if not steps:
            return None
        located = locate_stage(address.slot, steps, address.rest)
        return None if isinstance(located, str) else Parameter(*located)

    def _is_inner_stage(self, address: Address, content: Document) -> bool:
        """Return whether the parameter at an address is an inner stage."""
        parameter = self.parameter_in(content, address)
        if parameter is None:
            return False
        steps = self.steps(address.slot, content) or ()
        return inner_slot(steps[parameter.index], parameter.name) is not None

    def _part_below(self, outer: str, address: str) -> str | None:
        """Return the part of an address that follows the address of a stage.

        Parameters
        ----------
        outer : str
            Address of a slot or of a parameter, which may be an inner stage.
        address : str
            Address that may be inside the outer address, such as the address of a
            parameter of a stage. The two addresses may name the same stage in different
            ways, such as ``aggregation.0`` and ``aggregation.box``.

        Returns
        -------
        str or None
            Part such as ``size``. It is empty if both addresses mean the same value.
            The result is None if the address is not inside the outer address.
        """
        if outer == address:
            return ""
        outer_address, inner_address = split(outer), split(address)
        if outer_address.slot != inner_address.slot:
            return None
        if outer_address.is_slot:
            return inner_address.rest
        for content in self.contents(inner_address.slot):
            outer_parameter = self.parameter_in(content, outer_address)
            parameter = self.parameter_in(content, inner_address)
            if outer_parameter is None or parameter is None:
                continue
            if outer_parameter == parameter:
                return ""
            beginning = f"{outer_parameter.name}."
            is_same_stage = outer_parameter.index == parameter.index
            if is_same_stage and parameter.name.startswith(beginning):
                return parameter.name.removeprefix(beginning)
        return None

    def axes_of(self, address: str) -> list[str]:
        """Return the names of the axes that vary the parameter at an address."""
        return [name for name in self.axes if self._part_below(name, address) == ""]

    def axes_around(self, address: str) -> list[str]:
        """Return the axes of stages that contain the parameter at an address.

        The axis of the slot comes first, and the axis of the innermost stage is last.
        """
        parts = {name: self._part_below(name, address) or "" for name in self.axes}
        around = [name for name, part in parts.items() if part]
        return sorted(around, key=lambda name: len(parts[name]), reverse=True)

    def axes_inside(self, name: str) -> list[str]:
        """Return the axes of parameters in the stages that an axis varies."""
        return [other for other in self.axes if self._part_below(name, other)]

    def depth(self, axis: Axis) -> int:
        """Return the number of stages around the values of an axis."""
        address = split(axis.name)
        if not address.rest:
            return 0
        parameters = [
            self.parameter_in(content, address) for content in self.contents(address.slot)
        ]
        depths = [parameter.name.count(".") + 1 for parameter in parameters if parameter]
        return min(depths, default=1)

    def _content_below(self, axis: Axis) -> Document | None:
        """Return the content of a slot that an axis of one of its parameters changes.

        The axes of the stages around the parameter have their first values. The result
        is None if no content of the slot has a stage at the address of the axis.
        """
        address = split(axis.name)
        candidates = [
            content
            for content in self.contents(address.slot)
            if self.parameter_in(content, address) is not None
        ]
        if not candidates:
            return None
        content = candidates[0]
        for name in self.axes_around(axis.name):
            values = self.axes[name].values
            if values and not split(name).is_slot:
                content = self.with_value(content, split(name), values[0], axis.location)
        return content

    def _remove_repeated_values(self) -> None:
        """Keep each value of an axis once, and each row of axes that move together."""
        for group in groups_of_axes(self.axes.values()):
            if len({len(axis.values) for axis in group}) != 1:
                continue
            keys_of_rows = zip(*map(self._run_keys, group), strict=True)
            values_of_rows = zip(*(axis.values for axis in group), strict=True)
            rows: dict[tuple[str, ...], tuple[Document, ...]] = {}
            for keys, row in zip(keys_of_rows, values_of_rows, strict=True):
                rows.setdefault(keys, row)
            values_of_axes = zip(*rows.values(), strict=True)
            for axis, values in zip(group, values_of_axes, strict=False):
                self.axes[axis.name] = replace(axis, values=values)

    def _run_keys(self, axis: Axis) -> list[str]:
        """Return a text for each value of an axis; equal texts mean equal runs."""
        address = split(axis.name)
        if address.is_slot:
            return [self._text_of_stages(address.slot, value) for value in axis.values]
        base = self._content_below(axis)
        if base is not None and self._is_inner_stage(address, base):
            contents = [
                self.with_value(base, address, value, axis.location) for value in axis.values
            ]
            return [self._text_of_stages(address.slot, content) for content in contents]
        values = [document.data for document in axis.values]
        # 1 and 1.0 are the same value of a parameter, but have different texts.
        return [repr(float(value) if is_number(value) else value) for value in values]

    def _text_of_stages(self, slot: str, content: Document) -> str:
        """Return a text of a slot's stages with all their parameters."""
        steps = self.steps(slot, content) or ()
        return repr([(step.is_summand, step.stage.name, step.parameters) for step in steps])

    # --- writing the method as a script -----------------------------------------------

    def mapping(self, prefix: str = "") -> dict[str, Any]:
        """Return the slots of a method as a script writes them, with all defaults.

        Parameters
        ----------
        prefix : str
            Prefix of an auxiliary method; empty for the method itself.
        """
        mapping: dict[str, Any] = {}
        for slot in SLOTS:
            steps = self.steps(slot, self.slots.get(prefix + slot, NOTHING))
            if steps:
                mapping[slot] = written(slot, steps)
        auxiliary = {
            names(inner_prefix)[-1]: self.mapping(inner_prefix)
            for inner_prefix in self.auxiliary_prefixes(prefix)
        }
        if auxiliary:
            mapping["auxiliary"] = auxiliary
        return mapping

    def written_values(self, axis: Axis) -> list[Any]:
        """Return the values of an axis as a script writes them, checked."""
        address = split(axis.name)
        if address.word not in SLOTS:
            return [value.data for value in axis.values]
        if address.is_slot:
            contents = [self.steps(address.slot, value) or () for value in axis.values]
            return [written(address.word, steps) for steps in contents]
        base = self._content_below(axis) or NOTHING
        written_values = []
        for value in axis.values:
            content = self.with_value(base, address, value, axis.location)
            checked_value = self._value_at(address, content)
            if isinstance(checked_value, Step):
                checked_value = written_stage(checked_value)
            written_values.append(checked_value)
        return written_values

    def written_scene_value(self, scene_value: SceneValue) -> Any:
        """Return a value on some scenes as a script writes it, checked."""
        address = split(scene_value.address)
        if address.word not in SLOTS:
            return scene_value.value.data
        variant = self.with_scene_values([scene_value])
        for content in variant.contents(address.slot):
            if address.is_slot:
                return written(address.word, variant.steps(address.slot, content) or ())
            parameter = variant.parameter_in(content, address)
            if parameter is not None:
                value = variant._value_at(address, content)
                return written_stage(value) if isinstance(value, Step) else value
        return scene_value.value.data

    def steps_of_all_values(self) -> Iterator[Step]:
        """Yield the stages of all slots, for all values of axes and on all scenes."""
        addresses = {*self.slots, *(name for name in self.axes if split(name).is_slot)}
        for slot in addresses:
            if split(slot).word in SLOTS:
                for content in self.all_contents(slot):
                    yield from self.steps(slot, content) or ()
        for axis in self.axes.values():
            yield from self._steps_of_texts(axis)
        for scene_value in self.scene_values:
            variant = self.with_scene_values([scene_value])
            variant.scene_values = []
            yield from variant.steps_of_all_values()

    def _steps_of_texts(self, axis: Axis) -> Iterator[Step]:
        """Yield the stages with each text or list that an axis gives a parameter."""
        address = split(axis.name)
        if address.word not in SLOTS or address.is_slot:
            return
        values = [value for value in axis.values if isinstance(value.data, str | list)]
        for content in self.contents(address.slot) if values else ():
            steps = self.steps(address.slot, content)
            if steps and not isinstance(locate(address.slot, steps, address.rest), str):
                for value in values:
                    changed = self.with_value(content, address, value, axis.location)
                    yield from self.steps(address.slot, changed) or ()

    def _value_at(self, address: Address, content: Document) -> Any:
        """Return the value at an address of a slot's content, or None after a fault."""
        steps = self.steps(address.slot, content)
        if not steps:
            return None
        located = locate(address.slot, steps, address.rest)
        if isinstance(located, str):
            return None
        index, name = located
        return steps[index].value_at(name)


def read_methods(script: Document, name: str, model: Model) -> list[Method]:
    """Return the methods of a merged script.

    A script without the key ``methods`` is one method. An axis at the top of the script
    is removed from a method that cannot have it, such as the axis of a window size from
    a method with a matcher.

    Parameters
    ----------
    script : Document
    name : str
        Name of the method of a script without the key ``methods``.
    model : Model
    """
    shared_axes = axis_names(script)
    own_documents = script.part("methods").entries()
    if not own_documents:
        method = Method(name, script, shared_axes, model)
        _report_unused_scene_values(script, [method])
        return [method]
    top = script.without_keys("methods")
    methods = []
    unused_axes = dict.fromkeys(shared_axes)
    for method_name, own_document in own_documents.items():
        document = merged(top, own_document)
        own_axes = axis_names(own_document)
        lacking_axes = [axis for axis in shared_axes if lacks(document, axis)]
        unused_axes = {axis: None for axis in unused_axes if axis in lacking_axes}
        removed_axes = set(lacking_axes) - set(own_axes)
        document = without_axes(document, removed_axes)
        scenes = texts_in(own_document.part("scenes"))
        methods.append(Method(method_name, document, own_axes, model, scenes))
        methods[-1].drop_values_of_own_axes(own_document)
        _report_unused_scene_values(own_document, [methods[-1]])
    _report_unused_scene_values(script, methods)
    if any(method.scenes for method in methods):
        for method in methods:
            method.default_scenes = texts_in(script.part("scenes"))
    for axis in unused_axes:
        location = axis_key(script, axis)
        message = methods[0].fault_of_prefix(split(axis).home)
        if message:
            methods[0].fault(location, message)
        else:
            message = "this address means nothing, because none of the methods has this slot"
            model.findings.fault(location, message)
    return methods


def _report_unused_scene_values(document: Document, methods: Sequence[Method]) -> None:
    """Report values on single scenes that none of the methods can have.

    Parameters
    ----------
    document : Document
        Script or method with the key ``by_scene``.
    methods : sequence of Method
        Methods that have these values.
    """
    for scene_value in methods[0].model.by_scene(document.part("by_scene")):
        if not all(lacks(method.document, scene_value.address) for method in methods):
            continue
        message = methods[0].fault_of_prefix(split(scene_value.address).home)
        if not message:
            message = "this address means nothing, because the method has no such slot"
            if len(methods) > 1:
                message = "this address means nothing, because none of the methods has this slot"
        methods[0].fault(scene_value.location, message)


def _contents_of_slots(document: Document, model: Model) -> dict[str, Document]:
    """Return the contents of all slots of a method and its auxiliary methods.

    Returns
    -------
    dict of str to Document
        Contents by the address of the slot. If two slots exclude each other, both are
        `FAULTY`: the model has reported this fault, and further faults of their stages
        would only follow from it. The key ``maps`` is a short form of a matcher.
    """
    slots: dict[str, Document] = {}
    for prefix, method in methods_inside(document):
        for slot in SLOTS:
            if slot in method.mapping:
                slots[prefix + slot] = method.part(slot)
        for excluding, _ in exclusions(filled_slots(document, prefix)):
            for slot in (excluding, *SLOTS[excluding].excludes):
                slots[prefix + slot] = FAULTY
    if "maps" in document.mapping:
        slots["matcher"] = model.maps(document.part("maps"))
    return slots
