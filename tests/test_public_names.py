"""Names that scripts and programs of others rely on: they may become more, none may go."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stereo_framework

TOP = """
CostVolume Energy Estimate Labeling Pipeline Scene SearchRange Smoothness Step
StereoFrameworkError evaluate load load_scene match results run step threads __version__
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

PARTS = """
PATH_DIRECTIONS Planes compute_path_costs compute_plane_disparities fit_local_planes
fit_segment_planes segment_image
"""


def test_top():
    assert set(TOP.split()) <= set(stereo_framework.__all__)
    for name in TOP.split():
        assert getattr(stereo_framework, name) is not None


def test_packages_of_stages_are_there_without_an_import_of_their_own():
    program = "import stereo_framework as sf; print(sf.matching_cost.census.__name__, {'refinement', 'match'} <= {*dir(sf)})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "census True\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    module = importlib.import_module(f"stereo_framework.{family}")
    for name in FAMILIES[family].split():
        assert name in module.__all__
        assert getattr(module, name) is not None


def test_parts_of_stages_have_docstrings_with_all_sections():
    module = importlib.import_module("stereo_framework.parts")
    assert set(PARTS.split()) <= set(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            for heading in ("Parameters", "Returns", "Raises", "Examples"):
                assert f"\n    {heading}\n    ---" in value.__doc__, f"{name}: {heading}"


PACKAGES = (
    "",
    "io",
    "datasets",
    "evaluation",
    "evaluation.hci",
    "evaluation.roc",
    "sweep",
    "script",
    "user_pair",
)
"""Packages that name what they export in a literal list; stage packages export by ``X as X``."""

ROOT = Path(stereo_framework.__file__).parent


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_names_are_a_literal_list_that_type_checkers_read(package):
    tree = ast.parse(ROOT.joinpath(*package.split("."), "__init__.py").read_text(encoding="utf-8"))
    [names] = [
        ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "__all__"
    ]
    module = importlib.import_module(f"stereo_framework.{package}".rstrip("."))
    assert names == module.__all__
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(module, name) is not None


def test_type_checkers_see_the_names_that_load_lazily():
    tree = ast.parse(Path(stereo_framework.__file__).read_text(encoding="utf-8"))
    [block] = [statement for statement in tree.body if isinstance(statement, ast.If)]
    imported = {alias.name for statement in block.body for alias in statement.names}
    lazy = set(stereo_framework._HOMES)
    assert imported == lazy | set(stereo_framework._ROOMS)
    assert set(stereo_framework.__all__) == lazy | {"__version__"}


def test_the_package_is_marked_as_typed():
    assert (ROOT / "py.typed").is_file()


USER_FILE = """
import stereo_framework as sf
from stereo_framework import Estimate, Pair, Pipeline, Scene, SearchRange, evaluate, load_scene, step, threads
from stereo_framework.core.volume import restore_outside_cost
from stereo_framework.datasets import scene_names
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.hci import Parameters, extract_subsets, hci_metrics
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_disparity, write_disparity
from stereo_framework.matching_cost import census
from stereo_framework.parts import PATH_DIRECTIONS, compute_path_costs
from stereo_framework.parts import fit_segment_planes, segment_image

method = Pipeline([census, step("box", size=9), sf.optimization.winner_take_all])
scene: Scene = load_scene(scene_names()[0])
search: SearchRange = SearchRange(0, 63)
pair: Pair = Pair(scene.reference, scene.match, search)
with threads(1):
    result: Estimate = method(pair)
statistics: dict[str, float] = evaluate(result.disparity, scene, resolve("taxonomy2002"))
volume = census(scene.reference, scene.match, search)
costs = compute_path_costs(volume, direction=PATH_DIRECTIONS[1])
planes = fit_segment_planes(result.disparity, segment_image(scene.reference), min_count=9)
wrong: str = evaluate(result.disparity, scene)
"""


@pytest.mark.slow
def test_strict_mypy_accepts_the_file_of_a_user(tmp_path):
    path = tmp_path / "user.py"
    path.write_text(USER_FILE)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        f"--cache-dir={tmp_path / 'cache'}",
        str(path),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"MYPYPATH": str(ROOT.parent)}
    )
    # The decorator of the argument checks keeps the types, so that the one wrong type is found.
    [fault] = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert 'expression has type "dict[str, float]", variable has type "str"' in fault, (
        done.stdout + done.stderr
    )
