"""Steps of a method: stages with parameter values."""

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
from stereo_framework.core.stage import Stage
from stereo_framework.core.view import VOLUMES, kernel_array, map_arrays
from stereo_framework.core.volume import CostVolume, as_volume


def weighted(
    volume: CostVolume, *, weight: Positive = 1.0, saturation: Positive | None = None
) -> CostVolume:
    """Saturate and weight a matching cost for a sum of matching costs.

    Parameters
    ----------
    volume : CostVolume
        Cost volume of one matching cost. A writeable float32 array is overwritten.
    weight : float
        Factor that multiplies the costs.
    saturation : float or None
        Constant of the saturated cost ``1 - exp(-cost / saturation)``, in the unit of
        the matching cost. None means no saturation.

    Returns
    -------
    CostVolume
        Saturated and weighted costs, float32.
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
"""Names of the additional parameters of matching costs in a sum."""


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """A stage with parameter values. Create a step with `step`.

    Steps are immutable and can be keys of dictionaries.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Values of all parameters of the stage, by name. Matching costs in a sum also
        have a ``weight`` and a ``saturation``.
    """

    stage: Stage
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def _key(self) -> str:
        # The key is a text, because 1 and True are equal in Python.
        return f"{self.name}{dict(self.parameters)!r}"

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Step) and self._key == other._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(step, self.stage.public, **self.parameters), ()

    def __repr__(self) -> str:
        """Return a text such as ``box(size=21)``, without default values."""
        parameters = {**parameters_of(weighted), **self.stage.parameters}
        texts = []
        for name, value in self.parameters.items():
            if _text(value) != _text(parameters[name].default):
                texts.append(f"{name}={_text(value)}")
        return f"{self.stage.name}({', '.join(texts)})" if texts else self.stage.name

    def having(self, **parameters: Any) -> Step:
        """Return a copy of the step with new values of some parameters."""
        return step(self.stage.function, **{**self.parameters, **parameters})

    @property
    def name(self) -> str:
        """Name of the step: the names of its slot and its stage.

        Examples
        --------
        >>> step("median").name
        'refinement.median'
        """
        return f"{self.stage.slot}.{self.stage.name}"

    @property
    def short_name(self) -> str:
        """Name of the stage, which is shown while the step runs."""
        return self.stage.name

    @property
    def is_summand(self) -> bool:
        """Return whether the step is a matching cost in a sum."""
        return "weight" in self.parameters and self.stage.rules.added

    @property
    def is_in_list(self) -> bool:
        """Return whether the step belongs to a slot that takes a list of stages.

        The address of such a step ends with the name of the stage.
        """
        return self.stage.rules.many or self.is_summand

    # --- rules for the order of steps and for their memory ----------------------------

    @property
    def iterations(self) -> int:
        """Return the number of iterations, or 0 if the step cannot be continued."""
        return 0 if self.stage.resume is None else self.parameters[self.stage.resume]

    @functools.cached_property
    def without_iterations(self) -> Step:
        """A copy of the step without its number of iterations.

        If the copies of two steps are equal, only their iterations differ.
        """
        if self.stage.resume is None:
            return self
        other_parameters = {
            name: value for name, value in self.parameters.items() if name != self.stage.resume
        }
        return Step(self.stage, other_parameters)

    @functools.cached_property
    def reads(self) -> frozenset[str]:
        """Names of the data that the step reads: ``volume``, ``raw`` or ``auxiliary``.

        The pipeline keeps data in memory only for later steps that read the data.
        """
        return (VOLUMES | {"auxiliary"}) & {*self.stage.data}

    @property
    def reads_other(self) -> bool:
        """Return whether the step reads the view of the other image."""
        return "other" in self.stage.data

    @functools.cached_property
    def other_reads(self) -> frozenset[str]:
        """Names of the required cost volumes of the other image."""
        if not self.reads_other:
            return frozenset()
        if self.stage.rules.chooses_from_costs:
            # An optimizer for both images needs both cost volumes.
            return self.stage.other_needs | {"volume"}
        return self.stage.other_needs

    @property
    def makes(self) -> frozenset[str]:
        """Names of the data that the step creates for later steps."""
        return self.stage.rules.makes

    @property
    def touches_volume(self) -> bool:
        """True if the step creates or reads a cost volume."""
        return bool(VOLUMES & (self.makes | self.reads | self.other_reads))

    @property
    def is_for_both_images(self) -> bool:
        """Return whether the step runs once for both images of a pair."""
        return self.stage.rules.is_for_both_images

    @functools.cached_property
    def halo(self) -> int | None:
        """Number of neighbouring rows that affect a row; None for all rows."""
        halo_of_stage = self.stage.halo
        if halo_of_stage is None or self.reads_other or self.stage.rules.needs_whole_images:
            return None
        with _attribute_errors(self.stage):
            halo = halo_of_stage(**_named_parameters(halo_of_stage, self.parameters))
            if halo is not None and (not isinstance(halo, int | np.integer) or halo < 0):
                raise ValueError(
                    f"its halo is {halo!r}; expected a whole number of rows >= 0, or None"
                )
            return halo

    def files(self, scene: Any = None) -> tuple[Path, ...]:
        """Return the external files that the step uses, such as trained models.

        Parameters
        ----------
        scene : Scene, optional
            Scene of the images. Files that depend on the scene are returned only with a
            scene.

        Raises
        ------
        ParameterError
            A file is missing.
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
        """Call the stage with its data and parameters, and return its result."""
        arguments: dict[str, Any] = {}
        for name in self.stage.data:
            # The data ``partial`` exists only after an earlier run with fewer
            # iterations.
            arguments[name] = data.get(name) if name == "partial" else data[name]
        arguments = map_arrays(arguments, lambda _, array: kernel_array(array))
        # The function of the stage has no parameters `FACTORS`. Lists are copied,
        # because a stage may change its arguments.
        parameters = {
            name: copy.deepcopy(value)
            for name, value in self.parameters.items()
            if name in self.stage.parameters
        }
        with _attribute_errors(self.stage):
            self.stage.check(parameters)
            result = self.stage.function(**arguments, **parameters)
            if not self.stage.rules.makes_raw_volume:
                return result
            volume = as_volume(result, arguments["search"])
            if volume is not result or self.stage.is_built_in:
                return volume
            # A plug-in may use its array again. Later steps must not change this array.
            return map_arrays(volume, lambda _, array: read_only(array))


