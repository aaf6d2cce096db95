"""Steps of a method: stages with parameter values.

A parameter of a stage may be another step, which is called the inner step. For example,
the stage `cross_scale` aggregates costs at several image sizes. It calls its inner
aggregation once for each image size.
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
    """Saturate a matching cost, and multiply it by its weight in a sum of costs.

    Parameters
    ----------
    volume : CostVolume
        Cost volume of one matching cost. The function overwrites a writeable float32
        array of costs.
    weight : float
        Factor that multiplies the costs.
    saturation : float or None
        Constant of the saturated cost ``1 - exp(-cost / saturation)``, in units of the
        matching cost. With None, the costs are not saturated.

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
"""Names of the two parameters that each matching cost in a sum has in addition."""

ResultCheck = Callable[["Step", Any, Mapping[str, Any]], Any]
"""Function that checks the result of an inner step.

The arguments of the function are the inner step, the result and the data of the call.
"""

_ALL_DATA = frozenset().union(*(slot.may_name.union(*slot.must_name) for slot in SLOTS.values()))
"""Names of the data that stages of at least one slot can get."""


_IMMUTABLE = (bool, int, float, str, type(None))
"""Types of parameter values that a stage cannot change."""


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """A stage with parameter values. Create a step with the function `step`.

    Steps are immutable and can be keys of dictionaries. The inner steps of a step
    affect the properties of the step. For example, the rows of an inner step are added
    to the halo of the outer step.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Values of all parameters of the stage, by name. If a parameter selects an inner
        stage, its value is a `Step`. Matching costs in a sum also have the parameters
        ``weight`` and ``saturation``.
    """

    stage: Stage
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def _key(self) -> str:
        # The key is a text, because Python treats the values 1 and True as equal.
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
            New values, by the name or the address of the parameter. For example, the
            address ``inner.size`` means the parameter ``size`` of the inner step
            ``inner``. If ``inner`` has a new value, too, ``inner.size`` means the new
            inner step. The order of the values has no effect.

        Raises
        ------
        ParameterError
            A parameter does not exist, or a value is not allowed.
        """
        return self.with_values(parameters)

    def with_values(
        self,
        parameters: Mapping[str, Any],
        convert: Callable[[Stage, str, Any], Any] | None = None,
    ) -> Step:
        """Return a copy of the step with new values of some parameters.

        Parameters
        ----------
        parameters : mapping of str to object
            New values by the address of the parameter, see `having`.
        convert : callable, optional
            Function that converts a new value. The arguments of the function are the
            stage with the parameter, the name of the parameter, and the value.
        """
        values = dict(self.parameters)
        inner_parameters: dict[str, dict[str, Any]] = {}
        for address, value in parameters.items():
            name, _, inner_address = address.partition(".")
            if inner_address:
                inner_parameters.setdefault(name, {})[inner_address] = value
            else:
                values[name] = value if convert is None else convert(self.stage, name, value)

        for name, parameters_of_inner in inner_parameters.items():
            inner_step = values.get(name)
            if isinstance(inner_step, Step):
                with naming_outer_parameter(self.stage, name):
                    values[name] = inner_step.with_values(parameters_of_inner, convert)
            else:
                # The check reports that no parameter has this address.
                for address, value in parameters_of_inner.items():
                    values[f"{name}.{address}"] = value
        return checked_step(self.stage, values)

    # --- inner steps ------------------------------------------------------------------

    @functools.cached_property
    def inner_steps(self) -> Mapping[str, Step]:
        """Inner steps of this step, by the name of the parameter that selects them."""
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
        """Names of the data that the stage and its inner steps get from the pipeline.

        The pipeline gives an inner step only data that are allowed in the slot of the
        outer stage. The outer stage must give all other data when it calls the inner
        step. Data that the stage reads only for its inner stages count only if an inner
        stage names them.
        """
        rules = self.stage.rules
        allowed = rules.may_name.union(*rules.must_name) - {"partial"}
        names_of_inner_steps: set[str] = set()
        for inner_step in self.inner_steps.values():
            names_of_inner_steps.update(inner_step.data)

        unread_names = self.stage.data_for_inner - names_of_inner_steps
        names = [name for name in self.stage.data if name not in unread_names]
        for inner_step in self.inner_steps.values():
            names += [name for name in inner_step.data if name in allowed and name not in names]
        return tuple(names)

    def gets(self, name: str) -> bool:
        """Return whether the stage or an inner stage gets data from the pipeline.

        If the code of an outer stage gives the data to its inner stages, the inner
        stages do not get the data from the pipeline.
        """
        if name in self.stage.data:
            return True
        return any(inner_step.gets(name) for inner_step in self._inner_readers(name))

    def requires(self, name: str) -> bool:
        """Return whether the stage or an inner stage needs data from the pipeline.

        Data with a default value are not needed.
        """
        if name in self.stage.data and not self.stage.defaults(name):
            return True
        return any(inner_step.requires(name) for inner_step in self._inner_readers(name))

    def _inner_readers(self, name: str) -> list[Step]:
        """Return the inner steps that may get data of a name from the pipeline."""
        is_given = name in self.stage.keywords_in_code and name not in self.stage.data
        if is_given or name not in self.data:
            return []
        return [inner_step for inner_step in self.inner_steps.values() if name in inner_step.data]

    def value_at(self, address: str) -> Any:
        """Return the value of a parameter, such as ``size`` or ``inner.size``."""
        name, _, inner_address = address.partition(".")
        value = self.parameters[name]
        return value.value_at(inner_address) if inner_address else value

    @property
    def name(self) -> str:
        """Name that consists of the slot and the stage, such as ``refinement.median``.

        Examples
        --------
        >>> from stereo_framework import step
        >>> step("median").name
        'refinement.median'
        """
        return f"{self.stage.slot}.{self.stage.name}"

    @property
    def short_name(self) -> str:
        """Name of the stage, which progress messages show while the step runs."""
        return self.stage.name

    @property
    def is_summand(self) -> bool:
        """Return whether the step is a weighted matching cost in a sum of costs."""
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

        If these copies of two steps are equal, the steps differ only in their numbers
        of iterations.
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
        """Return whether the step reads the results for the other image of the pair."""
        return "other" in self.data

    @functools.cached_property
    def other_reads(self) -> frozenset[str]:
        """Names of the cost volumes of the other image that the step requires."""
        if not self.reads_other:
            return frozenset()
        needs = self.stage.other_needs.union(
            *(inner_step.other_reads for inner_step in self.inner_steps.values())
        )
        if self.stage.rules.chooses_from_costs:
            # An optimizer that reads the other image needs the cost volumes of both
            # images.
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
        """Number of rows above and below a row that affect the row.

        None means that all rows of the image affect each row.
        """
        halo_of_stage = self.stage.halo
        # A stage with the data ``cost`` computes matching costs of whole images.
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
        # If the halo function takes an inner step as an argument, the result already
        # includes the rows of this inner step.
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
        """Maximum number of additional cost volumes that the step keeps in memory."""
        volumes_of_inner_steps = [step.volumes_in_memory for step in self.inner_steps.values()]
        return self.volumes_of_stage + sum(volumes_of_inner_steps)

    @property
    def volumes_of_stage(self) -> int:
        """Maximum number of additional cost volumes without those of inner steps."""
        # Only schemes have a function as `memory`. This function describes the parts of
        # the images that are matched, and not a number of cost volumes.
        if isinstance(self.stage.memory, int):
            return self.stage.memory
        return self.stage.rules.volumes_in_memory

    def rows_for_each_frame(self, rows: int) -> int:
        """Return the number of rows of the cost volumes that a frame needs in memory.

        Parameters
        ----------
        rows : int
            Number of rows of the images.
        """
        total = sum(step.rows_for_each_frame(rows) for step in self.inner_steps.values())
        if self.stage.rows_per_frame is None:
            return total
        with _record_raising_stage(self.stage):
            parameters = _named_parameters(self.stage.rows_per_frame, self.parameters)
            rows_of_stage = self.stage.rows_per_frame(**parameters)
        return total + (rows if rows_of_stage is None else rows_of_stage)

    @property
    def whole_steps(self) -> str:
        """Reason why the step supports only a search step of whole pixels.

        The text is empty if the step also supports fractions of a pixel.
        """
        for inner_step in self.inner_steps.values():
            if inner_step.whole_steps:
                return f"contains {inner_step.stage.name}, which {inner_step.whole_steps}"
        return self.stage.whole_steps

    def files(self, scene: Any = None) -> tuple[Path, ...]:
        """Return the external files that the step uses, such as trained models.

        Parameters
        ----------
        scene : Scene, optional
            Scene of the images. If the scene is None, the method does not return files
            that depend on the scene.

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

    def check_files(self, scene: Any = None) -> None:
        """Raise an error if a file of the stage or of an inner stage does not exist.

        Parameters
        ----------
        scene : Scene, optional
            Scene of the images, see `files`.

        Raises
        ------
        ParameterError
            A file is missing. The message names the stage, the parameter and the file.
        """
        for path in self.files(scene):
            if path.exists():
                continue
            names = [name for name, value in self.parameters.items() if _contains_path(value, path)]
            place = ".".join([self.stage.name, *names[:1]])
            message = f"{place}: no file {path}; expected the path of an existing file"
            raise ParameterError(message)
        for name, inner_step in self.inner_steps.items():
            with naming_outer_parameter(self.stage, name):
                inner_step.check_files(scene)

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
            Function that checks the results of the inner steps.
        **data_by_name
            Further data by name.
        """
        call_data = {**(data or {}), **data_by_name}
        arguments: dict[str, Any] = {}
        for name in self.stage.data:
            # The data ``partial`` exist only after an earlier run with fewer
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
            # A plug-in may use its array again in a later call. Therefore, the array
            # becomes read-only, and later steps cannot overwrite the array.
            return map_arrays(volume, lambda _, array: read_only(array))

    def arguments_of_parameters(
        self, data: Mapping[str, Any], check_result: ResultCheck | None = None
    ) -> dict[str, Any]:
        """Return the parameters with which the function of the stage is called.

        Parameters
        ----------
        data : mapping of str to object
            Data of this call. The inner steps get these data, too.
        check_result : callable, optional
            Function that checks the results of the inner steps.
        """
        arguments: dict[str, Any] = {}
        for name, value in self.parameters.items():
            # The function of the stage does not take the parameters in `FACTORS`.
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
            elif isinstance(value, _IMMUTABLE):
                arguments[name] = value
            else:
                # A stage may change a list that it gets as an argument. Therefore, the
                # stage gets a copy of the list.
                arguments[name] = copy.deepcopy(value)
        return arguments


@contextlib.contextmanager
def naming_outer_parameter(stage: Stage, name: str) -> Iterator[None]:
    """Name the parameter of the outer stage in messages about its inner stage.

    Parameters
    ----------
    stage : Stage
        The outer stage.
    name : str
        Name of the parameter that selects the inner stage.

    Raises
    ------
    ParameterError
        The inner stage or one of its parameters is wrong. Each line of the message
        begins with the outer stage and the parameter, such as ``cross_scale.inner``.
    """
    try:
        yield
    except ParameterError as error:
        lines = [f"{stage.name}.{name}: {line}" for line in str(error).splitlines()]
        raise ParameterError("\n".join(lines)) from error


def checked_step(stage: Stage, parameters: Mapping[str, Any]) -> Step:
    """Create a step with default values after a check of the given parameters.

    Parameters
    ----------
    stage : Stage
    parameters : mapping of str to object
        Values by name. A parameter that selects an inner stage has a `Step` as its
        value. Matching costs in a sum also have the parameters ``weight`` and
        ``saturation``.

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
        # The import of a stage evaluates default values such as
        # ``step(guided_filter)``. A check of this step would import pydantic, and the
        # import of the package would become slow. The default values of built-in stages
        # are correct, so the check is omitted.
        values = default_parameters(stage.function)
    else:
        values = with_defaults(stage.function, own_parameters)
    return Step(stage, MappingProxyType(values | factors))


