"""The exact words of the checks that stages share; the stages' own tests look for the parameter and the value alone."""

import math

import numpy as np
import pytest

from stereo_framework import CostVolume, Energy, Search
from stereo_framework._checks import check_choice, check_count, check_not_negative, check_positive
from stereo_framework.errors import ParameterError
from stereo_framework.optimization import graph_cut


@pytest.mark.parametrize(
    ("check", "right", "wrong", "text"),
    [
        (lambda value: check_count("box.size", value), 1, 0, "box.size: 0 is not a whole number >= 1"),
        (lambda value: check_count("gc.seed", value, 0), 0, -1, "gc.seed: -1 is not a whole number >= 0"),
        (lambda value: check_not_negative("dp.cost", value), 0, -0.5, "dp.cost: -0.5 is not a number >= 0"),
        (lambda value: check_not_negative("dp.cost", value), 2.5, math.nan, "dp.cost: nan is not a number >= 0"),
        (lambda value: check_positive("sa.end", value), 1e-9, 0, "sa.end: 0 is not a number > 0"),
        (
            lambda value: check_choice("gc.move", value, ("swap", "expansion")),
            "swap",
            "swaps",
            "gc.move: 'swaps' is not legal; legal: expansion, swap; did you mean 'swap'?",
        ),
    ],
)
def test_parameters(check, right, wrong, text):
    check(right)
    with pytest.raises(ParameterError) as caught:
        check(wrong)
    assert str(caught.value) == text


def test_a_smoothness_term_that_is_missing():
    with pytest.raises(ParameterError) as caught:
        graph_cut(Energy(CostVolume(np.zeros((1, 2, 2), np.float32), Search(0, 1), 1.0)))
    assert str(caught.value) == (
        "graph_cut: the energy has no smoothness term, so every pixel would stand alone; "
        "give one (smoothness: potts, linear or truncated_linear) or use winner_take_all"
    )
