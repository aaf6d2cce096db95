"""Settings of a script, and stages in the form in which a script writes them.

A setting is a method of a script with one combination of the swept values.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step
from stereo_framework.engine.pipeline import Pipeline

NO_EFFECT = ""
"""Value of an axis in a setting on which the axis has no effect.

Tables leave such cells empty.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of a script, for any scene.

    Parameters
    ----------
    method : str
        Key in the ``methods`` of the script. A script without ``methods`` has its own
        name here, or else the name of its file.
    pipeline : Pipeline
    search : dict of str to float
        Keys of the search range that the script sets: ``minimum``, ``maximum`` and
        ``step`` in pixels, and ``truth_margin`` as a share.
    seed : int
        Seed of the script. It is the seed of each stage without a seed of its own.
    swept : tuple of str
        Addresses of the swept values.
    values : tuple
        Values at these addresses, in the same order. A stage is shown by its name and
        by its parameters that differ from the default values. `NO_EFFECT` marks an axis
        without effect on this setting.
    shared : dict
        Values of the keys ``plugins``, ``search`` and ``evaluation`` of the script.
        They are empty if the script does not have the keys.
    scenes : tuple of str
        Names of the scenes to which the script restricts the method. They are empty if
        the method runs on all scenes.
    """

    method: str
    pipeline: Pipeline
    search: dict[str, float]
    seed: int
    swept: tuple[str, ...]
    values: tuple[Any, ...]
    shared: dict[str, Any]
    scenes: tuple[str, ...] = ()

    @property
    def axes(self) -> dict[str, Any]:
        """Swept values, by address."""
        return dict(zip(self.swept, self.values, strict=True))

    @property
    def parameters(self) -> dict[str, Any]:
        """All values that decide the disparity map, with default values, by address.

        The address ``SLOT.use`` has the name of the stage. If the slot contains several
        stages, the value is their chain, such as ``box > min_filter``, or their sum,
        such as ``census + rank``. The address ``seed`` exists if a stage uses the seed
        of the script.
        """
        values: dict[str, Any] = {f"search.{key}": value for key, value in self.search.items()}
        values |= _stage_names(self.pipeline)
        stages = self.pipeline.stages()
        for address, step in stages:
            for name, value in step.parameters.items():
                # The parameters of an inner stage follow under its own address.
                if isinstance(value, Step):
                    values[f"{address}.{name}.use"] = value.stage.name
                else:
                    values[f"{address}.{name}"] = value
        if any(step.parameters.get("seed") == self.seed for _, step in stages):
            values["seed"] = self.seed
        return values

    @property
    def mapping(self) -> dict[str, Any]:
        """Script that contains only this setting, with all default values.

        The function `load` accepts the script, and YAML can store its values.
        """
        shared = self.shared | {"search": self.search}
        return {
            "name": self.method,
            **{key: value for key, value in shared.items() if value},
            "seed": self.seed,
            **_written_method(self.pipeline, self.seed),
        }


def _stage_names(method: Pipeline, prefix: str = "") -> dict[str, str]:
    """Return the names of the stages in each slot, and of the auxiliary methods."""
    names: dict[str, str] = {}
    # The steps are sorted by slot.
    for slot, steps in itertools.groupby(method.steps, key=lambda step: step.stage.slot):
        separator = " + " if SLOTS[slot].added else " > "
        names[f"{prefix}{slot}.use"] = separator.join(step.stage.name for step in steps)
    if method.auxiliary:
        names[f"{prefix}auxiliary.use"] = ", ".join(name for name, _ in method.auxiliary)
    for name, auxiliary_method in method.auxiliary:
        names |= _stage_names(auxiliary_method, f"{prefix}auxiliary.{name}.")
    return names


def _written_method(method: Pipeline, seed: int) -> dict[str, Any]:
    """Return the slots and the auxiliary methods of a method as a script writes them.

    Seeds that equal the seed of the script are left out.
    """
    steps_of_slots: dict[str, list[Step]] = {}
    for step in method.steps:
        steps_of_slots.setdefault(step.stage.slot, []).append(_without_seed(step, seed))
    mapping = {slot: written(slot, steps) for slot, steps in steps_of_slots.items()}
    if method.auxiliary:
        mapping["auxiliary"] = {
            name: _written_method(auxiliary_method, seed)
            for name, auxiliary_method in method.auxiliary
        }
    return mapping


def _without_seed(step: Step, seed: int) -> Step:
    """Remove a seed with the given value from a step and from its inner steps."""
    if "seed" not in step.parameters and not step.inner_steps:
        return step
    parameters = {}
    for name, value in step.parameters.items():
        if isinstance(value, Step):
            parameters[name] = _without_seed(value, seed)
        elif (name, value) != ("seed", seed):
            parameters[name] = value
    return replace(step, parameters=parameters)


def written_stage(step: Step) -> dict[str, Any]:
    """Return a stage as a script writes it, with all its parameters."""
    parameters = dict(step.parameters)
    for name, inner_step in step.inner_steps.items():
        parameters[name] = written_stage(inner_step)
    return {"use": step.stage.name, **parameters}


def written(slot: str, steps: Sequence[Step]) -> Any:
    """Return the stages of a slot as a script writes them, with all parameters."""
    stages = [written_stage(step) for step in steps]
    if SLOTS[slot].many or any(step.is_in_list for step in steps):
        return stages
    return stages[0] if stages else None


def show(steps: Sequence[Step]) -> str:
    """Return the short text of stages that tables show for an axis.

    The text contains the names of the stages and the parameters that differ from the
    default values, such as ``box(size=21) > min_filter``. Costs that are added are
    joined by a plus: ``census(weight=2) + rank``. A list with a single cost is shown as
    ``[census]``.
    """
    texts = [str(step) for step in steps]
    if not texts:
        return "none"
    if not steps[0].is_summand:
        return " > ".join(texts)
    return " + ".join(texts) if len(texts) > 1 else f"[{texts[0]}]"
