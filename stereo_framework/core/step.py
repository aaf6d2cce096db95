"""A stage with all its parameters, as one step of a method."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from stereo_framework.core import registration
from stereo_framework.core.call_context import Stopped
from stereo_framework.core.errors import (
    ArgumentError,
    ParameterError,
    StereoFrameworkError,
    describe_exception,
)
from stereo_framework.core.parameters import (
    Positive,
    as_yaml,
    parameter_faults,
    parameters_of,
    with_defaults,
)
from stereo_framework.core.scene import read_only
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.view import VOLUMES, kernel_array, map_arrays
from stereo_framework.core.volume import CostVolume, as_volume


def weighted(
    volume: CostVolume, *, weight: Positive = 1.0, saturation: Positive | None = None
) -> CostVolume:
    """Saturate and weight a matching cost, as an entry of a list of costs requests.

    Parameters
    ----------
    volume : CostVolume
        Costs of one entry. The result overwrites them if they are writeable and
        float32.
    weight : float
        Factor of this cost in the sum.
    saturation : float or None
        Cost at which the saturated cost ``1 - exp(-cost / saturation)`` is 1 - 1/e, in
        the unit of the matching cost. None: the cost is not saturated.

    Returns
    -------
    CostVolume
        Float32.
    """
    is_writeable = volume.costs.flags.writeable
    costs = volume.costs.astype(np.float32, copy=not is_writeable)
    outside_cost = volume.outside_cost

    if saturation is not None:
        np.divide(costs, np.float32(-saturation), out=costs)
        np.expm1(costs, out=costs)
        np.negative(costs, out=costs)
        outside_cost = -float(np.expm1(-outside_cost / saturation))

    costs *= np.float32(weight)
    return CostVolume(costs, volume.search, weight * outside_cost)


FACTORS = tuple(parameters_of(weighted))
"""Names of the parameters that each entry of a list of costs has in addition."""


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """A stage with all its parameters. `step` creates one.

    Steps are immutable. They can be printed, compared and used as keys.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Values of all parameters of the stage, by name. An entry of a list of costs also
        has the parameters `FACTORS`.
    inner : tuple
        The parts of a step that contains other steps: the costs of a sum, the method
        that a scheme calls, or the auxiliary methods with their names.
    """

    stage: Stage
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inner: tuple[Any, ...] = ()

    @functools.cached_property
    def _key(self) -> str:
        # 1 and True are equal in Python, but they are different values of a parameter.
        return f"{self.stage.slot}.{self.stage.name}{dict(self.parameters)!r}{self.inner!r}"

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Step) and self._key == other._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(step, self.stage.public, **self.parameters), ()

    def __repr__(self) -> str:
        """Return the name of the stage, with the parameters that are no defaults."""
        parameters = {**parameters_of(weighted), **self.stage.parameters}
        texts = []
        for name, value in self.parameters.items():
            if _text(value) != _text(parameters[name].default):
                texts.append(f"{name}={_text(value)}")
        return f"{self.stage.name}({', '.join(texts)})" if texts else self.stage.name

    def having(self, **parameters: Any) -> Step:
        """Return the step with other values of some parameters."""
        return step(self.stage.function, **{**self.parameters, **parameters})

    @property
    def name(self) -> str:
        """Slot and name of the stage, such as ``refinement.median``.

        A step of the engine, which is in no slot, has only one name.
        """
        slot = self.stage.slot
        return slot if self.stage.name == slot else f"{slot}.{self.stage.name}"

    @property
    def added(self) -> bool:
        """Whether the step is an entry of a list of costs, which are added up."""
        return "weight" in self.parameters and SLOTS[self.stage.slot].added

    @functools.cached_property
    def line(self) -> tuple[Any, int]:
        """The step without its number of iterations, and this number.

        The first part is equal for steps that differ only in their number of
        iterations. For a stage that cannot be resumed, the number is 0.
        """
        count_name = self.stage.resume
        if count_name is None:
            return self, 0
        other_parameters = {
            name: value for name, value in self.parameters.items() if name != count_name
        }
        return Step(self.stage, other_parameters), self.parameters[count_name]

    @functools.cached_property
    def reads(self) -> frozenset[str]:
        """The cost volumes and auxiliary maps of its view that the step reads.

        A pipeline keeps these parts of a view only for the steps that read them.
        """
        return (VOLUMES | {"auxiliary"}) & {*self.stage.data}

    @functools.cached_property
    def other_reads(self) -> frozenset[str]:
        """The cost volumes of the other image of the pair that the step reads."""
        if "other" not in self.stage.data:
            return frozenset()
        if self.stage.slot == "optimization":
            return self.stage.other_needs | {"volume"}
        return self.stage.other_needs

    @property
    def touches_volume(self) -> bool:
        """Whether the step creates or reads a cost volume."""
        reads_volume = bool(VOLUMES & (self.reads | self.other_reads))
        return self.stage.slot == "matching_cost" or reads_volume

    @functools.cached_property
    def halo(self) -> int | None:
        """Number of rows above and below a row that the step needs; None: all rows."""
        halo_of_stage = self.stage.halo
        sees_whole_images = self.stage.slot in ("preprocessing", "matcher")
        if halo_of_stage is None or "other" in self.stage.data or sees_whole_images:
            return None
        with _attribute_errors(self.stage):
            halo = halo_of_stage(**_named_parameters(halo_of_stage, self.parameters))
            if halo is not None and (not isinstance(halo, int | np.integer) or halo < 0):
                raise ValueError(
                    f"its halo is {halo!r}; expected a whole number of rows >= 0, or None"
                )
            return halo

    def files(self, scene: Any = None) -> tuple[Path, ...]:
        """Return the external files that affect the result of the step.

        Parameters
        ----------
        scene : Scene, optional
            The scene that is matched. Default: only files that do not depend on it.

        Raises
        ------
        ParameterError
            A file is missing that does not depend on the scene.
        """
        files_of_stage = self.stage.files
        if files_of_stage is None:
            return ()
        with _attribute_errors(self.stage):
            values = {**self.parameters, "scene": scene}
            paths = files_of_stage(**_named_parameters(files_of_stage, values)) or ()
            if isinstance(paths, str | Path):
                paths = [paths]
            return tuple(map(Path, paths))

    def __call__(self, data: Mapping[str, Any]) -> Any:
        """Run the stage on the data that it names."""
        arguments: dict[str, Any] = {}
        for name in self.stage.data:
            # Only a stage that continues fewer iterations has a partial result.
            arguments[name] = data.get(name) if name == "partial" else data[name]
        arguments = map_arrays(arguments, lambda _, array: kernel_array(array))
        # Factors of a sum of costs are no parameters of the stage. Lists are copied,
        # because a stage may change its arguments.
        parameters = {
            name: copy.deepcopy(value)
            for name, value in self.parameters.items()
            if name in self.stage.parameters
        }
        with _attribute_errors(self.stage):
            self.stage.check(parameters)
            result = self.stage.function(**arguments, **parameters)
            if self.stage.slot != "matching_cost":
                return result
            volume = as_volume(result, arguments["search"])
            if volume is not result or self.stage.is_built_in:
                return volume
            # A plug-in may keep its array, so no later step may write into it.
            return map_arrays(volume, lambda _, array: read_only(array))


def step(stage: str | Callable[..., Any] | Step, /, **parameters: Any) -> Step:
    """Return a stage with all its parameters.

    Parameters
    ----------
    stage : str, callable or Step
        Name of a stage, such as ``census`` or ``refinement.median``; the function of a
        stage; or a step, of which some parameters are replaced.
    **parameters
        Values by name. Other parameters have their defaults. A cost that is one of
        several also has a ``weight`` in the sum and a ``saturation``; see `weighted`.

    Raises
    ------
    ParameterError
        There is no such stage or parameter, or a value is not allowed.

    Examples
    --------
    >>> step("box", size=21)
    box(size=21)
    """
    if isinstance(stage, Step):
        return stage.having(**parameters) if parameters else stage
    registered = registration.by_name(stage) if isinstance(stage, str) else registration.of(stage)
    factors = {}
    if SLOTS[registered.slot].added and parameters.keys() & set(FACTORS):
        factors = {name: parameters.pop(name) for name in FACTORS if name in parameters}
        for name, fault in parameter_faults(weighted, factors).items():
            raise ParameterError(f"{registered.slot}.{registered.name}.{name}: {fault}")
        factors = with_defaults(weighted, factors)
    values = with_defaults(registered.function, parameters)
    return Step(registered, MappingProxyType(values | factors))


@contextlib.contextmanager
def _attribute_errors(stage: Stage) -> Iterator[None]:
    """Record at an exception that is raised within the block which stage raised it.

    If blocks are nested, the stage of the innermost block is recorded.
    """
    try:
        yield
    except BaseException as error:
        raised_error = error
        is_expected = isinstance(error, Exception | KeyboardInterrupt | Stopped)
        if not is_expected:
            # A call of sys.exit or a panic in Rust must not end the program.
            text = describe_exception(error)
            if isinstance(error, SystemExit):
                text = f"calls sys.exit({error.code!r})"
            raised_error = RuntimeError(text).with_traceback(error.__traceback__)
        innermost_stage = getattr(error, "raised_by", stage)
        raised_error.raised_by = innermost_stage  # type: ignore[attr-defined]
        raise raised_error  # noqa: B904  The error carries its own traceback.


def blame(error: BaseException) -> str:
    """Return the message of an exception in one line, with the stage that raised it.

    The message of a `StereoFrameworkError` is not changed, because the stage raised it
    on purpose. For any other exception, the line begins with the place in the file of
    the stage at which the exception was raised or passed through.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    # A stage that calls a function with a wrong argument has a programming mistake.
    is_mistake_in_stage = stage is not None and isinstance(error, ArgumentError)
    if isinstance(error, StereoFrameworkError) and not is_mistake_in_stage:
        return str(error)
    if stage is None:
        return describe_exception(error)
    return describe_exception(error, stage.function, f"{stage.slot} stage {stage.name}")


def _text(value: Any) -> str:
    """Return a value as a user writes it, such as 20 instead of 20.0."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, str):
        return value
    if isinstance(value, bool | None):
        return as_yaml(value)
    return repr(value)


def _named_parameters(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values whose names are parameters of a function."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in values.items() if name in names}
