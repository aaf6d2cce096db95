"""The settings of a method: one for each choice of values of its axes.

A choice has an index for each group of axes that move together. Each axis of a group
takes its value at this index. The values are put into the slots, the search range and
the seed of the method, and the slots make a pipeline. Settings with the same content of
a slot share the steps of this slot.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.parameters import as_yaml, parameters_of
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import FACTORS, Step, weighted
from stereo_framework.datasets import scene_fits
from stereo_framework.engine.method_checks import steps_below_a_pixel
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.io.document import Document
from stereo_framework.script.addresses import Address, locate, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.effects import (
    IdleAxis,
    idle_reason,
    may_be_idle,
)
from stereo_framework.script.findings import Findings
from stereo_framework.script.methods import Method
from stereo_framework.script.model import SceneValue
from stereo_framework.script.pipelines import PipelineBuilder, StoredResults
from stereo_framework.script.setting import NO_EFFECT, Setting, show
from stereo_framework.script.slot_stages import FAULTY, NOTHING


class _PlacedAxis(NamedTuple):
    """An axis, its address, and the index of its group."""

    group: int
    axis: Axis
    address: Address


class _ChosenValues(NamedTuple):
    """The values of a choice.

    Parameters
    ----------
    slots : dict of str to Document
        Contents of all slots, by address.
    search : dict of str to Document
        Swept keys of the search range.
    seed : int
    labels : dict of str to object
        Value of each axis as tables show it, by the name of the axis.
    """

    slots: dict[str, Document]
    search: dict[str, Document]
    seed: int
    labels: dict[str, Any]


class _KeptChoice(NamedTuple):
    """The choice of a setting, and the names of the axes without effect on it."""

    choice: Sequence[int]
    idle_axes: tuple[str, ...]


class _ExaminedSetting(NamedTuple):
    """A setting, its choice, and the reasons why axes have no effect on it.

    The reasons are clauses, by the name of the axis.
    """

    choice: Sequence[int]
    setting: Setting
    reasons: dict[str, str]


class Expansion:
    """Makes the settings of a method, and reports their faults.

    Parameters
    ----------
    method : Method
    shared : dict of str to object
        Values of the script for all its settings, as in `Setting`.
    tuning : bool
        True if a search for the best values will choose the settings. The search tries
        parameters that cannot be used together, and finds out that they fail.

    Attributes
    ----------
    idle_axes : dict of str to IdleAxis
        Axes without effect on some settings or on all, filled by `settings`.
    """

    def __init__(self, method: Method, shared: dict[str, Any], *, tuning: bool):
        self.method = method
        self.shared = shared
        self.tuning = tuning
        self.idle_axes: dict[str, IdleAxis] = {}
        _report_faulty_groups(method)
        # An axis with a fault has no values.
        groups = [[axis for axis in group if axis.values] for group in method.groups]
        self.groups = [group for group in groups if group]
        self.axis_names = tuple(axis.name for group in self.groups for axis in group)
        placed_axes = [
            _PlacedAxis(index, axis, split(axis.name))
            for index, group in enumerate(self.groups)
            for axis in group
        ]
        # A value is put into the stage that an axis of the stage has chosen before.
        self._placed_axes = sorted(placed_axes, key=lambda placed: method.depth(placed.axis))
        self._kept_choices: list[_KeptChoice] = []
        self._variants: dict[tuple[SceneValue, ...], Expansion] = {}
        self._stored = StoredResults()
        self._pipelines = PipelineBuilder(method, tuning, self._stored)
        self._axes_inside = {name: method.axes_inside(name) for name in self.axis_names}

    @property
    def findings(self) -> Findings:
        """Faults and remarks about the script."""
        return self.method.model.findings

    def settings(self) -> tuple[Setting, ...]:
        """Return all settings, in the order of the axes: the last axis varies fastest.

        Settings that differ only in axes without an effect on them are one setting.
        With `tuning`, a few choices are checked, and the result is empty.
        """
        counts = [min(len(axis.values) for axis in group) for group in self.groups]
        choices: Iterable[Sequence[int]] = itertools.product(*map(range, counts))
        if self.tuning:
            choices = covering_choices(self.groups, counts)
        candidates = [
            name for name in self.axis_names if may_be_idle(split(name)) or self._axes_inside[name]
        ]
        if candidates:
            choices = list(choices)
        if self.method.scene_values and not self.tuning:
            choices = list(choices)
        settings = tuple(self._setting(choice) for choice in choices)
        if candidates and not self._pipelines.has_fault:
            settings = self._without_repetitions(choices, settings, candidates)
        elif self.method.scene_values and not self.tuning:
            self._kept_choices = [_KeptChoice(choice, ()) for choice in choices]
        self._check_scene_values(counts)
        self._stored.clear()
        return () if self.tuning else settings

    def setting(self, choice: Sequence[int]) -> Setting:
        """Return the setting of a choice, which has an index for each group of axes.

        Raises
        ------
        ScriptError
            The setting has a fault.
        """
        setting = self._setting(choice)
        self.findings.faults.raise_if_any()
        return setting

    # --- scenes -----------------------------------------------------------------------

    def runs_on(self, scene_name: str) -> bool:
        """Return whether the method may run on a scene."""
        scenes = self.method.scenes
        return not scenes or any(scene_fits(scene_name, name) for name in scenes)

    def on_scene(self, scene_name: str) -> "Expansion":
        """Return the expansion with the values that the script sets on a scene.

        Without such values, the result is this expansion.
        """
        values = tuple(
            scene_value
            for scene_value in self.method.scene_values
            if scene_fits(scene_name, scene_value.scenes)
        )
        return self._variant(values) if values else self

    def _variant(self, values: tuple[SceneValue, ...]) -> "Expansion":
        """Return the expansion of the method with values that the script sets."""
        if values not in self._variants:
            variant_method = self.method.with_scene_values(values)
            self._variants[values] = Expansion(variant_method, self.shared, tuning=self.tuning)
        return self._variants[values]

    def settings_on(self, scene_name: str, settings: Sequence[Setting]) -> tuple[Setting, ...]:
        """Return the settings of the method on a scene.

        Parameters
        ----------
        scene_name : str
            Full name of the scene.
        settings : sequence of Setting
            Settings of the method without values for single scenes.

        Raises
        ------
        ScriptError
            The values that the script sets on the scene do not fit together.
        """
        if not self.runs_on(scene_name):
            return ()
        variant = self.on_scene(scene_name)
        if variant is self:
            return tuple(settings)
        settings_on_scene = tuple(
            variant._setting(kept.choice, kept.idle_axes) for kept in self._kept_choices
        )
        self.findings.faults.raise_if_any()
        return settings_on_scene

    def setting_on(self, scene_name: str, choice: Sequence[int]) -> Setting:
        """Return the setting of a choice, with the values for a scene.

        Raises
        ------
        ScriptError
            The setting has a fault.
        """
        return self.on_scene(scene_name).setting(choice)

    def _check_scene_values(self, counts: Sequence[int]) -> None:
        """Report the faults of the values that the script sets on some scenes.

        Parameters
        ----------
        counts : sequence of int
            Number of values of each group of axes.
        """
        values_of_scenes: dict[str, list[SceneValue]] = {}
        for scene_value in self.method.scene_values:
            values_of_scenes.setdefault(scene_value.scenes, []).append(scene_value)
            for axis in self.method.axes_of(scene_value.address):
                message = (
                    f"{axis} is swept, so that it cannot be set on single scenes; "
                    "remove the axis or this value"
                )
                self.method.fault(scene_value.location, message)
        for values in values_of_scenes.values():
            variant = self._variant(tuple(values))
            for choice in covering_choices(self.groups, counts):
                variant._setting(choice)

    def _setting(self, choice: Sequence[int], idle_axes: Collection[str] = ()) -> Setting:
        """Return the setting of a choice.

        The axes without effect take their first values, and tables show no value.
        """
        values = self._values(choice, idle_axes)
        search = self._stored.of(self._search_range, *values.search.items())
        pipeline = self._pipelines.pipeline("", values.seed, *values.slots.items())
        self._check_search_step(pipeline, values.search)
        labels = tuple(values.labels[name] for name in self.axis_names)
        return Setting(
            self.method.name,
            pipeline,
            search,
            values.seed,
            self.axis_names,
            labels,
            self.shared,
            self.method.scenes or self.method.default_scenes,
        )

    def _values(self, choice: Sequence[int], idle_axes: Collection[str]) -> _ChosenValues:
        """Return the values of a choice."""
        slots = dict(self.method.slots)
        search: dict[str, Document] = {}
        seed = self.method.seed
        labels: dict[str, Any] = {}
        for group, axis, address in self._placed_axes:
            value = axis.values[0 if axis.name in idle_axes else choice[group]]
            if address.word == "search":
                search[address.rest] = value
                labels[axis.name] = value.data
            elif address.word == "seed":
                seed = self.method.seed if value is FAULTY else value.data
                labels[axis.name] = seed
            else:
                before = slots.get(address.slot, NOTHING)
                content = self._stored.of(
                    self.method.with_value, before, address, value, axis.location
                )
                slots[address.slot] = content
                labels[axis.name] = self._stored.of(self._label, axis.name, content)
        labels |= dict.fromkeys(idle_axes, NO_EFFECT)
        return _ChosenValues(slots, search, seed, labels)

    def _label(self, name: str, content: Document) -> Any:
        """Return the value of an axis as tables show it.

        A stage is a text with the parameters that differ from the default values. The
        text leaves out parameters that other axes vary.

        Parameters
        ----------
        name : str
            Name of the axis.
        content : Document
            Content of the slot with the value of the axis.
        """
        address = split(name)
        steps = self.method.steps(address.slot, content)
        if steps is None:
            return None
        shown_steps = list(steps)
        for other in self._axes_inside[name]:
            swept = self.method.parameter_in(content, split(other))
            if swept is not None:
                shown_steps[swept.index] = _without_parameter(shown_steps[swept.index], swept.name)
        if address.is_slot:
            return show(shown_steps)
        located = locate(address.slot, steps, address.rest)
        if isinstance(located, str):
            return None
        index, parameter = located
        value = shown_steps[index].value_at(parameter)
        return str(value) if isinstance(value, Step) else value

    # --- axes without effect ----------------------------------------------------------

    def _without_repetitions(
        self,
        choices: Iterable[Sequence[int]],
        settings: Sequence[Setting],
        candidates: Sequence[str],
    ) -> tuple[Setting, ...]:
        """Return each setting once, and store the axes without effect in `idle_axes`.

        A setting that equals no other setting stays as it is.
        """
        groups: dict[tuple[str, ...], list[_ExaminedSetting]] = {}
        for choice, setting in zip(choices, settings, strict=True):
            reasons = {
                name: reason
                for name in candidates
                if (reason := self._idle_reason(name, choice, setting))
            }
            labels = setting.axes | dict.fromkeys(reasons, NO_EFFECT)
            examined = _ExaminedSetting(choice, setting, reasons)
            groups.setdefault((repr(labels), *reasons), []).append(examined)

        for name in candidates:
            self._store_idle_axis(name, list(groups.values()))
        different_settings = []
        for examined, *repetitions in groups.values():
            if repetitions:
                different_settings.append(self._setting(examined.choice, examined.reasons))
                self._kept_choices.append(_KeptChoice(examined.choice, tuple(examined.reasons)))
            else:
                different_settings.append(examined.setting)
                self._kept_choices.append(_KeptChoice(examined.choice, ()))
        return tuple(different_settings)

    def _store_idle_axis(self, name: str, groups: Sequence[Sequence[_ExaminedSetting]]) -> None:
        """Store an axis that has no effect on some settings.

        Parameters
        ----------
        name : str
            Name of the axis.
        groups : sequence of sequences of _ExaminedSetting
            Settings, grouped by the values that have an effect.
        """
        reasons = [settings[0].reasons.get(name, "") for settings in groups]
        merged = 0
        for settings in groups:
            if name in settings[0].reasons and len(settings) > 1:
                merged += len(settings)
        everywhere = all(reasons)
        if merged or everywhere:
            different_reasons = tuple(dict.fromkeys(filter(None, reasons)))
            self.idle_axes[name] = IdleAxis(different_reasons, merged, everywhere)

    def _idle_reason(self, name: str, choice: Sequence[int], setting: Setting) -> str:
        """Return why an axis has no effect on a setting; empty if it may have one."""
        if name == "seed":
            if self._pipelines.draws_random_numbers(self._values(choice, ()).slots):
                return ""
            return f"no stage of method {self.method.name!r} draws random numbers"
        reason = idle_reason(split(name), setting.pipeline, setting.search)
        if reason:
            return reason
        axes_inside = self._axes_inside[name]
        axis = self.method.axes[name]
        if not axes_inside or len(axis.values) == 1 or axis.zipped:
            return ""
        group = next(placed.group for placed in self._placed_axes if placed.axis.name == name)
        for index in range(len(axis.values)):
            other_choice = list(choice)
            other_choice[group] = index
            if self._setting(other_choice).pipeline != setting.pipeline:
                return ""
        verb = "replaces" if len(axes_inside) == 1 else "replace"
        return f"{' and '.join(axes_inside)} {verb} all in which its values differ"

    # --- the search range -------------------------------------------------------------

    def _search_range(self, *swept: tuple[str, Document]) -> dict[str, float]:
        """Return the keys of the search range as numbers, and report a wrong range."""
        documents = self.method.search | dict(swept)
        if FAULTY in documents.values():
            return {}
        numbers: dict[str, Any] = {key: document.data for key, document in documents.items()}
        # The scene determines the keys that the script lacks. Here, they take values
        # that suit the other keys.
        search_step = numbers.get("step", 1)
        minimum = numbers.get("minimum", 0)
        maximum = minimum + 4 * max(search_step, 1)
        if "minimum" in numbers:
            maximum = numbers.get("maximum", maximum)
        try:
            SearchRange(minimum, maximum, search_step)
        except ParameterError as error:
            key, _, message = str(error).removeprefix("search").removeprefix(".").partition(": ")
            last_document = list(documents.values())[-1]
            self.findings.fault(documents.get(key, last_document).location, message)
        return numbers

    def _check_search_step(self, pipeline: Pipeline, swept: Mapping[str, Document]) -> None:
        """Report stages that need steps of whole pixels, but get a smaller step."""
        documents: dict[str, Document] = self.method.search | dict(swept)
        if FAULTY in documents.values():
            return
        search_step = documents["step"].data if "step" in documents else None
        for unsupported in steps_below_a_pixel(pipeline, search_step):
            message = unsupported.message()
            if unsupported.scheme:
                scheme = self.method.slots[split(unsupported.scheme).slot]
                self.method.fault(scheme.location, f"step: {message}")
            else:
                self.method.fault(documents["step"].location, message)


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


# --- choices --------------------------------------------------------------------------


def covering_choices(
    groups: Sequence[Sequence[Axis]], counts: Sequence[int]
) -> Iterator[list[int]]:
    """Yield a few choices that show every fault of a sweep.

    Each stage, and each search range, meets each value of each other axis.

    Parameters
    ----------
    groups : sequence of sequences of Axis
        Groups of axes that move together.
    counts : sequence of int
        Number of values of each group.
    """
    changes_stages = [any(map(_is_stage_or_search_range, group)) for group in groups]
    first_choice = [0] * len(groups)
    yield first_choice
    for group, count in enumerate(counts):
        for index in range(count):
            yield _with_indices(first_choice, {group: index})
    for group, other_group in itertools.permutations(range(len(groups)), 2):
        if not changes_stages[group]:
            continue
        # The first value of the other group was met above.
        other_indices = range(1, counts[other_group])
        for index, other_index in itertools.product(range(counts[group]), other_indices):
            yield _with_indices(first_choice, {group: index, other_group: other_index})


def _is_stage_or_search_range(axis: Axis) -> bool:
    """Return whether an axis varies a whole slot or the search range."""
    return split(axis.name).is_slot or axis.name.startswith("search.")


def _with_indices(choice: Sequence[int], indices: Mapping[int, int]) -> list[int]:
    """Return a choice with other indices of some groups."""
    return [indices.get(group, index) for group, index in enumerate(choice)]


# --- checks of all methods ------------------------------------------------------------


def _report_faulty_groups(method: Method) -> None:
    """Report axes that do not fit together, or that address nothing."""
    names_so_far: list[str] = []
    for group in method.groups:
        lengths = {axis.name: len(axis.values) for axis in group if axis.values}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            message = f"axes that move together need equally many values: {listed}"
            method.model.findings.fault(group[0].location, message)
        for axis in group:
            message = method.fault_of_prefix(split(axis.name).home)
            if message:
                method.fault(axis.location, message)
            for name in method.axes_of(axis.name):
                if name in names_so_far:
                    message = f"varies the same parameter as the axis {name}; keep one of the two"
                    method.fault(axis.location, message)
            names_so_far.append(axis.name)


def report_idle_axes(expansions: Sequence[Expansion]) -> None:
    """Refuse axes without any effect, and note axes that are idle in some settings.

    An axis of the whole script is refused if it has no effect on any method that has
    it.
    """
    for expansion in expansions:
        method = expansion.method
        for name, idle_axis in expansion.idle_axes.items():
            axis = method.axes[name]
            sharing = [expansion]
            if name not in method.own_axes:
                sharing = [
                    other
                    for other in expansions
                    if name in other.method.axes and name not in other.method.own_axes
                ]
            is_refused = all(
                name in other.idle_axes and other.idle_axes[name].everywhere for other in sharing
            )
            if is_refused:
                message = idle_axis.fault(name, method.name)
                expansion.findings.fault(axis.location, message)
            elif idle_axis.merged:
                note = idle_axis.note(method.name, as_yaml(axis.values[0].data))
                expansion.findings.notes.append(f"{axis.location}: {note}")


def refuse_too_many_settings(methods: Sequence[Method]) -> None:
    """Refuse more settings than the memory can hold, before any setting is made.

    Raises
    ------
    ScriptError
        There are too many settings. The error also contains all earlier faults.
    """
    counts = [math.prod(len(group[0].values) for group in method.groups) for method in methods]
    if sum(counts) <= limits.SETTINGS:
        return
    largest_method = methods[counts.index(max(counts))]
    owner = f"method {largest_method.name!r}" if len(methods) == 1 else f"{len(methods)} methods"
    findings = largest_method.model.findings
    message = f"the sweep has {sum(counts)} runs of {owner}; at most {limits.SETTINGS} are possible"
    findings.fault(largest_method.locations[""], message)
    findings.faults.raise_if_any()
