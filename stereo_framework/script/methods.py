"""Methods as they run: the top of a script merged under each of them, and all their settings."""

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.parameters import as_yaml
from stereo_framework.core.registration import step
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.slots import SLOTS, exclusions
from stereo_framework.core.step import Step
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
from stereo_framework.script.merging import axes, filled, lacks, merge, tree, without_axes
from stereo_framework.script.model import Model
from stereo_framework.script.reading import FAULTY, NOTHING, Axis, entry, is_number
from stereo_framework.script.rehearsal import direction_faults, name_faults
from stereo_framework.script.specs import (
    NAME,
    NO_EFFECT,
    Address,
    Setting,
    locate,
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
        self.axes = _each_once(model.sweep(whole.at("sweep")), model)
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

    def put(self, at: Address, node: Node, value: Node, location: Location) -> tuple[Node, Any]:
        """What stands in a slot, with a value at an address in it, and how that value is shown.

        Parameters
        ----------
        at : Address
            Of the slot itself or of a parameter of one of its stages.
        node, value : Node
        location : Location
            Of the address. What is wrong with it is reported, and nothing changed.
        """
        if not at.rest:
            steps = self.model.slot(at.word, value)
            return value, None if steps is None else show(steps)
        steps = self.model.slot(at.word, node)
        if steps is None:
            return node, None
        found = locate(at.slot, steps, at.rest)
        if isinstance(found, str):
            remedy = self._remedy_in_axis_of_stage(f"{at.slot}.{at.rest}")
            self._fault(location, f"{found}{remedy} (method {self.name!r})")
            return node, None
        i, name = found
        stages = [*node.items]
        stages[i] = _with_parameter(entry(at.word, stages[i]), steps[i], name, value)
        changed = replace(node, value=stages) if isinstance(node.value, list) else stages[0]
        steps = self.model.slot(at.word, changed)
        return changed, steps and _value_in_tables(steps[i], name)

    def _remedy_in_axis_of_stage(self, address: str) -> str:
        """Return a clause for a parameter that only some inner stages of an axis have.

        The clause is empty if no axis varies the inner stage at the address.
        """
        for name in self.axes:
            if address.startswith(f"{name}.") and not split(name).is_slot:
                parameter = address.removeprefix(f"{name}.")
                return (
                    f"; the axis {name} also has stages without this parameter, so write its "
                    f"values there: {{use: NAME, {parameter}: ...}}"
                )
        return ""

    def set(self, address: str, node: Node) -> None:
        """Set a parameter in every stage that may stand at its address: the slot's own or, where the slot is swept, each of those."""
        at = split(address)
        if wrong := self.no_home(at.home):
            self._fault(node.location, wrong)
        elif axis := self.axes.get(at.slot):
            self.axes[at.slot] = replace(
                axis,
                values=tuple(self.put(at, value, node, node.location)[0] for value in axis.values),
            )
        else:
            self.slots[at.slot] = self.put(
                at, self.slots.get(at.slot, NOTHING), node, node.location
            )[0]

    def written(self, axis: Axis) -> list[Any]:
        """The values of an axis as a script writes them, checked."""
        at = split(axis.name)
        if at.word not in SLOTS:
            return [node.value for node in axis.values]
        if at.is_slot:
            return [written(at.word, self.model.slot(at.word, node) or ()) for node in axis.values]
        first = self.axes[at.slot].values[0] if at.slot in self.axes else self.slots[at.slot]
        values = []
        for node in axis.values:
            changed, value = self.put(at, first, node, axis.location)
            inner_step = self._inner_step_at(at, changed)
            if inner_step is not None:
                value = written_stage(inner_step)
            values.append(value)
        return values

    def _inner_step_at(self, at: Address, node: Node) -> Step | None:
        """Return the inner step at an address of a slot's content, or None."""
        steps = self.model.slot(at.word, node)
        if not steps:
            return None
        located = locate(at.slot, steps, at.rest)
        if isinstance(located, str):
            return None
        index, name = located
        value = steps[index].value_at(name)
        return value if isinstance(value, Step) else None

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
        self._placed = sorted(placed, key=_depth_of_axis)
        self._memo: dict[tuple[Any, ...], Any] = {}
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
                slots[at.slot], shown[axis.name] = self._made_once(
                    self.put, at, before, value, axis.location
                )
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
        if not split(name).is_slot:
            return [other for other in self._names if other.startswith(f"{name}.")]
        return [
            other
            for other in self._names
            if other != name and split(other).slot == split(name).slot
        ]

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
            return f"{' and '.join(parameters)} replaces all in which its values differ"
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


def _depth_of_axis(placed_axis: tuple[int, Axis, Address]) -> tuple[bool, int]:
    """Return a sort key that places axes of stages before axes of their parameters."""
    _, axis, address = placed_axis
    return not address.is_slot, axis.name.count(".")


def _with_parameter(stage_node: Node, stage_step: Step, name: str, value: Node) -> Node:
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
    """
    first_name, _, rest = name.partition(".")
    if not rest:
        return stage_node.having(name, value)
    inner_step = stage_step.inner_steps[first_name]
    inner_node = stage_node.entries.get(first_name)
    if inner_node is None or inner_node.value is None:
        # The script does not give the inner stage, so its default is written out.
        inner_node = _node_of(written_stage(inner_step), value.location)
    inner_node = _with_parameter(entry("", inner_node), inner_step, rest, value)
    return stage_node.having(first_name, inner_node)


def _node_of(data: Any, location: Location) -> Node:
    """Return the node of plain data."""
    if isinstance(data, Mapping):
        return Node({key: _node_of(item, location) for key, item in data.items()}, location)
    if isinstance(data, list | tuple):
        return Node([_node_of(item, location) for item in data], location)
    return Node(data, location)


def _value_in_tables(stage_step: Step, name: str) -> Any:
    """Return the value of a parameter for tables, where an inner stage is a text."""
    value = stage_step.value_at(name)
    if isinstance(value, Step):
        return str(value)
    return value


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


def _each_once(axes: dict[str, Axis], model: Model) -> dict[str, Axis]:
    """The same axes, each value once; of axes that move together, each row of values."""
    for group in _groups([*axes.values()]):
        if len({len(axis.values) for axis in group}) == 1:
            rows: dict[tuple[str, ...], tuple[Any, ...]] = {}
            for row in zip(*(axis.values for axis in group), strict=True):
                rows.setdefault(
                    tuple(
                        _same_run(axis.name, value, model)
                        for axis, value in zip(group, row, strict=True)
                    ),
                    row,
                )
            for axis, values in zip(group, zip(*rows.values(), strict=True), strict=False):
                axes[axis.name] = replace(axis, values=values)
    return axes


def _same_run(name: str, value: Node, model: Model) -> str:
    """Equal for values of an axis that make equal runs."""
    if split(name).is_slot:
        steps = model.slot(split(name).word, value) or ()
        return repr([(step.is_summand, step.stage.name, step.parameters) for step in steps])
    data = value.data()
    return repr(float(data) if is_number(data) else data)


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