def _step_of_function(function: Callable[..., Any], /, **parameters: Any) -> Step:
    """Create a step from the function and the parameters of a pickled step."""
    return checked_step(stage_of(function), parameters)


@dataclass(frozen=True, eq=False, repr=False)
class InnerStep(Step):
    """An inner step during a call of its outer stage.

    The outer stage calls the inner step and gives the data that the outer stage has
    changed, such as ``inner(volume=smoothed)``. The inner step gets all other data, for
    example the reference image, from the call of the outer stage. If the changed data
    have another image size than the outer call, the outer stage must give all data that
    have no default value. The outer stage need not give the search range, because the
    search range of the given cost volume is used.

    Parameters
    ----------
    outer_stage : Stage
    data_of_outer : mapping of str to object
        Data with which the outer stage was called.
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
            Data by name. These data replace the data of the outer stage.
        check_result : callable, optional
            Function that checks the result of the inner stage. The default is the
            function from the call of the outer stage.
        **data_by_name
            Further data by name.

        Raises
        ------
        ParameterError
            The inner stage needs data that are missing in this call and in the call of
            the outer stage.
        StereoFrameworkError
            The inner stage raises an error. In a pipeline, this error is also raised if
            the inner stage returns a wrong result. The message names the inner stage
            and the outer stage.
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
                check(self, result, call_data)
        except Exception as error:
            self._add_outer_stage(error)
            raise
        return result

    def _data_of_call(self, changed_data: Mapping[str, Any]) -> dict[str, Any]:
        """Combine the data that the outer stage gives with the data of the outer call.

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
            # The data of the outer call, including the search range, belong to another
            # image size and cannot be used. The value None is valid at every image
            # size. For example, a mask of None means that no pixel is excluded.
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

        If an array is too small, compiled kernels read memory outside the array.
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
            True if the image size of the inner call differs from the image size of the
            outer call.
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
        """Return whether the inner stage can be called without the data of a name.

        If only a step inside the inner stage needs the data, the call of that step
        raises an error.
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
            # The function `describe_stage_error` adds these names to its message.
            outer_names = (*getattr(error, "outer_stages", ()), outer_name)
            error.outer_stages = outer_names  # type: ignore[attr-defined]


_KINDS_OF_DATA = {"volume": CostVolume, "raw": CostVolume, "search": SearchRange}
"""Expected classes of data, by the name of the data.

