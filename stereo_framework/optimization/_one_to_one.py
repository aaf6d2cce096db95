"""What optimizers share that match every pixel of either image once at most."""

from __future__ import annotations

import numpy as np

from stereo_framework.errors import ParameterError
from stereo_framework.scene import Search
from stereo_framework.volume import Costs, CostVolume, Labels


def check_whole_steps(name: str, search: Search) -> None:
    """Refuse disparities at fractions of a pixel; `name` is the stage's."""
    if search.denominator > 1:
        raise ParameterError(
            f"{name}: search.step is 1/{search.denominator} pixel; that pixels match one to one is defined for whole steps alone"
        )


def chosen_costs(volume: CostVolume, labels: Labels) -> Costs:
    """The cost of every pixel's label, 0 where it is -1."""
    costs = np.take_along_axis(volume.costs, np.maximum(labels, 0)[..., None].astype(np.intp), axis=2)[..., 0]
    return np.where(labels < 0, np.float32(0), costs)
