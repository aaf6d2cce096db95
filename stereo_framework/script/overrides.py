"""Changes of a script by the option ``--set``, such as ``matching_cost.truncation=20``.

An override of a key is merged over the script as if a later script contained it. An
override of a parameter waits until the methods are read, because only their stages show
which parameter its address means.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from stereo_framework.core.errors import nearest
from stereo_framework.core.former_names import new_name_hint, parameter_hint
from stereo_framework.core.slots import SLOTS
from stereo_framework.io.document import Document, dict_of
from stereo_framework.io.locations import Location
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.addresses import address_of_stage, ambiguity, split
from stereo_framework.script.keys import KEYS, METHOD_KEYS
from stereo_framework.script.layers import (
    axis_names,
    lacks,
    merged,
    methods_inside,
    without_axes,
    without_null_keys,
)
from stereo_framework.script.methods import Method
from stereo_framework.script.model import Model

_OPTION = "--set"

_KEYS_OF_WHOLE_SCRIPT = ("name", "scenes", "evaluation", "report", "search", "sweep")
"""Keys that an override changes at the top of a script, but not in its methods."""


class Override(NamedTuple):
    """A value that replaces another one.

    Parameters
    ----------
    method : str or None
        Name of the only method that changes. None means all methods.
    address : str
        Address in the method, or the name of a parameter alone.
    value : Document
    """

    method: str | None
    address: str
    value: Document


def apply_overrides(
    script: Document, overrides: Sequence[str], model: Model
) -> tuple[Document, list[Override]]:
    """Merge overrides over a script.

    An axis that varies an overridden value is removed, because the value replaces it. A
    whole slot is merged with the same stage, and it replaces another stage.

    Parameters
    ----------
    script : Document
        The merged script.
    overrides : sequence of str
        Texts such as ``matching_cost.truncation=20``,
        ``aggregation=[{use: box, size: 9}]`` or ``methods.ssd.seed=3``.
    model : Model

    Returns
    -------
    script : Document
    parameter_overrides : list of Override
        Overrides of single parameters, for `set_parameters`.
    """
    parameter_overrides = []
    for text in overrides:
        override = _parsed(text, script, model)
        if override is None:
            continue
        address = split(override.address)
        is_parameter_of_slot = address.word in SLOTS and address.rest != ""
        is_name_alone = "." not in override.address and override.address not in KEYS
        if is_parameter_of_slot or is_name_alone:
            parameter_overrides.append(override)
            continue
        if override.method is not None:
            axes = [override.address, address.slot]
            shared_axes = [axis for axis in axes if axis in axis_names(script)]
            if _report_shared_axis(shared_axes, override, model):
                continue
        script = _with_override(script, override, model)
    return script, parameter_overrides


def _parsed(text: str, script: Document, model: Model) -> Override | None:
    """Parse an override such as ``methods.ssd.seed=3``, or report its fault."""
    key, sign, value_text = text.partition("=")
    key = key.strip()
    if not sign or not key:
        message = "the text is not KEY=VALUE, such as matching_cost.truncation=20"
        model.findings.fault(Location(_OPTION, path=repr(text)), message)
        return None
    value = parse_yaml(value_text, _OPTION, model.findings.faults, key)
    if value is None:
        return None
    if not key.startswith("methods.") and key != "methods":
        return Override(None, key, value)

    method_names = list(script.part("methods").mapping)
    # A name may contain dots, so the longest name that fits is meant.
    for name in sorted(method_names, key=len, reverse=True):
        if key.startswith(f"methods.{name}."):
            return Override(name, key.removeprefix(f"methods.{name}."), value)
    name = key.removeprefix("methods").removeprefix(".").partition(".")[0]
    if name in method_names:
        message = f"a whole method cannot be set; set a part of it, such as {key}.seed=1"
    else:
        allowed = nearest(name, method_names, kind="methods")
        message = f"there is no method {name!r}; {allowed}"
    model.findings.fault(Location(_OPTION, path=key), message)
    return None


def _report_shared_axis(axes: Sequence[str], override: Override, model: Model) -> bool:
    """Report that an override is for one method, but an axis of all methods varies it.

    Parameters
    ----------
    axes : sequence of str
        Axes of all methods that vary the value of the override or a stage around it.
    override : Override
    model : Model

    Returns
    -------
    bool
        True if there is such an axis.
    """
    if not axes:
        return False
    message = (
        f"{axes[0]} is swept for all methods; set the value for all methods, or move the axis "
        "into the methods that need it"
    )
    model.findings.fault(override.value.location, message)
    return True


# --- overrides of keys ----------------------------------------------------------------


def _with_override(script: Document, override: Override, model: Model) -> Document:
    """Merge an override of a key over a script as if a later script contained it."""
    later = _later_script(override)
    location_of_key = _key_that_cannot_be_set(later)
    if location_of_key is not None:
        message = "'include' and 'plugins' cannot be set; write them in the script"
        model.findings.fault(location_of_key, message)
        return script
    model.check(later, KEYS if override.method is None else METHOD_KEYS)
    later = without_null_keys(later)
    replaced_axes = [override.address, *axis_names(later)]
    for prefix, method in methods_inside(later):
        replaced_axes += [prefix + slot for slot in SLOTS if slot in method.mapping]

    method_names = list(script.part("methods").mapping)
    changed_methods = method_names if override.method is None else [override.method]
    later_of_method = later
    if override.method is None:
        later_of_method = later.without_keys(*_KEYS_OF_WHOLE_SCRIPT)
    for name in changed_methods:
        method = script.part("methods", name)
        method_over = later_of_method.at_location(method.location)
        method = merged(without_axes(method, replaced_axes), method_over)
        script = script.with_value(("methods", name), method)
    if override.method is not None:
        return script
    return merged(without_axes(script, replaced_axes), later.at_location(script.location))


def _later_script(override: Override) -> Document:
    """Return the script, or the method, that contains only an override."""
    # The third part of `sweep.grid.NAME` is the name of an axis, which contains dots.
    limit = -1 if override.address.startswith("auxiliary.") else 2
    parts = override.address.split(".", limit)
    prefix = "" if override.method is None else f"methods.{override.method}."
    document = override.value
    for count in reversed(range(len(parts))):
        path = (prefix + ".".join(parts[:count])).rstrip(".")
        location = Location(_OPTION, path=path)
        value = document.at_location(replace(document.location, key=location))
        document = dict_of({parts[count]: value}, location)
    return document


def _key_that_cannot_be_set(document: Document) -> Location | None:
    """Return the location of a key ``include`` or ``plugins`` at any depth, or None."""
    for path in document.locations:
        if path and path[-1] in ("include", "plugins"):
            return document.key(*path)
    return None


# --- overrides of parameters ----------------------------------------------------------


def set_parameters(
    script: Document, methods: Sequence[Method], overrides: Iterable[Override], model: Model
) -> None:
    """Set single parameters of stages, which may be given by their names alone.

    Parameters
    ----------
    script : Document
        The merged script.
    methods : sequence of Method
        Methods of the script, which are changed.
    overrides : iterable of Override
    model : Model
    """
    for override in overrides:
        chosen_methods = [method for method in methods if override.method in (None, method.name)]
        address = override.address
        if "." not in address:
            full_address = _full_address(override, chosen_methods, model)
            if full_address is None:
                continue
            address = full_address
        if override.method is not None:
            shared_axes = [
                axis
                for method in chosen_methods
                for axis in (*method.axes_of(address), *method.axes_around(address))
                if axis not in method.own_axes and axis in axis_names(script)
            ]
            if _report_shared_axis(shared_axes, override, model):
                continue
        # A parameter is not set in methods that cannot have its slot. If no method can
        # have it, each method reports the fault.
        suitable_methods = [
            method for method in chosen_methods if not lacks(method.document, address)
        ]
        for method in suitable_methods or chosen_methods:
            for axis in method.axes_of(address):
                del method.axes[axis]
            method.set_value(address, override.value)


def _full_address(override: Override, methods: Sequence[Method], model: Model) -> str | None:
    """Return the address of a parameter that is given by its name alone.

    The result is None after a fault.
    """
    name = override.address
    addresses = dict.fromkeys(
        address for method in methods for address in _addresses_of(name, method)
    )
    if len(addresses) == 1:
        return next(iter(addresses))
    if addresses:
        message = ambiguity(addresses)
    else:
        remedy = _new_name_hint(name, methods) or nearest(name, KEYS, kind="keys")
        message = f"this is neither a key nor a parameter of any stage; {remedy}"
    model.findings.fault(override.value.location, message)
    return None


def _addresses_of(name: str, method: Method) -> Iterator[str]:
    """Yield the addresses of a parameter in all stages of a method.

    The stages include those of axes and those inside other stages. Auxiliary methods
    are not searched.
    """
    for slot in SLOTS:
        for content in method.all_contents(slot):
            for outer_step in method.steps(slot, content) or ():
                for address, step in outer_step.walk(address_of_stage(slot, outer_step)):
                    if name in step.parameters:
                        yield f"{address}.{name}"


def _new_name_hint(name: str, methods: Iterable[Method]) -> str:
    """Return the clause that gives the new name of a former key or parameter."""
    hint = new_name_hint("script_keys", "script", name)
    if hint:
        return hint
    for method in methods:
        for slot, content in method.slots.items():
            for step in method.steps(slot, content) or ():
                hint = parameter_hint(step.stage.function, name)
                if hint:
                    return hint
    return ""
