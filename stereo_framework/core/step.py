"""Steps of a method: stages with parameter values.

A parameter of a stage may be another step, which is called the inner step. For example,
a stage that aggregates costs at several image sizes calls its inner aggregation once
for each size.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from stereo_framework.core.call_context import Stopped
from stereo_framework.core.errors import (
    ArgumentError,
    ParameterError,
    StereoFrameworkError,
    describe_exception,
    nearest,
)
from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.core.parameters import (
    Positive,
    as_yaml,
    default_parameters,
    in_short,
    parameter_faults,
    parameters_of,
    with_defaults,
)
from stereo_framework.core.scene import SearchRange, read_only
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage, stage_of
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

ResultCheck = Callable[[Stage, Any, Mapping[str, Any]], Any]
"""Function that checks the result of a stage.

Its arguments are the stage, the result and the data of the call.
"""

_ALL_DATA = frozenset().union(*(slot.may_name.union(*slot.must_name) for slot in SLOTS.values()))
"""Names of the data of all slots."""


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """A stage with parameter values. Create a step with the function `step`.

    Steps are immutable and can be keys of dictionaries. The properties of a step, such
    as its halo, take its inner steps into account.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Values of all parameters of the stage, by name. The value of an inner stage is a
        `Step`. Matching costs in a sum also have a ``weight`` and a ``saturation``.
    """

    stage: Stage
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def _key(self) -> str:
        # The key is a text, because 1 and True are equal in Python.
        parameters = {
            name: value._key if isinstance(value, Step) else value
            for name, value in self.parameters.items()
        }
        return f"{self.name}{parameters!r}"

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Step) and self._key == other._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(_step_of_function, self.stage.public, **self.parameters), ()

    def __repr__(self) -> str:
        """Return a text such as ``box(size=21)``, without default values."""
        parameters = {**parameters_of(weighted), **self.stage.parameters}
        texts = []
        for name, value in self.parameters.items():
            if _text(value) != _text(parameters[name].default):
                texts.append(f"{name}={_text(value)}")
        return f"{self.stage.name}({', '.join(texts)})" if texts else self.stage.name

    def having(self, **parameters: Any) -> Step:
        """Return a copy of the step with new values of some parameters.

        Parameters
        ----------
        **parameters
            Values by the name of the parameter. The address ``inner.size`` means the
            parameter ``size`` of the inner step ``inner``.
        """
        values = dict(self.parameters)
        for address, value in parameters.items():
            name, _, inner_address = address.partition(".")
            if inner_address and isinstance(values.get(name), Step):
                values[name] = values[name].having(**{inner_address: value})
            else:
                values[address] = value
        return checked_step(self.stage, values)

    # --- inner steps ------------------------------------------------------------------

    @functools.cached_property
    def inner_steps(self) -> Mapping[str, Step]:
        """Steps that are parameters of this step, by name of the parameter."""
        return {name: value for name, value in self.parameters.items() if isinstance(value, Step)}

    def walk(self, address: str) -> Iterator[tuple[str, Step]]:
        """Yield this step and all steps inside it, each with its address.

        Parameters
        ----------
        address : str
            Address of this step, such as ``aggregation.cross_scale``. The addresses of
            inner steps begin with this address.
        """
        yield address, self
        for name, inner_step in self.inner_steps.items():
            yield from inner_step.walk(f"{address}.{name}")

    @functools.cached_property
    def data(self) -> tuple[str, ...]:
        """Names of the data that the step gets, for its stage and its inner steps.

        An inner step gets only data that the slot of the outer stage may get. The outer
        stage must give all other data when it calls the inner step.
        """
        rules = self.stage.rules
        allowed = rules.may_name.union(*rules.must_name) - {"partial"}
        names = list(self.stage.data)
        for inner_step in self.inner_steps.values():
            names += [name for name in inner_step.data if name in allowed and name not in names]
        return tuple(names)

    def requires(self, name: str) -> bool:
        """Return whether the stage or an inner stage cannot run without some data."""
        stage_requires = name in self.stage.data and not self.stage.defaults(name)
        return stage_requires or any(
            name in self.data and inner_step.requires(name)
            for inner_step in self.inner_steps.values()
        )

    def value_at(self, address: str) -> Any:
        """Return the value of a parameter, such as ``size`` or ``inner.size``."""
        name, _, inner_address = address.partition(".")
        value = self.parameters[name]
        return value.value_at(inner_address) if inner_address else value

    @property
    def name(self) -> str:
        """Name of the step: the names of its slot and its stage.

        Examples
        --------
        >>> from stereo_framework import step
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
        return (VOLUMES | {"auxiliary"}) & {*self.data}

    @property
    def reads_other(self) -> bool:
        """Return whether the step reads the view of the other image."""
        return "other" in self.data

    @functools.cached_property
    def other_reads(self) -> frozenset[str]:
        """Names of the required cost volumes of the other image."""
        if not self.reads_other:
            return frozenset()
        needs = self.stage.other_needs.union(
            *(inner_step.other_reads for inner_step in self.inner_steps.values())
        )
        if self.stage.rules.chooses_from_costs:
            # An optimizer for both images needs both cost volumes.
            return needs | {"volume"}
        return needs

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
        # The matching cost of another pair needs the whole images of this pair.
        needs_whole_images = self.stage.rules.needs_whole_images or "cost" in self.data
        if halo_of_stage is None or self.reads_other or needs_whole_images:
            return None
        parameters = _named_parameters(halo_of_stage, self.parameters)
        with _record_raising_stage(self.stage):
            halo = halo_of_stage(**parameters)
            if halo is not None and (not isinstance(halo, int | np.integer) or halo < 0):
                raise ValueError(
                    f"its halo is {halo!r}; expected a whole number of rows >= 0, or None"
                )
        # A function that takes an inner step has counted the rows of this inner step.
        uncounted_inner_steps = [
            inner_step for name, inner_step in self.inner_steps.items() if name not in parameters
        ]
        for inner_step in uncounted_inner_steps:
            if halo is None or inner_step.halo is None:
                return None
            halo += inner_step.halo
        return halo

    @functools.cached_property
    def accepts_integers(self) -> bool:
        """Whether the stage and all inner stages support integer costs."""
        inner_steps = self.inner_steps.values()
        return self.stage.integer and all(step.accepts_integers for step in inner_steps)

    @property
    def volumes_in_memory(self) -> int:
        """Maximum number of cost volumes that the step keeps in memory in addition."""
        volumes_of_stage = self.stage.rules.volumes_in_memory
        # The function ``memory`` of a scheme describes parts of images, not volumes.
        if isinstance(self.stage.memory, int):
            volumes_of_stage = self.stage.memory
        return volumes_of_stage + sum(step.volumes_in_memory for step in self.inner_steps.values())

    @property
    def whole_steps(self) -> str:
        """Reason why a stage supports only steps of whole pixels, or an empty text."""
        for inner_step in self.inner_steps.values():
            if inner_step.whole_steps:
                return f"contains {inner_step.stage.name}, which {inner_step.whole_steps}"
        return self.stage.whole_steps

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
        with _record_raising_stage(self.stage):
            values = {**self.parameters, "scene": scene}
            paths = files_of_stage(**_named_parameters(files_of_stage, values)) or ()
            if isinstance(paths, str | Path):
                paths = [paths]
            return tuple(map(Path, paths))

    # --- calls ------------------------------------------------------------------------

    def __call__(
        self,
        data: Mapping[str, Any] | None = None,
        /,
        *,
        check_result: ResultCheck | None = None,
        **data_by_name: Any,
    ) -> Any:
        """Call the stage with its data and parameters, and return its result.

        Parameters
        ----------
        data : mapping of str to object, optional
            Data by name, such as ``volume``. The inner steps can read all these data,
            including data that the stage itself does not read.
        check_result : callable, optional
            Function that checks the results of the inner steps, see `InnerStep`.
        **data_by_name
            Further data by name.
        """
        call_data = {**(data or {}), **data_by_name}
        arguments: dict[str, Any] = {}
        for name in self.stage.data:
            # The data ``partial`` exists only after an earlier run with fewer
            # iterations.
            if name in call_data:
                arguments[name] = call_data[name]
            elif name == "partial":
                arguments[name] = None
            elif not self.stage.defaults(name):
                raise ParameterError(f"{self.stage.name} needs the data {name}")
        arguments = map_arrays(arguments, lambda _, array: kernel_array(array))
        parameters = self.arguments_of_parameters({**call_data, **arguments}, check_result)
        with _record_raising_stage(self.stage):
            self.stage.check(parameters)
            result = self.stage.function(**arguments, **parameters)
            if not self.stage.rules.makes_raw_volume:
                return result
            volume = as_volume(result, arguments["search"])
            if volume is not result or self.stage.is_built_in:
                return volume
            # A plug-in may keep its array and use it again. Later steps must not
            # overwrite the array.
            return map_arrays(volume, lambda _, array: read_only(array))

    def arguments_of_parameters(
        self, data: Mapping[str, Any], check_result: ResultCheck | None = None
    ) -> dict[str, Any]:
        """Return the parameters with which the function of the stage is called.

        Parameters
        ----------
        data : mapping of str to object
            Data of this call, which the inner steps get too.
        check_result : callable, optional
            Function that checks the results of the inner steps.
        """
        arguments = {}
        for name, value in self.parameters.items():
            # The function of the stage has no parameters `FACTORS`.
            if name not in self.stage.parameters:
                continue
            if isinstance(value, Step):
                arguments[name] = InnerStep(
                    value.stage,
                    value.parameters,
                    outer_stage=self.stage,
                    data_of_outer=data,
                    check_result=check_result,
                )
            else:
                # Lists are copied, because a stage may change its arguments.
                arguments[name] = copy.deepcopy(value)
        return arguments


