"""Methods as they run: the top of a script merged under each of them, and all their settings."""

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.parameters import as_yaml, parameters_of
from stereo_framework.core.registration import step
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.slots import SLOTS, exclusions
from stereo_framework.core.step import FACTORS, Step, weighted
from stereo_framework.engine.method_checks import steps_below_a_pixel
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.io.locations import Location, Node, join
from stereo_framework.script.effects import (
    IGNORES_SMOOTHNESS,
    IdleAxis,
    auxiliary_methods_read,
    idle_reason,
    may_be_idle,
    unread_reason,
)
from stereo_framework.script.halo_check import halo_fault
from stereo_framework.script.merging import (
    axes,
    filled,
    lacks,
    merge,
    merged_stage,
    tree,
    without_axes,
)
from stereo_framework.script.model import Model
from stereo_framework.script.reading import FAULTY, NOTHING, Axis, entry, is_number
from stereo_framework.script.rehearsal import direction_faults, name_faults
from stereo_framework.script.specs import (
    NAME,
    NO_EFFECT,
    Address,
    Setting,
    inner_slot,
    locate,
    locate_stage,
    names,
    show,
    split,
    written,
    written_stage,
)


class _Choice(NamedTuple):
    """The values of a choice: slots by address, keys of the search range, the seed, and the values as shown."""

    slots: dict[str, Node]
    ranges: dict[str, Node]
    seed: int
    shown: dict[str, Any]