def step(stage: str | Callable[..., Any] | Step, /, **parameters: Any) -> Step:
    """Create a step from a stage and parameter values.

    Parameters
    ----------
    stage : str, callable or Step
        Name of a stage, such as ``census`` or ``refinement.median``, or function of a
        stage. For a step, the result is a copy with new parameter values.
    **parameters
        Values of parameters by name. Missing parameters get default values. Matching
        costs in a sum also have a ``weight`` and a ``saturation``; see `weighted`.

    Raises
    ------
    ParameterError
        The stage or a parameter does not exist. A value is not allowed.

    Examples
    --------
    >>> step("box", size=21)
    box(size=21)
    """
    if isinstance(stage, Step):
        return stage.having(**parameters) if parameters else stage
    registered = registration.by_name(stage) if isinstance(stage, str) else registration.of(stage)
    factors = {}
    if registered.rules.added and parameters.keys() & set(FACTORS):
        factors = {name: parameters.pop(name) for name in FACTORS if name in parameters}
        for name, fault in parameter_faults(weighted, factors).items():
            raise ParameterError(f"{registered.slot}.{registered.name}.{name}: {fault}")
        factors = with_defaults(weighted, factors)
    values = with_defaults(registered.function, parameters)
    return Step(registered, MappingProxyType(values | factors))


@contextlib.contextmanager
def _attribute_errors(stage: Stage) -> Iterator[None]:
    """Store the stage in the attribute ``raised_by`` of its exceptions.

    The ``with`` block calls the stage. Nested blocks store the innermost stage.
    """
    try:
        yield
    except BaseException as error:
        raised_error = error
        is_expected = isinstance(error, Exception | KeyboardInterrupt | Stopped)
        if not is_expected:
            # A stage must not end the program, for example by sys.exit or a panic in
            # Rust.
            text = describe_exception(error)
            if isinstance(error, SystemExit):
                text = f"calls sys.exit({error.code!r})"
            raised_error = RuntimeError(text).with_traceback(error.__traceback__)
        innermost_stage = getattr(error, "raised_by", stage)
        raised_error.raised_by = innermost_stage  # type: ignore[attr-defined]
        raise raised_error  # noqa: B904  The error carries its own traceback.


def blame(error: BaseException) -> str:
    """Describe an exception of a stage in one line.

    The message of a `StereoFrameworkError` is returned unchanged. For other exceptions,
    the result begins with the file and the line of the stage.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    # An ArgumentError in a stage is a programming mistake. Therefore, the file and the
    # line are reported.
    is_mistake_in_stage = stage is not None and isinstance(error, ArgumentError)
    if isinstance(error, StereoFrameworkError) and not is_mistake_in_stage:
        return str(error)
    if stage is None:
        return describe_exception(error)
    return describe_exception(error, stage.function, f"{stage.slot} stage {stage.name}")


def _text(value: Any) -> str:
    """Return a short text of a parameter value, such as 20 for 20.0."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, str):
        return value
    if isinstance(value, bool | None):
        return as_yaml(value)
    return repr(value)


def _named_parameters(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Select the values that are parameters of a function."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in values.items() if name in names}