def checked_step(stage: Stage, parameters: Mapping[str, Any]) -> Step:
    """Create a step; check the values of its parameters, and add default values.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Values by name. The values of inner stages are steps. Matching costs in a sum
        also have a ``weight`` and a ``saturation``.

    Raises
    ------
    ParameterError
        A parameter does not exist, or a value is not allowed.
    """
    own_parameters = dict(parameters)
    factors: dict[str, Any] = {}
    if stage.rules.added and own_parameters.keys() & set(FACTORS):
        factors = {name: own_parameters.pop(name) for name in FACTORS if name in own_parameters}
        for name, fault in parameter_faults(weighted, factors).items():
            raise ParameterError(f"{stage.slot}.{stage.name}.{name}: {fault}")
        factors = with_defaults(weighted, factors)
    if stage.is_built_in and not own_parameters:
        # The import of a stage evaluates the default value of its inner stage, such as
        # ``step(guided_filter)``. A check would import pydantic, and so make the import
        # of the package slow. The default values of built-in stages are correct.
        values = default_parameters(stage.function)
    else:
        values = with_defaults(stage.function, own_parameters)
    return Step(stage, MappingProxyType(values | factors))


def _step_of_function(function: Callable[..., Any], /, **parameters: Any) -> Step:
    """Create a step again from its pickled function and parameters."""
    return checked_step(stage_of(function), parameters)