class _Examined(NamedTuple):
    """A choice, its setting, and the reasons why axes have no effect on it, by axis."""

    choice: Sequence[int]
    setting: Setting
    reasons: dict[str, str]


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
    homes : dict of str to Location
        Of the method itself (empty) and of its auxiliary methods.
    slots : dict of str to Node
        What stands in them, by address.
    axes : dict of str to Axis
    search : dict of str to Node
    seed : int
    idle_axes : dict of str to IdleAxis
        The axes without effect on some settings, or on any; filled by `settings`.
    """

    def __init__(self, name: str, whole: Node, own: Collection[str], model: Model):
        self.name, self.whole, self.own, self.model, self._fault = (
            name,
            whole,
            own,
            model,
            model.fault,
        )
        self.homes = {home: part.location for home, part in tree(whole)}
        self.slots: dict[str, Node] = {}
        for home, part in tree(whole):
            self.slots |= {
                home + word: part.entries[word] for word in SLOTS if word in part.entries
            }
            # A slot and the slots that it excludes are not checked further.
            for excluding, _ in exclusions(filled(whole, home)):
                for slot in (excluding, *SLOTS[excluding].excludes):
                    self.slots[home + slot] = FAULTY
        if "maps" in whole.entries:
            self.slots["matcher"] = model.maps(whole.entries["maps"])
        self.search, self.seed = model.search(whole.at("search")), model.seed(whole.at("seed")) or 0
        self.axes = model.sweep(whole.at("sweep"))
        self._remove_repeated_values()
        self.idle_axes: dict[str, IdleAxis] = {}

    @property
    def groups(self) -> list[list[Axis]]:
        """Groups of axes, those of the script's top first: each of a grid is a group of its own, those of a zip are one. The last group varies fastest."""
        top, own = (
            [axis for name, axis in self.axes.items() if (name in self.own) == mine]
            for mine in (False, True)
        )
        return _groups(top) + _groups(own)

    def no_home(self, home: str) -> str | None:
        """What is wrong with an address in an auxiliary method that the method does not have."""
        outer = ""
        for name in names(home):
            if f"{outer}auxiliary.{name}." not in self.homes:
                allowed = nearest(
                    name,
                    [names(other)[-1] for other in self.under(outer)],
                    kind="auxiliary methods",
                )
                return f"addresses nothing: no auxiliary method {name!r}; {allowed} (method {self.name!r})"
            outer += f"auxiliary.{name}."
        return None

    def put(
        self, at: Address, content: Node, value: Node, location: Location, *, merges: bool = False
    ) -> Node:
        """Return the content of a slot with a new value at an address.

        Parameters
        ----------
        at : Address
            Address of the slot, or of a parameter of one of its stages.
        content : Node
            Content of the slot before.
        value : Node
        location : Location
            Location of the address. If the address has a fault, the fault is reported
            there, and the content stays as it is.
        merges : bool
            True if a value that is the same inner stage as before changes only the
            parameters that it gives.
        """
        if not at.rest:
            return value
        steps = self.model.slot(at.word, content)
        if steps is None:
            return content
        located = locate(at.slot, steps, at.rest)
        if isinstance(located, str):
            remedy = self._remedy_in_axis_of_stage(f"{at.slot}.{at.rest}")
            self._fault(location, f"{located}{remedy} (method {self.name!r})")
            return content
        index, name = located
        items = [*content.items]
        stage_node = entry(at.word, items[index])
        items[index] = _with_parameter(stage_node, steps[index], name, value, merges=merges)
        return replace(content, value=items) if isinstance(content.value, list) else items[0]

    def _remedy_in_axis_of_stage(self, address: str) -> str:
        """Return a clause for a parameter that only some inner stages of an axis have.

        The clause is empty if no axis varies the inner stage at the address.
        """
        for name in self._axes_around(address):
            if not split(name).is_slot:
                parameter = self._part_below(name, address)
                return (
                    f"; the axis {name} also has stages without this parameter, so write its "
                    f"values there: {{use: NAME, {parameter}: ...}}"
                )
        return ""

    # --- axes of stages and of their parameters ---------------------------------------

    def contents(self, slot: str) -> tuple[Node, ...]:
        """Return what may stand in a slot: the values of its axis, or its only content."""
        if slot in self.axes:
            return self.axes[slot].values
        return (self.slots.get(slot, NOTHING),)

    def all_contents(self, slot: str) -> Iterator[Node]:
        """Yield what may stand in a slot, with each value of the axes of its inner stages."""
        yield from self.contents(slot)
        for axis in self.axes.values():
            at = split(axis.name)
            base = self._content_below(axis)
            if at.slot == slot and base is not None and self._is_inner_stage(at, base):
                for value in axis.values:
                    yield self.put(at, base, value, axis.location)

    def _parameter_in(self, content: Node, at: Address) -> tuple[int, str] | None:
        """Return the index of a stage and the name of its parameter, such as ``inner.size``.

        The inner stages on the way to the parameter need not have it. The result is
        None if the content of the slot has no stage at the address.
        """
        steps = self.model.slot(at.word, content) if at.word in SLOTS else None
        if not steps or not at.rest:
            return None
        located = locate_stage(at.slot, steps, at.rest)
        return None if isinstance(located, str) else located

    def _is_inner_stage(self, at: Address, content: Node) -> bool:
        """Return whether the parameter at an address is an inner stage."""
        located = self._parameter_in(content, at)
        if located is None:
            return False
        index, name = located
        steps = self.model.slot(at.word, content) or ()
        return inner_slot(steps[index], name) is not None

    def _part_below(self, outer: str, address: str) -> str | None:
        """Return the part of an address that follows the address of a stage.

        Parameters
        ----------
        outer : str
            Address of a slot or of a parameter, which may be an inner stage.
        address : str
            Address that may lie below the outer address. The two addresses may name the
            same stage in different ways, such as ``aggregation.0`` and
            ``aggregation.box``.

        Returns
        -------
        str or None
            Part such as ``size``. It is empty if both addresses mean the same. None
            means that the address does not lie below.
        """
        if outer == address:
            return ""
        outer_parts, parts = split(outer), split(address)
        if outer_parts.slot != parts.slot:
            return None
        if outer_parts.is_slot:
            return parts.rest
        for content in self.contents(parts.slot):
            outer_located = self._parameter_in(content, outer_parts)
            located = self._parameter_in(content, parts)
            if outer_located is None or located is None or outer_located[0] != located[0]:
                continue
            if outer_located == located:
                return ""
            if located[1].startswith(f"{outer_located[1]}."):
                return located[1].removeprefix(f"{outer_located[1]}.")
        return None

    def axes_of(self, address: str) -> list[str]:
        """Return the names of the axes that vary the parameter at an address."""
        return [name for name in self.axes if self._part_below(name, address) == ""]

    def _axes_around(self, address: str) -> list[str]:
        """Return the axes of stages that contain the parameter at an address.

        The axis of the slot comes first, and the axis of the innermost stage is last.
        """
        parts = {name: self._part_below(name, address) for name in self.axes}
        around = [name for name, part in parts.items() if part]
        return sorted(around, key=lambda name: len(parts[name] or ""), reverse=True)

    def axes_that_decide(self, address: str) -> list[str]:
        """Return the axes that vary a parameter or a stage around it."""
        return [*self.axes_of(address), *self._axes_around(address)]

    def _content_below(self, axis: Axis) -> Node | None:
        """Return the content of a slot that an axis of one of its parameters changes.

        The axes of the stages around the parameter have their first values. The result
        is None if no content of the slot has a stage at the address of the axis.
        """
        at = split(axis.name)
        contents = self.contents(at.slot)
        content = next((one for one in contents if self._parameter_in(one, at)), None)
        for name in self._axes_around(axis.name):
            values = self.axes[name].values
            if content is not None and values and not split(name).is_slot:
                content = self.put(split(name), content, values[0], axis.location)
        return content

    def _remove_repeated_values(self) -> None:
        """Keep each value of an axis once, and each row of axes that move together."""
        for group in _groups([*self.axes.values()]):
            if len({len(axis.values) for axis in group}) != 1:
                continue
            keys_of_rows = zip(*map(self._run_keys, group), strict=True)
            values_of_rows = zip(*(axis.values for axis in group), strict=True)
            rows: dict[tuple[str, ...], tuple[Node, ...]] = {}
            for keys, row in zip(keys_of_rows, values_of_rows, strict=True):
                rows.setdefault(keys, row)
            for axis, values in zip(group, zip(*rows.values(), strict=True), strict=False):
                self.axes[axis.name] = replace(axis, values=values)

    def _run_keys(self, axis: Axis) -> list[str]:
        """Return a text for each value of an axis; equal texts mean equal runs."""
        at = split(axis.name)
        if at.is_slot:
            return [self._text_of_stages(at.word, node) for node in axis.values]
        base = self._content_below(axis)
        if base is not None and self._is_inner_stage(at, base):
            contents = [self.put(at, base, node, axis.location) for node in axis.values]
            return [self._text_of_stages(at.word, content) for content in contents]
        values = [node.data() for node in axis.values]
        return [repr(float(value) if is_number(value) else value) for value in values]

    def _text_of_stages(self, slot: str, content: Node) -> str:
        """Return a text of a slot's stages with all their parameters."""
        steps = self.model.slot(slot, content) or ()
        return repr([(step.is_summand, step.stage.name, step.parameters) for step in steps])

    def set(self, address: str, value: Node) -> None:
        """Set a parameter in every stage that may stand at its address.

        If an axis varies the slot or an inner stage around the parameter, the parameter
        is set in each stage of the axis.
        """
        at = split(address)
        if fault := self.no_home(at.home):
            self._fault(value.location, fault)
            return
        around = self._axes_around(address)
        if not around:
            content = self.slots.get(at.slot, NOTHING)
            self.slots[at.slot] = self.put(at, content, value, value.location, merges=True)
            return
        # The innermost axis decides which stages the runs contain.
        axis = self.axes[around[-1]]
        axis_at = split(axis.name)
        if axis_at.is_slot:
            stages = [self.put(at, one, value, value.location, merges=True) for one in axis.values]
        else:
            stages = [self._inner_stage_with(axis, one, address, value) for one in axis.values]
        self.axes[axis.name] = replace(axis, values=tuple(stages))

    def _inner_stage_with(self, axis: Axis, stage_node: Node, address: str, value: Node) -> Node:
        """Return a value of an axis of an inner stage, with a new value of a parameter."""
        base = self._content_below(axis)
        if base is None:
            return stage_node
        content = self.put(split(axis.name), base, stage_node, axis.location)
        at = split(address)
        if self.put(at, content, value, value.location) is content:
            return stage_node
        inner_step = self._inner_step_at(split(axis.name), content)
        name = self._part_below(axis.name, address)
        if inner_step is None or not name:
            return stage_node
        return _with_parameter(entry("", stage_node), inner_step, name, value, merges=True)

    def written(self, axis: Axis) -> list[Any]:
        """Return the values of an axis as a script writes them, checked."""
        at = split(axis.name)
        if at.word not in SLOTS:
            return [node.value for node in axis.values]
        if at.is_slot:
            return [written(at.word, self.model.slot(at.word, node) or ()) for node in axis.values]
        content = self._content_below(axis)
        values = []
        for node in axis.values:
            changed = self.put(at, content or NOTHING, node, axis.location)
            value = self._value_at(at, changed)
            values.append(written_stage(value) if isinstance(value, Step) else value)
        return values

    def _value_at(self, at: Address, content: Node) -> Any:
        """Return the value at an address of a slot's content, or None after a fault."""
        steps = self.model.slot(at.word, content)
        if not steps:
            return None
        located = locate(at.slot, steps, at.rest)
        if isinstance(located, str):
            return None
        index, name = located
        return steps[index].value_at(name)

    def _inner_step_at(self, at: Address, content: Node) -> Step | None:
        """Return the inner step at an address of a slot's content, or None."""
        value = self._value_at(at, content)
        return value if isinstance(value, Step) else None

    def _label(self, name: str, content: Node) -> Any:
        """Return the value of an axis as tables show it.

        A stage is a text with the parameters that differ from the default values. The
        text leaves out parameters that other axes vary.

        Parameters
        ----------
        name : str
            Name of the axis.
        content : Node
            Content of the slot with the value of the axis.
        """
        at = split(name)
        steps = self.model.slot(at.word, content)
        if steps is None:
            return None
        shown_steps = [*steps]
        for other in self._parameters_swept_in(name):
            swept_parameter = self._parameter_in(content, split(other))
            if swept_parameter is not None:
                index, parameter = swept_parameter
                shown_steps[index] = _without_parameter(shown_steps[index], parameter)
        if at.is_slot:
            return show(shown_steps)
        located = locate(at.slot, steps, at.rest)
        if isinstance(located, str):
            return None
        index, parameter = located
        value = shown_steps[index].value_at(parameter)
        return str(value) if isinstance(value, Step) else value

    def mapping(self, home: str = "") -> dict[str, Any]:
        """The slots of a home and its auxiliary methods as a script writes them, checked, with their defaults."""
        stand = {
            word: self.model.slot(word, self.slots.get(home + word, NOTHING)) for word in SLOTS
        }
        found = {word: written(word, steps) for word, steps in stand.items() if steps}
        others = {names(other)[-1]: self.mapping(other) for other in self.under(home)}
        return {**found, "auxiliary": others} if others else found

    def settings(self, shared: dict[str, Any], *, tuning: bool) -> tuple[Setting, ...]:
        """Make all settings, in the order of the axes: the last one varies fastest.

        Faults of the settings are reported. Settings that differ only in axes without an
        effect on them are one setting; `idle_axes` holds these axes.

        Parameters
        ----------
        shared : dict
            As of a `Setting`.
        tuning : bool
            Return none, as a choice will be made among any number of them.
        """
        self.shared, self._tuning = shared, tuning
        self._check_groups()
        # An axis without values has a fault.
        groups = [own for group in self.groups if (own := [axis for axis in group if axis.values])]
        self._names = tuple(axis.name for group in groups for axis in group)
        # The axes of whole slots come first. The axis of an inner stage comes before the
        # axes of its parameters.
        placed = ((g, axis, split(axis.name)) for g, group in enumerate(groups) for axis in group)
        self._placed = sorted(placed, key=lambda placed_axis: self._depth(placed_axis[2]))
        self._memo: dict[tuple[Any, ...], Any] = {}
        self._swept_below: dict[str, list[str]] = {}
        self._reported_stages: set[tuple[str, int]] = set()
        self._faulty = False

        counts = [min(len(axis.values) for axis in group) for group in groups]
        choices: Iterable[Sequence[int]] = itertools.product(*map(range, counts))
        if tuning:
            choices = _meetings(groups, counts)
        candidates = self._axes_to_examine()
        if candidates:
            choices = [*choices]
        settings = tuple(map(self._run, choices))
        if candidates and not self._faulty:
            settings = self._without_repetitions(choices, settings, candidates)
        self._memo.clear()
        return () if tuning else settings

    def _check_groups(self) -> None:
        """Report axes that move together, but differ in length, and axes of no method."""
        for group in self.groups:
            lengths = {axis.name: len(axis.values) for axis in group if axis.values}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                self._fault(
                    group[0].location, f"axes that move together need equally many values: {listed}"
                )
            for axis in group:
                if message := self.no_home(split(axis.name).home):
                    self._fault(axis.location, message)
                earlier_axes = itertools.takewhile(axis.name.__ne__, self.axes)
                for name in set(self.axes_of(axis.name)).intersection(earlier_axes):
                    self._fault(
                        axis.location,
                        f"varies the same parameter as the axis {name}; keep one of the two axes "
                        f"(method {self.name!r})",
                    )

    def _depth(self, at: Address) -> int:
        """Return how many stages an axis lies in, to apply the axes of stages first."""
        if not at.rest:
            return 0
        located = [self._parameter_in(content, at) for content in self.contents(at.slot)]
        names = [parameter.split(".") for _, parameter in filter(None, located)]
        return min(map(len, names), default=1)

    def run(self, choice: Sequence[int]) -> Setting:
        """The run of one choice: an index for each group."""
        found = self._run(choice)
        self.model.faults.raise_if_any()
        return found

    def _run(self, choice: Sequence[int], idle: Collection[str] = ()) -> Setting:
        """Return the setting of one choice, with the first values of the axes without effect."""
        chosen = self._chosen(choice, idle)
        search = self._made_once(self._search, *chosen.ranges.items())
        pipeline = self._pipeline("", chosen.seed, *chosen.slots.items())
        self._check_steps(pipeline, chosen.ranges)
        values = tuple(chosen.shown[name] for name in self._names)
        return Setting(self.name, pipeline, search, chosen.seed, self._names, values, self.shared)

    def _chosen(self, choice: Sequence[int], idle: Collection[str]) -> _Choice:
        """Return what a choice puts into the slots and under the other keys."""
        slots = dict(self.slots)
        ranges: dict[str, Node] = {}
        seed = self.seed
        shown: dict[str, Any] = {}
        for g, axis, at in self._placed:
            value = axis.values[0 if axis.name in idle else choice[g]]
            if at.word == "search":
                ranges[at.rest] = value
                shown[axis.name] = value.value
            elif at.word == "seed":
                seed = self.seed if value is FAULTY else value.value  # type: ignore[assignment]
                shown[axis.name] = seed
            else:
                before = slots.get(at.slot, NOTHING)
                content = self._made_once(self.put, at, before, value, axis.location)
                slots[at.slot] = content
                shown[axis.name] = self._made_once(self._label, axis.name, content)
        shown |= dict.fromkeys(idle, NO_EFFECT)
        return _Choice(slots, ranges, seed, shown)

    # --- axes without effect ------------------------------------------------------------------------------------------

    def _axes_to_examine(self) -> list[str]:
        """Return the names of the axes that may be without effect on a setting."""
        return [
            name
            for name in self._names
            if may_be_idle(split(name)) or self._parameters_swept_in(name)
        ]

    def _parameters_swept_in(self, name: str) -> list[str]:
        """Return the axes of parameters in a slot or inner stage that is an axis."""
        if name not in self._swept_below:
            self._swept_below[name] = [
                other for other in self._names if self._part_below(name, other)
            ]
        return self._swept_below[name]

    def _without_repetitions(
        self,
        choices: Iterable[Sequence[int]],
        settings: Sequence[Setting],
        candidates: Sequence[str],
    ) -> tuple[Setting, ...]:
        """Return each setting once, and record the axes without effect in `idle_axes`.

        A setting that has no other equal to it stays as it is.
        """
        groups: dict[tuple[str, ...], list[_Examined]] = {}
        for choice, setting in zip(choices, settings, strict=True):
            reasons = {
                name: reason
                for name in candidates
                if (reason := self._idle_reason(name, choice, setting))
            }
            shown = setting.axes | dict.fromkeys(reasons, NO_EFFECT)
            groups.setdefault((repr(shown), *reasons), []).append(
                _Examined(choice, setting, reasons)
            )

        for name in candidates:
            reasons_of_axis = [group[0].reasons.get(name, "") for group in groups.values()]
            merged = sum(
                len(group)
                for group in groups.values()
                if name in group[0].reasons and len(group) > 1
            )
            everywhere = all(reasons_of_axis)
            if merged or everywhere:
                self.idle_axes[name] = IdleAxis(
                    tuple(dict.fromkeys(filter(None, reasons_of_axis))), merged, everywhere
                )

        different = []
        for examined, *others in groups.values():
            if others:
                different.append(self._run(examined.choice, examined.reasons))
            else:
                different.append(examined.setting)
        return tuple(different)

    def _idle_reason(self, name: str, choice: Sequence[int], setting: Setting) -> str:
        """Return why an axis has no effect on a setting; empty if it may have one."""
        if name == "seed":
            slots = self._chosen(choice, ()).slots
            return (
                ""
                if self._draws(slots)
                else f"no stage of method {self.name!r} draws random numbers"
            )
        if reason := idle_reason(split(name), setting.pipeline, setting.search):
            return reason
        parameters = self._parameters_swept_in(name)
        axis = self.axes[name]
        if not parameters or len(axis.values) == 1 or axis.zipped:
            return ""
        group = next(g for g, placed_axis, _ in self._placed if placed_axis.name == name)
        others = []
        for index in range(len(axis.values)):
            others.append(self._run([index if g == group else i for g, i in enumerate(choice)]))
        if all(other.pipeline == setting.pipeline for other in others):
            verb = "replaces" if len(parameters) == 1 else "replace"
            return f"{' and '.join(parameters)} {verb} all in which its values differ"
        return ""

    def _draws(self, slots: Mapping[str, Node]) -> bool:
        """Return whether a stage of some slots draws random numbers with the script's seed."""
        return any(self._made_once(self._slot_draws, slot, node) for slot, node in slots.items())

    def _slot_draws(self, slot: str, node: Node) -> bool:
        """Return whether a stage of a slot draws random numbers with the script's seed."""
        for step_of_slot in self.model.slot(split(slot).word, node) or ():
            for _, each_step in step_of_slot.walk(slot):
                lacks_seed = "seed" in each_step.stage.parameters.keys() - each_step.parameters
                if lacks_seed and not unread_reason(each_step, "seed"):
                    return True
        return False

    def _made_once(self, make: Callable[..., Any], *given: Any) -> Any:
        """What many settings share."""
        key = (make.__name__, *given)
        if key not in self._memo:
            self._memo[key] = make(*given)
        return self._memo[key]

    def _search(self, *swept: tuple[str, Node]) -> dict[str, float]:
        """Return the keys of the search range as plain numbers; an error is reported."""
        if FAULTY in dict(swept).values():
            return {}
        nodes: dict[str, Any] = self.search | dict(swept)
        numbers: dict[str, Any] = {key: node.value for key, node in nodes.items()}

        # The scene determines the keys that the script lacks, so any value that fits will do.
        step = numbers.get("step", 1)
        width = 4 * max(step, 1)
        minimum = numbers.get("minimum", 0)
        maximum = minimum + width
        if "minimum" in numbers:
            maximum = numbers.get("maximum", maximum)
        try:
            SearchRange(minimum, maximum, step)
        except ParameterError as error:
            key, _, message = str(error).removeprefix("search").removeprefix(".").partition(": ")
            self._fault(nodes.get(key, [*nodes.values()][-1]).location, message)
        return numbers

    def _check_steps(self, pipeline: Pipeline, swept: Mapping[str, Any]) -> None:
        """Report stages of a pipeline that need whole steps, but get a step below a pixel."""
        nodes: dict[str, Any] = self.search | dict(swept)
        if FAULTY in nodes.values():
            return
        step = nodes["step"].value if "step" in nodes else None

        for unsupported in steps_below_a_pixel(pipeline, step):
            if unsupported.scheme:
                slot = split(unsupported.scheme).slot
                self._fault(
                    self.slots[slot].location,
                    f"step: {unsupported.message()} (method {self.name!r})",
                )
            else:
                self._fault(
                    nodes["step"].location, f"{unsupported.message()} (method {self.name!r})"
                )

    def _pipeline(self, home: str, seed: int, *of_slots: tuple[str, Node]) -> Pipeline:
        """The pipeline of a home from what stands in all slots of it; those of auxiliary methods are the same objects where nothing in them differs."""
        slots = dict(of_slots)
        others = {
            names(other)[-1]: self._made_once(
                self._pipeline, other, seed, *(one for one in of_slots if one[0].startswith(other))
            )
            for other in self.under(home)
        }
        own = {
            word: self.model.slot(word, slots[home + word])
            for word in SLOTS
            if home + word in slots
        }
        self._faulty |= None in own.values()
        made = (
            self._made_once(self._steps, home + word, slots[home + word], seed)
            for word, steps in own.items()
            if steps
        )
        steps = list(itertools.chain.from_iterable(made))
        if own.get("smoothness", ()) is None:  # a term that is wrong is not missing
            steps.append(step("potts"))
        try:
            pipeline = Pipeline(steps, others)
            self._note_unread(home, slots, pipeline)
            self._check_beginnings(pipeline)
            return pipeline
        except ParameterError as error:
            self._faulty = True
            self._report_faults(home, slots, error)
            # Something in its place, as there may be further faults.
            return Pipeline(["absolute_difference", "winner_take_all"])

    def _check_beginnings(self, pipeline: Pipeline) -> None:
        """Refuse stages that would fail in every run, as far as that shows without a pair.

        Raises
        ------
        ParameterError
            A line for each of them: its address and its message.
        """
        faults = [*name_faults(pipeline), *direction_faults(pipeline)]
        if faults:
            raise ParameterError("\n".join(f"{address}: {message}" for address, message in faults))

    def _note_unread(self, home: str, slots: Mapping[str, Node], pipeline: Pipeline) -> None:
        """Note which parts of a home its stages read: the smoothness term and auxiliary methods."""
        note = self.model.note_reading
        term = slots.get(f"{home}smoothness", NOTHING)
        for optimizer in pipeline.in_slot("optimization"):
            if pipeline.in_slot("smoothness"):
                message = f"{optimizer.stage.name} {IGNORES_SMOOTHNESS}; the term counts only in the reported energy"
                note(term.location, "" if "smoothness" in optimizer.data else message)

        read_methods = auxiliary_methods_read(pipeline)
        for name, _ in pipeline.auxiliary:
            message = (
                "" if name in read_methods else "no stage reads the map of this auxiliary method"
            )
            note(self.homes[f"{home}auxiliary.{name}."], message)

    def _note_unread_parameters(self, item: Node, stage_step: Step) -> None:
        """Note whether a stage reads the parameters that the script gives it."""
        for name, node in item.entries.items():
            parameter = stage_step.stage.parameters.get(name)
            if parameter is not None and stage_step.parameters.get(name) != parameter.default:
                self.model.note_reading(node.location, unread_reason(stage_step, name))
            if name in stage_step.inner_steps:
                self._note_unread_parameters(node, stage_step.inner_steps[name])

    def under(self, home: str) -> list[str]:
        """The homes of the auxiliary methods of a home."""
        return [
            other
            for other in self.homes
            if re.fullmatch(re.escape(home) + rf"auxiliary\.{NAME}\.", other)
        ]

    def _steps(self, slot: str, node: Node, seed: int) -> list[Step]:
        """The steps of a slot. What only whole settings show is reported: parameters that cannot stand together, and outside files that are missing."""
        found = []
        for i, (item, one) in enumerate(
            zip(node.items, self.model.slot(split(slot).word, node) or (), strict=True)
        ):
            one = _with_seed(one, seed)
            found.append(one)
            self._note_unread_parameters(item, one)
            for _, each_step in one.walk(slot):
                if execution := each_step.stage.execution(each_step.parameters):
                    self.model.executions.setdefault(execution, item.location)
            # Of each stage of a method one message is enough.
            if (slot, i) not in self._reported_stages and (message := self._step_fault(one)):
                self._reported_stages.add((slot, i))
                self._fault(item.location, f"{message} (method {self.name!r})")
        return found

    def _step_fault(self, one: Step) -> str:
        """Return why a stage cannot run with its parameters; empty if it can.

        A search for the best values tries parameters that cannot stand together, and finds
        out that they fail.
        """
        for _, each_step in one.walk(""):
            message = "" if self._tuning else _misfit(each_step)
            if message := message or halo_fault(each_step):
                if each_step is not one:
                    message = f"{one.stage.name}: {message}"
                return message
        return ""

    def _report_faults(self, home: str, slots: Mapping[str, Node], error: ParameterError) -> None:
        """Report why the stages of a method do not fit together.

        Parameters
        ----------
        home : str
            Prefix of the method, such as ``auxiliary.robust.``.
        slots : mapping of str to Node
            Slots of the method and of its auxiliary methods that the script fills, by
            address.
        error : ParameterError
            Error of the pipeline, with a line for each fault.
        """
        steps_of_slots = {
            slot: self.model.slot(split(slot).word, node) for slot, node in slots.items()
        }
        locations: dict[str, Location] = {}
        # Messages about other stages name the matcher or the scheme of the method.
        named_stages: list[tuple[str, Location]] = []
        for slot, steps in steps_of_slots.items():
            rules = SLOTS[split(slot).word]
            items = slots[slot].items
            for i, (item, stage_step) in enumerate(zip(items, steps or (), strict=False)):
                name = stage_step.stage.name
                for address in (slot, f"{slot}.{name}", f"{slot}.{i}"):
                    locations[address] = item.location
                is_of_method = split(slot).home == home
                if is_of_method and (rules.excludes or rules.withholds):
                    named_stages.append((name, item.location))

        for line in str(error).splitlines():
            address, _, message = line.partition(": ")
            for name, location in named_stages:
                named_with_location = f"{name}{location.in_brackets()} makes"
                message = message.replace(f"{name} makes", named_with_location)
            if home + address in locations:
                self._fault(locations[home + address], f"{message} (method {self.name!r})")
                continue
            # A slot is not missing if its stages, or the matcher, have a fault.
            steps_at_address = steps_of_slots.get(home + address, ())
            matcher = steps_of_slots.get(f"{home}matcher", ())
            if steps_at_address is not None and matcher is not None:
                location = self.homes[home]
                self._fault(replace(location, path=join(location.path, address)), message)


