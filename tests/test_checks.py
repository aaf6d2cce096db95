"""What the parameters of stages may not be: one table for all stages, and the exact words of the checks that they share."""

import numpy as np
import pytest
import yaml

from stereo_framework import CostVolume, Search, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.stage import find

REFUSED = [
    ("0", "a whole number >= 1", """
        cross_based.far cross_based.iterations guided_filter.size binomial.iterations bayesian_diffusion.iterations support_weights.size box.size
        box.iterations min_filter.size distinctiveness.size patch_match.size patch_match.iterations belief_propagation.iterations graph_cut.iterations
        graph_cut_occlusion.iterations simulated_annealing.iterations mean_subtraction.size border_fill.reach median.size region_voting.iterations region_voting.far
        remove_speckles.size segment_planes.minimum_size segment_planes.minimum_count segment_planes.trials weighted_median.size pyramid.levels pyramid.size
        tiles.size tiles.factor"""),
    ("-1", "a whole number >= 0", """
        graph_cut.seed graph_cut_occlusion.seed simulated_annealing.seed segment_planes.seed region_voting.minimum_count tiles.overlap"""),
    ("0", "a whole number >= 1 and <= 255", "cross_based.length"),
    ("256", "a whole number >= 1 and <= 255", "cross_based.length region_voting.length"),
    ("1", "a whole number >= 2", "normalized_cross_correlation.size stable_matching.size"),
    ("99", "a whole number >= 100 and <= 32767 or null", "ad_census.steps"),
    ("1.5", "a whole number >= 1", "box.size tiles.factor"),
    ("0", "a number > 0", """
        cross_based.threshold cross_based.far_threshold guided_filter.epsilon minimum_spanning_tree.scale support_weights.colour_scale support_weights.space_scale
        maximum_likelihood.sigma attainable_likelihood.sigma ambiguity.excess patch_match.gamma ad_census.difference_scale ad_census.census_weight
        ad_census.census_scale gradient_difference.truncation simulated_annealing.start_temperature simulated_annealing.end_temperature
        radiometric_change.exposure radiometric_change.gamma laplacian_of_gaussian.sigma bilateral_subtraction.sigma_colour border_fill.gate plane_smooth.gate
        plane_smooth.colour_scale plane_smooth.ridge region_voting.threshold region_voting.far_threshold segment_planes.scale segment_planes.tolerance
        weighted_median.sigma_colour weighted_median.sigma_space truncated_linear.truncation truncated_quadratic.truncation"""),
    (".nan", "a number > 0", "gradient_difference.gradient_truncation truncated_linear.truncation truncated_quadratic.truncation"),
    ("0", "a number > 0 or null", "absolute_difference.truncation squared_difference.truncation"),
    (".nan", "a number > 0 or null", "absolute_difference.truncation squared_difference.truncation"),
    ("-1", "a number >= 0", """
        membrane_diffusion.beta dynamic_programming.occlusion_cost graph_cut_occlusion.weight graph_cut_occlusion.occlusion_cost
        maximum_likelihood_matching.occlusion_cost semi_global.p1 stable_matching.alpha stratified_matching.alpha radiometric_change.noise border_fill.steepest
        discontinuity_adjustment.difference remove_speckles.difference segment_planes.sigma pyramid.margin tiles.margin potts.weight potts.gradient_penalty
        linear.weight linear.gradient_penalty truncated_linear.weight truncated_linear.gradient_penalty truncated_quadratic.weight
        truncated_quadratic.gradient_penalty"""),
    (".nan", "a number >= 0", "graph_cut_occlusion.gradient_penalty stable_matching.beta potts.weight"),
    ("-1", "a number >= 0 or null", "patch_match.tolerance graph_cut_occlusion.gradient_threshold"),
    (".nan", "a number >= 0 or null", """
        potts.gradient_threshold linear.gradient_threshold truncated_linear.gradient_threshold truncated_quadratic.gradient_threshold"""),
    ("1.5", "a number >= 0 and <= 1", """
        bayesian_diffusion.epsilon segment_planes.minimum_share patch_match.balance gradient_difference.share region_voting.minimum_share
        radiometric_change.vignetting"""),
    ("1.5", "a number >= -1 and <= 1", "stratified_matching.threshold"),
    ("1.0", "a number >= 0 and < 1", "belief_propagation.damping"),
    ("-0.1", "a number >= 0 and < 1", "belief_propagation.damping"),
    (".nan", "a number >= 0 and < 1", "belief_propagation.damping"),
    ("4", "one of 3, 5, 7, 9, 11, 13, 15", "census.width rank.width ad_census.height"),
    ("5", "one of 4, 8", "semi_global.paths"),
    ("mesh", "one of both, reference", "cross_based.views support_weights.views"),
    ("mesh", "one of plain, centre_symmetric", "census.form"),
    ("edge", "one of constant, gradient, edges; did you mean 'edges'?", "semi_global.penalties"),
    ("mesh", "one of sgbm, hh, 3way, hh4", "opencv_sgbm.mode"),
    ("sobol", "one of sobel, normalized; did you mean 'sobel'?", "opencv_bm.filter"),
    ("mesh", "one of accelerated, sequential, synchronous", "belief_propagation.schedule"),
    ("mesh", "one of random, fixed", "graph_cut.order graph_cut_occlusion.order"),
    ("mesh", "one of grid, pymaxflow", "graph_cut.solver"),
    ("mesh", "one of metropolis, flip_gibbs, full_gibbs", "simulated_annealing.rule"),
    ("mesh", "one of linear, logarithmic", "simulated_annealing.schedule"),
    ("mesh", "one of random, raster, checkerboard", "simulated_annealing.visiting"),
    ("mesh", "one of background, left", "fill_occlusions.rule"),
    ("xyz", "one of hirschmueller, mei", "interpolate.rule"),
    ("mesh", "one of status, everywhere", "weighted_median.where"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "legal", "addresses"), REFUSED, ids=[f"{value} is not {legal}" for value, legal, _ in REFUSED])