@dataclass(frozen=True, eq=False, repr=False)
class InnerStep(Step):
    """An inner step during a call of its outer stage.

    The outer stage calls the inner step with the data that it has changed, such as
    ``inner(volume=smoothed)``. The inner step gets all other data from the call of the
    outer stage, for example the reference image. If the changed data have another size
    than the data of the outer stage, for example half the image size, the outer stage
    must give all data that have no default value. The search range is then taken from
    the volume.

    Parameters
    ----------
    outer_stage : Stage
    data_of_outer : mapping of str to object
        Data of the call of the outer stage.
    check_result : callable or None
        Function that checks the results of the inner step.
    """

    outer_stage: Stage = field(kw_only=True)
    data_of_outer: Mapping[str, Any] = field(kw_only=True)
    check_result: ResultCheck | None = field(kw_only=True, default=None)

    def __call__(
        self,
        data: Mapping[str, Any] | None = None,
        /,
        *,
        check_result: ResultCheck | None = None,
        **data_by_name: Any,
    ) -> Any:
        """Call the inner stage, and return its result.

        Parameters
        ----------
        data : mapping of str to object, optional
            Data by name that replace the data of the outer stage.
        check_result : callable, optional
            Function that replaces the check of the outer stage.
        **data_by_name
            Further data by name.

        Raises
        ------
        ParameterError
            The inner stage needs data that neither this call nor the outer stage has.
        StereoFrameworkError
            The inner stage raises an error. In a pipeline, the error is also raised if
            the inner stage returns a wrong result. The message names both stages.
        """
        check = check_result or self.check_result
        try:
            if not isinstance(data, Mapping | None):
                raise ParameterError(
                    f"{self.outer_stage.name} gives {self.stage.name} an unnamed value; "
                    "give data by name, such as inner(volume=volume)"
                )
            call_data = self._data_of_call({**(data or {}), **data_by_name})
            result = super().__call__(call_data, check_result=check)
            if check is not None:
                check(self.stage, result, call_data)
        except Exception as error:
            self._add_outer_stage(error)
            raise
        return result

    def _data_of_call(self, changed_data: Mapping[str, Any]) -> dict[str, Any]:
        """Combine the data that the outer stage gives with the data of its own call.

        Parameters
        ----------
        changed_data : mapping of str to object
            Data that the outer stage gives.
        """
        for name in changed_data:
            if name not in _ALL_DATA:
                remedy = nearest(name, self.data, kind="data")
                message = (
                    f"{self.outer_stage.name} gives {self.stage.name} the data {name!r}, "
                    f"which do not exist; {remedy}"
                )
                raise ParameterError(message)

        for name, kind in _KINDS_OF_DATA.items():
            if name in changed_data and not isinstance(changed_data[name], kind):
                raise ParameterError(
                    f"{self.outer_stage.name} gives {self.stage.name} the data {name}: "
                    f"{in_short(changed_data[name])}; expected a {kind.__name__}"
                )

        outer_data = dict(self.data_of_outer)
        changed_size = _image_size(changed_data)
        has_other_size = changed_size is not None and changed_size != _image_size(outer_data)
        if has_other_size:
            # Data of the outer call belong to another image size, so they are dropped,
            # including the search range. The value None, such as no mask, is valid at
            # every size.
            outer_data = {name: None for name, value in outer_data.items() if value is None}
        data = {**outer_data, **changed_data}
        # The inner step cannot continue an earlier run of the outer stage.
        data["partial"] = None
        if isinstance(changed_data.get("volume"), CostVolume) and "search" not in changed_data:
            data["search"] = changed_data["volume"].search

        missing = [
            name for name in self.data if name not in data and not self._may_be_missing(name)
        ]
        if missing:
            remedy = self._remedy_of_missing(missing, has_other_size=has_other_size)
            raise ParameterError(f"{self.stage.name} needs the data {', '.join(missing)}; {remedy}")
        self._check_equal_sizes(data)
        if not self.accepts_integers:
            for name in VOLUMES & data.keys():
                if isinstance(data[name], CostVolume):
                    data[name] = data[name].floats()
        return data

    def _check_equal_sizes(self, data: Mapping[str, Any]) -> None:
        """Raise an error if the arrays of a call differ in their rows or columns.

        Compiled kernels read beyond the memory of arrays that are too small.
        """
        sizes = {name: _size_of(data[name]) for name in self.data if name in data}
        known_sizes = {name: size for name, size in sizes.items() if size is not None}
        if len(set(known_sizes.values())) > 1:
            listed = ", ".join(f"{name} has {size}" for name, size in known_sizes.items())
            raise ParameterError(
                f"{self.outer_stage.name} gives {self.stage.name} data of different sizes: "
                f"{listed}; expected equal rows and columns"
            )

    def _remedy_of_missing(self, names: Sequence[str], *, has_other_size: bool) -> str:
        """Describe where the missing data of a call must come from.

        Parameters
        ----------
        names : sequence of str
            Names of the missing data.
        has_other_size : bool
            True if the call changes the image size.
        """
        outer_name = self.outer_stage.name
        if has_other_size:
            return f"{outer_name} must give the data at this image size"
        slot = self.outer_stage.slot
        data_of_slot = self.outer_stage.rules.may_name.union(*self.outer_stage.rules.must_name)
        if not data_of_slot.issuperset(names):
            return f"{outer_name} must give the data, because stages of {slot} do not get them"
        return f"give the data as arguments of {outer_name}"

    def _may_be_missing(self, name: str) -> bool:
        """Return whether this call may lack some data.

        If only a nested inner step needs the data, this step reports their absence.
        """
        return name not in self.stage.data or self.stage.defaults(name)

    def _add_outer_stage(self, error: Exception) -> None:
        """Add the names of the outer stage and the inner stage to an error."""
        outer_name = self.outer_stage.name
        if isinstance(error, StereoFrameworkError) and not isinstance(error, ArgumentError):
            message = str(error)
            if self.stage.name not in message:
                message = f"{self.stage.name}: {message}"
            error.args = (f"{message} (inside {outer_name})",)
        else:
            # `describe_stage_error` describes other errors with these names.
            outer_names = (*getattr(error, "outer_stages", ()), outer_name)
            error.outer_stages = outer_names  # type: ignore[attr-defined]