def _with_parameter(
    stage_node: Node, stage_step: Step, name: str, value: Node, *, merges: bool
) -> Node:
    """Return the mapping of a stage with a new value of a parameter.

    Parameters
    ----------
    stage_node : Node
        Mapping of the stage, such as ``{use: box, size: 5}``.
    stage_step : Step
        The stage with all its parameters.
    name : str
        Name of the parameter, such as ``size``, or ``inner.size`` in an inner stage.
    value : Node
    merges : bool
        True if a value that is the same inner stage as before changes only the
        parameters that it gives.
    """
    first_name, _, rest = name.partition(".")
    old_value = stage_node.entries.get(first_name)
    if not rest:
        if merges and old_value is not None and first_name in stage_step.inner_steps:
            value = merged_stage(old_value, value)
        return stage_node.having(name, value)
    inner_step = stage_step.inner_steps[first_name]
    if old_value is None or old_value.value is None:
        # The script does not give the inner stage, so its default is written out.
        old_value = _node_of(written_stage(inner_step), value.location)
    inner_node = _with_parameter(entry("", old_value), inner_step, rest, value, merges=merges)
    return stage_node.having(first_name, inner_node)


def _without_parameter(stage_step: Step, name: str) -> Step:
    """Return a step without a parameter, so that its text does not show the parameter.

    Parameters
    ----------
    stage_step : Step
    name : str
        Name of the parameter, such as ``size``, or ``inner.size`` in an inner stage.
    """
    first_name, _, rest = name.partition(".")
    parameters = dict(stage_step.parameters)
    inner_step = stage_step.inner_steps.get(first_name)
    if rest and inner_step is not None:
        parameters[first_name] = _without_parameter(inner_step, rest)
    elif stage_step.is_summand and first_name in FACTORS:
        # The weight marks the cost as a summand.
        parameters[first_name] = parameters_of(weighted)[first_name].default
    else:
        parameters.pop(first_name, None)
    return replace(stage_step, parameters=parameters)


