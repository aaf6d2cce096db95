"""Changes of the parameters of a method, for `Pipeline.having`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.former_names import new_name_hint, parameter_hint
from stereo_framework.core.registration import changed_step
from stereo_framework.core.step import Step

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline


class ChangedMethod:
    """The steps and auxiliary methods of a method while their parameters are changed.

    Parameters
    ----------
    addressed_steps : sequence of (str, Step)
        Steps of the method, each with its address.
    auxiliary : mapping of str to Pipeline
        Auxiliary methods by name.
    """

    def __init__(
        self, addressed_steps: Sequence[tuple[str, Step]], auxiliary: Mapping[str, Pipeline]
    ):
        self._addressed_steps = list(addressed_steps)
        self.auxiliary = dict(auxiliary)

    @property
    def steps(self) -> list[Step]:
        """Steps of the method, without the steps of auxiliary methods."""
        return [step for _, step in self._addressed_steps]

    def change(self, changes: Mapping[str, Any]) -> None:
        """Change the values of parameters.

        The order of the changes has no effect, unless two changes concern the same
        parameter.

        Parameters
        ----------
        changes : mapping of str to object
            Values by the name or the address of the parameter, see `Pipeline.having`.

        Raises
        ------
        ParameterError
            If no stage has a given parameter, or if several stages have the parameter.
            The error is also raised if a value is not allowed.
        """
        remaining = dict(changes)
        while remaining:
            name = self._first_name(remaining)
            self._change_parameter(self._place_of(name), remaining.pop(name))

    def _first_name(self, names: Mapping[str, Any]) -> str:
        """Return the name of the parameter that must be changed first.

        A new inner stage may have other parameters. Therefore, inner stages are
        replaced before other values are changed. An inner stage is replaced before the
        stages inside it.
        """
        stages = self._stages()
        first_name = next(iter(names))
        lowest_depth = None
        for name in names:
            places = _places(name, stages)
            if len(places) != 1 or not places[0].selects_inner_stage:
                continue
            depth = places[0].address.count(".")
            if lowest_depth is None or depth < lowest_depth:
                first_name = name
                lowest_depth = depth
        return first_name

    def _change_parameter(self, place: _Place, value: Any) -> None:
        """Change the value of one parameter."""
        full_address = f"{place.address}.{place.parameter}"
        if full_address.startswith("auxiliary."):
            _, method_name, address_in_method = full_address.split(".", 2)
            method = self.auxiliary[method_name]
            self.auxiliary[method_name] = method.having(**{address_in_method: value})
            return
        for index, (address, step) in enumerate(self._addressed_steps):
            if full_address.startswith(f"{address}."):
                parameter = full_address.removeprefix(f"{address}.")
                new_step = changed_step(step, {parameter: value})
                self._addressed_steps[index] = address, new_step
                return

    def _stages(self) -> dict[str, Step]:
        """Return all stages by address, also inner stages and auxiliary methods."""
        stages: dict[str, Step] = {}
        for name, method in self.auxiliary.items():
            stages |= method.stages(f"auxiliary.{name}.")
        for address, step in self._addressed_steps:
            stages |= step.walk(address)
        return stages

    def _place_of(self, name: str) -> _Place:
        """Find the only stage of the method that has a given parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``size``, or its address, such as
            ``aggregation.box.size``. The short address ``box.size`` is also allowed.

        Raises
        ------
        ParameterError
            If no stage has the parameter, or if several stages have the parameter.
        """
        stages = self._stages()
        places = _places(name, stages)
        if len(places) == 1:
            return places[0]
        if places:
            addresses = [place.address for place in places]
            raise ParameterError(
                f"{name}: the stages {' and '.join(addresses)} have this parameter; "
                f"name one stage, as in **{{'{addresses[0]}.{places[0].parameter}': ...}}"
            )
        remedy = _new_name_hint(name, stages) or nearest(name, _names_of_parameters(name, stages))
        raise ParameterError(f"{name}: no stage has this parameter; {remedy}")


class _Place(NamedTuple):
    """A parameter of a stage.

    Parameters
    ----------
    address : str
        Address of the stage, such as ``aggregation.box``.
    parameter : str
        Name of the parameter, such as ``size``.
    selects_inner_stage : bool
    """

    address: str
    parameter: str
    selects_inner_stage: bool


def _places(name: str, stages: Mapping[str, Step]) -> list[_Place]:
    """Return all parameters that a name or an address may mean.

    Parameters
    ----------
    name : str
        Name or address of a parameter, see `Pipeline.having`.
    stages : mapping of str to Step
        All stages by address.
    """
    typed_address, _, parameter = name.rpartition(".")
    matches = []
    for address, step in stages.items():
        if parameter in step.parameters and typed_address in _names_of_stage(address, stages):
            matches.append(address)
    # A complete address may also be a short address of an inner stage. For example,
    # `aggregation.box` may be a stage of the method and the name of an inner stage.
    if typed_address in matches:
        matches = [typed_address]
    places = []
    for address in matches:
        selects_inner_stage = parameter in stages[address].stage.inner_slots
        places.append(_Place(address, parameter, selects_inner_stage))
    return places


def _names_of_stage(address: str, stages: Mapping[str, Step]) -> set[str]:
    """Return all names that mean a stage in the address of a parameter.

    Examples
    --------
    >>> from stereo_framework import step
    >>> outer = step("cross_scale", inner="box")
    >>> stages = dict(outer.walk("aggregation.cross_scale"))
    >>> sorted(_names_of_stage("aggregation.cross_scale.inner", stages))[3:6]
    ['aggregation.cross_scale.inner', 'aggregation.inner', 'box']
    """
    names = {address}
    # The address of an inner stage may begin at any of the stages that contain it.
    parts = address.split(".")
    for count in range(len(parts), 0, -1):
        outer_step = stages.get(".".join(parts[:count]))
        if outer_step is None:
            continue
        rest = parts[count:]
        for outer_name in ("", outer_step.stage.slot, outer_step.stage.name, outer_step.name):
            short_address = ".".join([outer_name, *rest] if outer_name else rest)
            # The complete address of another stage never means this stage.
            if not rest or short_address not in stages:
                names.add(short_address)
    return names


def _names_of_parameters(name: str, stages: Mapping[str, Step]) -> set[str]:
    """Return all parameter names, with stage addresses if `name` has an address."""
    names = set()
    for address, step in stages.items():
        for parameter in step.parameters:
            names.add(f"{address}.{parameter}" if "." in name else parameter)
    return names


def _new_name_hint(name: str, stages: Mapping[str, Step]) -> str:
    """Return a hint with the current name if `name` is a former parameter name."""
    if hint := new_name_hint("arguments", "Pipeline.having", name):
        return hint
    parameter = name.rpartition(".")[2]
    hints = (parameter_hint(step.stage.function, parameter) for step in stages.values())
    return next(filter(None, hints), "")