An outer stage often creates these data for its inner stage.
"""


def _image_size(data: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the numbers of rows and columns of the first array in the data.

    If the data contain no array, the function returns None.
    """
    for name in ("volume", "reference", "image", "disparity", "raw"):
        size = _size_of(data.get(name))
        if size is not None:
            return size
    return None


def _size_of(value: Any) -> tuple[int, ...] | None:
    """Return the numbers of rows and columns of an array or a cost volume.

    For all other values, the function returns None.
    """
    if isinstance(value, CostVolume):
        return value.shape
    if isinstance(value, np.ndarray):
        return value.shape[:2]
    return None


@contextlib.contextmanager
def _record_raising_stage(stage: Stage) -> Iterator[None]:
    """Store the stage in the attribute ``raised_by`` of each exception of the stage.

    Call the stage inside the ``with`` block. If several ``with`` blocks are nested, the
    attribute contains the stage of the innermost block.
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

    If the exception is a `StereoFrameworkError` but not an `ArgumentError`, the
    function returns the message of the exception. For all other exceptions in a stage,
    the description begins with the file and the line of the stage.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    # An ArgumentError in a stage is a programming mistake. Therefore, the description
    # contains the file and the line of the stage.
    is_mistake_in_stage = stage is not None and isinstance(error, ArgumentError)
    if isinstance(error, StereoFrameworkError) and not is_mistake_in_stage:
        return str(error)
    if stage is None:
        return describe_exception(error)
    outer_names = getattr(error, "outer_stages", ())
    subject = " inside ".join([f"{stage.slot} stage {stage.name}", *outer_names])
    return describe_exception(error, stage.function, subject)


def _contains_path(value: Any, path: Path) -> bool:
    """Return whether the value of a parameter is a path, or a list with this path."""
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, str | Path) and Path(item) == path for item in values)


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
