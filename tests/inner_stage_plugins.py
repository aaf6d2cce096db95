"""Stages with inner stages, one for each slot, which only call their inner stage."""

import inspect
from typing import Annotated

from stereo_framework.core.slots import SLOTS
from stereo_framework.stages import InSlot, Step, stage, step

INNER_STAGES = {
    "preprocessing": step("binomial_blur"),
    "matcher": step("opencv_sgbm"),
    "matching_cost": step("census"),
    "aggregation": step("box", size=5),
    "smoothness": step("potts", weight=3),
    "optimization": step("semi_global", p1=3, p2=20),
    "confidence": step("peak_ratio"),
    "refinement": step("parabola"),
    "scheme": step("coarse"),
}
"""An inner stage of each slot, which needs data that the outer stage does not name."""


def forwarding(slot, inner, *, name="forwarding", halo=None):
    """Register a stage that gives its first data to its inner stage, and return it.

    Parameters
    ----------
    slot : str
        Slot of both stages.
    inner : Step
        Default value of the inner stage.
    name : str
        Name of the outer stage.
    halo : callable, optional
    """
    [data, *_] = SLOTS[slot].must_name

    def function(*values, inner):
        return inner(**dict(zip(data, values, strict=True)))

    parameters = [
        inspect.Parameter(data_name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for data_name in data
    ]
    parameters.append(
        inspect.Parameter(
            "inner",
            inspect.Parameter.KEYWORD_ONLY,
            default=inner,
            annotation=Annotated[Step, InSlot(slot)],
        )
    )

    def outer(*values, **keywords):
        values = (
            *values,
            *(keywords.pop(data_name) for data_name in data if data_name in keywords),
        )
        return function(*values, **keywords)

    outer.__signature__ = inspect.Signature(parameters)
    outer.__name__ = name
    return stage(slot, source="Author 2000", halo=halo)(outer)
