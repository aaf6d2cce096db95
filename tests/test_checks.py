"""The exact words of the checks that stages share; the stages' own tests look for the parameter and the value alone."""

import math

import numpy as np
import pytest

from stereo_framework import CostVolume, Search
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.parameters import with_defaults
from stereo_framework.optimization import dynamic_programming, graph_cut, simulated_annealing


@pytest.mark.parametrize(
    ("stage", "name", "right", "wrong", "text"),
    [
        (box, "size", 1, 0, "box.size: 0 is not a whole number >= 1"),
        (graph_cut, "seed", 0, -1, "graph_cut.seed: -1 is not a whole number >= 0"),
        (dynamic_programming, "occlusion_cost", 0, -0.5, "dynamic_programming.occlusion_cost: -0.5 is not a number >= 0"),
        (dynamic_programming, "occlusion_cost", 2.5, math.nan, "dynamic_programming.occlusion_cost: nan is not a number >= 0"),
        (simulated_annealing, "end_temperature", 1e-9, 0, "simulated_annealing.end_temperature: 0 is not a number > 0"),
        (graph_cut, "move", "swap", "swaps", "graph_cut.move: 'swaps' is not one of swap, expansion; did you mean 'swap'?"),
        (box, "size", np.int64(3), np.float32(1.5), "box.size: 1.5 is not a whole number >= 1"),
    ],
)
def test_parameters(stage, name, right, wrong, text):
    with_defaults(stage, {name: right})
    with pytest.raises(ParameterError) as caught:
        with_defaults(stage, {name: wrong})
    assert str(caught.value) == text


def test_a_smoothness_term_that_is_missing():
    with pytest.raises(ParameterError) as caught:
        graph_cut(CostVolume(np.zeros((1, 2, 2), np.float32), Search(0, 1), 1.0))
    assert str(caught.value) == (
        "graph_cut: the energy has no smoothness term, so every pixel would stand alone; "
        "give one (smoothness: potts, linear, truncated_linear or truncated_quadratic) or use winner_take_all"
    )
