"""Settings: the pipelines of a script with the values that its sweep gave them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.stage import SLOTS
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of a script, for any scene.

    Parameters
    ----------
    method : str
        Key in the script's ``methods``, else the script's name, else its file's.
    pipeline : Pipeline
    search : dict of str to float
        ``minimum``, ``maximum``, ``step`` in pixels, as far as they differ from the scene's own; ``truth_margin`` as a share.
    seed : int
        Of the script; fills the ``seed`` of stages that were not given one.
    swept : tuple of str
        Addresses of what was swept.
    values : tuple
        What was chosen there. A whole stage is shown by its name and what differs from its defaults.
    shared : dict
        What the whole script says under ``plugins``, ``search`` and ``evaluation``; empty where it says nothing.
    """

    method: str
    pipeline: Pipeline
    search: dict[str, float]
    seed: int
    swept: tuple[str, ...]
    values: tuple[Any, ...]
    shared: dict[str, Any]

    @property
    def axes(self) -> dict[str, Any]:
        """Values of what was swept, by address."""
        return dict(zip(self.swept, self.values, strict=True))

    @property
    def parameters(self) -> dict[str, Any]:
        """All values that decide the disparity map, defaults filled in, under dotted names.

        ``SLOT.use`` is the stage or, in a slot that takes several, their chain: ``box > min_filter``; costs that are added: ``census + rank``.
        ``seed`` is there if some stage has it.
        """
        found: dict[str, Any] = {f"search.{key}": value for key, value in self.search.items()}
        found |= _uses(self.pipeline)
        stages = self.pipeline.stages()
        for address, one in stages:
            found.update({f"{address}.{name}": value for name, value in one.parameters.items()})
        if any(one.parameters.get("seed") == self.seed for _, one in stages):
            found["seed"] = self.seed
        return found

    @property
    def mapping(self) -> dict[str, Any]:
        """A script of this run alone, defaults filled in, that `load` accepts; plain values that YAML can hold."""
        shared = {key: said for key, said in (self.shared | {"search": self.search}).items() if said}
        return {"name": self.method, **shared, "seed": self.seed, **_slots(self.pipeline, self.seed)}


def _uses(method: Pipeline, home: str = "") -> dict[str, str]:
    """What stands in each slot of a method and, in their order, its alternatives."""
    names = {slot: [one.stage.name for one in method.in_slot(slot)] for slot in SLOTS}
    found = {f"{home}{slot}.use": (" + " if SLOTS[slot].added else " > ").join(own) for slot, own in names.items() if own}
    if method.alternatives:
        found[f"{home}alternatives.use"] = ", ".join(name for name, _ in method.alternatives)
    for name, other in method.alternatives:
        found |= _uses(other, f"{home}alternatives.{name}.")
    return found


def _slots(method: Pipeline, seed: int) -> dict[str, Any]:
    """The slots of a method, and its alternatives, as a script of this seed writes them."""
    found: dict[str, list[Step]] = {}
    for one in method.steps:
        own = {name: value for name, value in one.parameters.items() if (name, value) != ("seed", seed)}
        found.setdefault(one.stage.slot, []).append(replace(one, parameters=own))
    others = {name: _slots(other, seed) for name, other in method.alternatives}
    return {slot: written(slot, own) for slot, own in found.items()} | ({"alternatives": others} if others else {})


def written(slot: str, steps: Sequence[Step]) -> Any:
    """Stages of a slot as a script writes them, with all their parameters."""
    found = [{"use": one.stage.name, **one.parameters} for one in steps]
    return found if SLOTS[slot].many or (steps and steps[0].added) else found[0] if found else None


def show(steps: Sequence[Step]) -> str:
    """Stages in short, as an axis shows them: names and what differs from the defaults, ``box(size=21) > min_filter``.

    Costs that are added are joined by a plus: ``census(weight=2) + rank``; a list of a single one is shown as ``[census]``.
    """
    shown = [str(one) for one in steps]
    if steps and steps[0].added:
        return " + ".join(shown) if len(shown) > 1 else f"[{shown[0]}]"
    return " > ".join(shown) or "none"
