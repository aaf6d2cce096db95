"""Explains an axis: its way from a line of a script to the parameter of a stage."""

from stereo_framework.core.errors import ParameterError, nearest, source_location
from stereo_framework.core.parameters import as_yaml, describe, parameters_of
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step, weighted
from stereo_framework.script.addresses import Address, locate, names, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.expansion import Expansion
from stereo_framework.script.load import Script
from stereo_framework.script.setting import NO_EFFECT, Setting


def explain_axis(script: Script, name: str) -> str:
    """Return the way of an axis from its line in a script to the parameter of a stage.

    Parameters
    ----------
    script : Script
    name : str
        Name of the axis, such as ``aggregation.box.size``.

    Returns
    -------
    str
        Text whose lines begin with the objects of the package that the values of the
        axis pass: `Axis`, `Method`, `Setting`, `Pipeline`, `Step` and `Stage`.

    Raises
    ------
    ParameterError
        The script has no such axis.

    Examples
    --------
    >>> from stereo_framework.script import load
    >>> script = load("window", overrides=["sweep.grid.aggregation.box.size=[3, 9]"])
    >>> print(explain_axis(script, "aggregation.box.size"))
    Axis: --set sweep.grid.aggregation.box.size has 2 values: 3, 9
    Method: 'window' has aggregation: {use: box, size: 9}
    Setting: the first of 2 settings has the value 3
    Pipeline: absolute_difference > box(size=3) > winner_take_all
    Step: aggregation.box: box(size=3)
    Stage: box has the parameter size: a whole number >= 1; default: 9
    """
    expansions = [expansion for expansion in script.expansions if name in expansion.method.axes]
    if not expansions:
        all_names = {axis for expansion in script.expansions for axis in expansion.method.axes}
        remedy = nearest(name, sorted(all_names), kind="axes")
        raise ParameterError(f"{script.name}: there is no axis {name!r}; {remedy}")
    expansion = expansions[0]
    axis = expansion.method.axes[name]
    settings = [
        setting
        for setting in script.settings
        if setting.method == expansion.method.name and setting.axes[name] != NO_EFFECT
    ]
    setting = settings[0]
    value = _shown(setting.axes[name])
    lines = [
        _line_of_axis(axis),
        _line_of_method(expansion, axis),
        f"Setting: the first of {len(settings)} settings has the value {value}",
        f"Pipeline: {_text_of_pipeline(setting)}",
    ]
    address = split(name)
    if address.word in SLOTS:
        lines += _lines_of_step(setting, address)
    elif address.word == "search":
        lines[-1] = f"Setting: its search range has {address.rest} {value}"
    else:
        lines[-1] = f"Setting: {value} is the seed of all stages without a seed of their own"
    if len(expansions) > 1:
        others = ", ".join(repr(other.method.name) for other in expansions[1:])
        lines[1] += f"; other methods with this axis: {others}"
    return "\n".join(lines)


def _line_of_axis(axis: Axis) -> str:
    """Return the line that shows the location and the values of an axis."""
    values = ", ".join(_shown(value.data) for value in axis.values)
    noun = "value" if len(axis.values) == 1 else "values"
    line = f"Axis: {axis.location} has {len(axis.values)} {noun}: {values}"
    return f"{line}; they move together with the other axes of the zip" if axis.zipped else line


def _line_of_method(expansion: Expansion, axis: Axis) -> str:
    """Return the line that shows what an axis changes in a method."""
    method = expansion.method
    address = split(axis.name)
    if address.word == "search":
        content = f"no {axis.name}, so that the scene decides it"
        if address.rest in method.search:
            content = f"{axis.name}: {method.search[address.rest].data}"
    elif address.word == "seed":
        content = f"seed: {method.seed}"
    else:
        contents = [_shown(content.data) for content in method.contents(address.slot)]
        content = f"{address.slot}: {' or '.join(contents)}"
    return f"Method: {method.name!r} has {content}"


def _shown(data: object) -> str:
    """Return data as a line of YAML."""
    if isinstance(data, dict):
        entries = (f"{name}: {_shown(value)}" for name, value in data.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(data, list):
        items = [_shown(item) for item in data]
        return items[0] if len(items) == 1 else f"[{', '.join(items)}]"
    return data if isinstance(data, str) else as_yaml(data)


def _text_of_pipeline(setting: Setting) -> str:
    """Return the steps of a setting's pipeline."""
    return repr(setting.pipeline).removeprefix("Pipeline(").removesuffix(")")


def _lines_of_step(setting: Setting, address: Address) -> list[str]:
    """Return the lines that show the step and the stage at an address."""
    pipeline = setting.pipeline
    for auxiliary_name in names(address.home):
        pipeline = dict(pipeline.auxiliary)[auxiliary_name]
    steps = pipeline.in_slot(address.word)
    if not address.rest:
        lines = []
        for step in steps:
            place = source_location(step.stage.function)
            lines.append(f"Step: {address.slot}: {step}")
            lines.append(f"Stage: {step.stage.name} is the function at {place}")
        return lines
    located = locate(address.slot, steps, address.rest)
    if isinstance(located, str):
        return []
    index, name = located
    step = steps[index]
    line_of_step = f"Step: {address.slot}.{step.stage.name}: {step}"
    *inner_names, parameter_name = name.split(".")
    for inner_name in inner_names:
        step = step.inner_steps[inner_name]
    return [line_of_step, f"Stage: {_parameter_in_words(step, parameter_name)}"]


def _parameter_in_words(step: Step, name: str) -> str:
    """Describe a parameter of a stage: its allowed values and its default value."""
    parameter = {**parameters_of(weighted), **step.stage.parameters}[name]
    text = f"{step.stage.name} has the parameter {name}: {describe(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return text
    default = parameter.default
    return f"{text}; default: {default if isinstance(default, Step) else as_yaml(default)}"