def _node_of(data: Any, location: Location) -> Node:
    """Return the node of plain data."""
    if isinstance(data, Mapping):
        return Node({key: _node_of(item, location) for key, item in data.items()}, location)
    if isinstance(data, list | tuple):
        return Node([_node_of(item, location) for item in data], location)
    return Node(data, location)


def _with_seed(stage_step: Step, seed: int) -> Step:
    """Fill in the seed of a step and of its inner steps, where no seed is given."""
    changes: dict[str, Any] = {
        name: _with_seed(inner_step, seed) for name, inner_step in stage_step.inner_steps.items()
    }
    if "seed" in stage_step.stage.parameters.keys() - stage_step.parameters:
        changes["seed"] = seed
    if not changes:
        return stage_step
    return stage_step.having(**changes)


def _misfit(one: Step) -> str:
    if wrong := one.stage.misfit(one.parameters):
        return f"{one.stage.name}: {wrong}"
    try:
        missing = [str(path) for path in one.files() if not path.exists()]
    except ParameterError as error:
        return str(error)
    return f"{one.stage.name}: no file {missing[0]}" if missing else ""


def _meetings(groups: Sequence[list[Axis]], counts: Sequence[int]) -> Iterator[list[int]]:
    """Choices in which every stage, and every search range, meets every value of each other axis."""
    meets = [
        any(split(axis.name).is_slot or axis.name.startswith("search.") for axis in group)
        for group in groups
    ]
    numbers = range(len(groups))
    yield [0 for _ in numbers]
    for g, h in itertools.product(numbers, numbers):
        if g == h or meets[g]:
            for one, other in itertools.product(
                range(counts[g]), [0] if g == h else range(1, counts[h])
            ):
                yield [one if i == g else other if i == h else 0 for i in numbers]


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
    top = replace(
        root, value={key: value for key, value in root.entries.items() if key != "methods"}
    )
    found, lacked_by_all = [], set(axes(root))
    for key, own in entries.items():
        whole = merge(top, own)
        lacking = {name for name in axes(root) if lacks(whole, name)}
        lacked_by_all &= lacking
        found.append(Method(key, without_axes(whole, lacking - axes(own).keys()), axes(own), model))
    for name in lacked_by_all:
        location = next(
            root.at("sweep", kind).key(name)
            for kind in ("grid", "zip")
            if name in root.at("sweep", kind).entries
        )
        model.fault(
            location,
            found[0].no_home(split(name)[0])
            or "addresses nothing: none of the methods has this slot",
        )
    return found


def report_idle_axes(script_methods: Sequence[Method], model: Model) -> None:
    """Refuse axes without effect on any setting, and note those without effect on some.

    An axis of the whole script is refused if it has no effect on any method that has it.
    """
    for method in script_methods:
        for name, idle in method.idle_axes.items():
            axis = method.axes[name]
            sharing = [method]
            if name not in method.own:
                sharing = [
                    other
                    for other in script_methods
                    if name in other.axes and name not in other.own
                ]
            refused = all(
                name in other.idle_axes and other.idle_axes[name].everywhere for other in sharing
            )
            if refused:
                model.fault(axis.location, idle.fault(name, method.name))
            elif idle.merged:
                model.notes.append(
                    f"{axis.location}: {idle.note(method.name, as_yaml(axis.values[0].data()))}"
                )


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
        model.fault(
            most.homes[""], f"{sum(counts)} runs {whose}; at most {limits.SETTINGS} are possible"
        )
        model.faults.raise_if_any()