_KINDS_OF_DATA = {"volume": CostVolume, "raw": CostVolume, "search": SearchRange}
"""Classes of the data that an outer stage often creates for its inner stage."""


def _image_size(data: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the rows and columns of the first array of several data.

    The result is None without arrays.
    """
    for name in ("volume", "reference", "image", "disparity", "raw"):
        size = _size_of(data.get(name))
        if size is not None:
            return size
    return None


def _size_of(value: Any) -> tuple[int, ...] | None:
    """Return the rows and columns of an array or a volume, or None for other data."""
    if isinstance(value, CostVolume):
        return value.shape
    if isinstance(value, np.ndarray):
        return value.shape[:2]
    return None


@contextlib.contextmanager
def _record_raising_stage(stage: Stage) -> Iterator[None]:
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


def describe_stage_error(error: BaseException) -> str:
    """Describe an exception of a stage in one line.

    The message of a `StereoFrameworkError` is returned unchanged, except for an
    `ArgumentError`. For an `ArgumentError` or any other exception in a stage, the
    result begins with the file and the line of the stage.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    # An ArgumentError in a stage is a programming mistake. Therefore, the file and the
    # line are reported.
    is_mistake_in_stage = stage is not None and isinstance(error, ArgumentError)
    if isinstance(error, StereoFrameworkError) and not is_mistake_in_stage:
        return str(error)
    if stage is None:
        return describe_exception(error)
    outer_names = getattr(error, "outer_stages", ())
    subject = " inside ".join([f"{stage.slot} stage {stage.name}", *outer_names])
    return describe_exception(error, stage.function, subject)


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


report_attributes_of_module(__name__)
