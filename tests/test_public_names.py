"""Names that scripts and programs of others rely on: they may become more, none may go."""

import importlib
import subprocess
import sys

import pytest

import stereo_framework

TOP = """
CostVolume Energy Labeling Match Pipeline Scene Search Smoothness Step StereoFrameworkError evaluate load load_scene match results run step threads __version__
Fraction01 NonNegative NonNegativeInt Positive PositiveInt Status Unit stage
"""
FAMILIES = {
    "aggregation": "bayesian_diffusion binomial box diffusion membrane_diffusion min_filter",
    "matcher": "opencv_bm opencv_sgbm",
    "matching_cost": "absolute_difference normalized_cross_correlation squared_difference",
    "optimization": """belief_propagation dynamic_programming graph_cut graph_cut_occlusion maximum_likelihood_matching scanline_optimization
        simulated_annealing stable_matching stratified_matching winner_take_all""",
    "preprocessing": "binomial_blur",
    "refinement": "fill_occlusions left_right_check median parabola",
    "scheme": "pyramid",
    "smoothness": "linear potts truncated_linear truncated_quadratic",
}


def test_top():
    assert set(TOP.split()) <= set(stereo_framework.__all__)
    for name in TOP.split():
        assert getattr(stereo_framework, name) is not None


def test_packages_of_stages_are_there_without_an_import_of_their_own():
    program = "import stereo_framework as sf; print(sf.matching_cost.census.__name__, {'refinement', 'match'} <= {*dir(sf)})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "census True\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    module = importlib.import_module(f"stereo_framework.{family}")
    for name in FAMILIES[family].split():
        assert name in module.__all__
        assert getattr(module, name) is not None
