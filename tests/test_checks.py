"""What the parameters of stages may not be: one table for all stages, and the exact words of the checks that they share."""

import numpy as np
import pytest
from yaml_cases import cases_in

from stereo_framework import CostVolume, SearchRange, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import find

REFUSED = cases_in("refused_values.yaml", __file__)


@pytest.mark.parametrize(
    "case", REFUSED, ids=lambda case: f"{case['value']} is not {case['allowed']}"
)
def test_values_that_are_refused(case):
    for address in case["of"]:
        name, parameter = address.split(".")
        with pytest.raises(ParameterError) as caught:
            step(name, **{parameter: case["value"]})
        assert str(caught.value) == f"{address}: {case['value']!r} is not {case['allowed']}"


@pytest.mark.parametrize(
    ("slot", "name", "parameters", "said"),
    [
        (
            "aggregation",
            "diffusion",
            {"rate": 0.3},
            "rate 0.3 with beta 0 does not converge; allowed: 0 < rate <= 0.25",
        ),
        (
            "aggregation",
            "membrane_diffusion",
            {"rate": 0.2, "beta": 2.0},
            "rate 0.2 with beta 2 does not converge",
        ),
        ("optimization", "more_global_matching", {"p1": 2, "p2": 1}, "p2 is 1, below p1, 2"),
        ("optimization", "semi_global", {"p1": 8, "p2": 5}, "p2 is 5, below p1, 8"),
    ],
)
def test_values_that_cannot_stand_together(slot, name, parameters, said):
    stage = find(slot, name)
    assert said in stage.misfit(step(stage.function, **parameters).parameters)


@pytest.mark.parametrize(
    ("slot", "name", "parameters", "said"),
    [
        ("matcher", "opencv_sgbm", {"block_size": 8}, "block_size: 8 is not odd"),
        ("matcher", "opencv_bm", {"block_size": 8}, "block_size: 8 is not odd"),
        ("matcher", "opencv_bm", {"pre_filter_size": 8}, "pre_filter_size: 8 is not odd"),
        (
            "matching_cost",
            "ad_census",
            {"quantization_steps": 30000, "census_weight": 1.2},
            "quantization_steps: 30000 times the weights, 2.2, is above",
        ),
    ],
)
def test_values_that_are_refused_when_they_are_used(slot, name, parameters, said):
    image = np.zeros((9, 20), np.uint8)
    with pytest.raises(ParameterError, match=rf"^{name}\.{said}"):
        find(slot, name).public(image, image, SearchRange(0, 8), **parameters)


@pytest.mark.parametrize(
    "name",
    [
        "belief_propagation",
        "graph_cut",
        "icm",
        "scanline_optimization",
        "simulated_annealing",
        "trw_s",
    ],
)
def test_a_smoothness_term_that_is_missing(name):
    with pytest.raises(ParameterError) as caught:
        find("optimization", name).public(
            CostVolume(np.zeros((1, 2, 2), np.float32), SearchRange(0, 1), 1.0)
        )
    assert str(caught.value) == (
        f"{name}: the energy has no smoothness term, so every pixel would stand alone; "
        "give one (smoothness: potts, linear, truncated_linear or truncated_quadratic) or use winner_take_all"
    )


@pytest.mark.parametrize(
    "name",
    [
        "graph_cut_occlusion",
        "maximum_likelihood_matching",
        "stable_matching",
        "stratified_matching",
    ],
)
def test_steps_of_half_a_pixel_are_refused(name):
    stage, search, image = (
        find("optimization", name),
        SearchRange(0, 1, 0.5),
        np.zeros((2, 4), np.uint8),
    )
    volume = CostVolume(np.zeros((2, 4, 3), np.float32), search, 2.0)
    images = [image] * (len({"reference", "match"} & {*stage.data}))
    with pytest.raises(
        ParameterError,
        match=f"^{name}: search.step is 1/2 pixel, but the stage .*; use a step of 1 and refine",
    ):
        stage.public(volume, *images)