def test_values_that_are_refused(value, legal, addresses):
    given = yaml.safe_load(value)
    for address in addresses.split():
        name, parameter = address.split(".")
        with pytest.raises(ParameterError) as caught:
            step(name, **{parameter: given})
        assert str(caught.value) == f"{address}: {given!r} is not {legal}"


@pytest.mark.parametrize(
    ("slot", "name", "parameters", "said"),
    [
        ("aggregation", "diffusion", {"rate": 0.3}, "rate 0.3 with beta 0 does not converge; legal: 0 < rate <= 0.25"),
        ("aggregation", "membrane_diffusion", {"rate": 0.2, "beta": 2.0}, "rate 0.2 with beta 2 does not converge"),
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
        ("matcher", "opencv_sgbm", {"size": 8}, "size: 8 is not odd"),
        ("matcher", "opencv_bm", {"size": 8}, "size: 8 is not odd"),
        ("matcher", "opencv_bm", {"filter_size": 8}, "filter_size: 8 is not odd"),
        (
            "matching_cost",
            "ad_census",
            {"steps": 30000, "census_weight": 1.2},
            "steps: 30000 times the weights, 2.2, is above 65535",
        ),
    ],
)
def test_values_that_are_refused_when_they_are_used(slot, name, parameters, said):
    image = np.zeros((9, 20), np.uint8)
    with pytest.raises(ParameterError, match=rf"^{name}\.{said}"):
        find(slot, name).public(image, image, Search(0, 8), **parameters)


@pytest.mark.parametrize(
    "name", ["belief_propagation", "graph_cut", "icm", "scanline_optimization", "simulated_annealing", "trw_s"]
)
def test_a_smoothness_term_that_is_missing(name):
    with pytest.raises(ParameterError) as caught:
        find("optimization", name).public(CostVolume(np.zeros((1, 2, 2), np.float32), Search(0, 1), 1.0))
    assert str(caught.value) == (
        f"{name}: the energy has no smoothness term, so every pixel would stand alone; "
        "give one (smoothness: potts, linear, truncated_linear or truncated_quadratic) or use winner_take_all"
    )


@pytest.mark.parametrize("name", ["maximum_likelihood_matching", "stable_matching"])
def test_steps_of_half_a_pixel_are_refused(name):
    stage, search, image = find("optimization", name), Search(0, 1, 0.5), np.zeros((2, 4), np.uint8)
    volume = CostVolume(np.zeros((2, 4, 3), np.float32), search, 2.0)
    images = [image] * (len({"reference", "match"} & {*stage.data}))
    with pytest.raises(ParameterError, match=f"^{name}: search.step is 1/2 pixel; .* whole steps alone"):
        stage.public(volume, *images)
