"""The three energies of Szeliski et al. 2008, which the built-in scripts hold, and what their library reached on them in 300 iterations."""

import numpy as np
import pytest

from stereo_framework import Energy, load_scene
from stereo_framework.matching_cost import absolute_difference, squared_difference
from stereo_framework.optimization import belief_propagation, graph_cut, trw_s
from stereo_framework.script import load
from stereo_framework.smoothness import potts, truncated_linear, truncated_quadratic


def energy_of(scene):
    """The energy as the study defines it, with its parameters."""
    view, prior = (scene.reference, scene.match, scene.search), (scene.reference, scene.search)
    match scene.name.rpartition("/")[2]:
        case "tsukuba":
            return Energy(
                absolute_difference(*view, interval="symmetric", truncation=3 * 255),
                truncated_linear(
                    *prior, weight=20, truncation=2, gradient_threshold=8, gradient_penalty=2
                ),
            )
        case "venus":
            return Energy(
                squared_difference(*view, interval="symmetric", truncation=16),
                truncated_quadratic(*prior, weight=50, truncation=7),
            )
        case _:
            return Energy(
                absolute_difference(*view, interval="symmetric", truncation=3 * 16),
                potts(*prior, weight=10, gradient_threshold=10, gradient_penalty=3),
            )


@pytest.mark.parametrize(
    ("name", "winners"), [("tsukuba", 8_330_840), ("venus", 66_197_115), ("teddy", 7_481_323)]
)
def test_the_winners_cost_what_they_cost_there(name, winners, data):
    scene = load_scene(name, data=data)
    [wta] = [run for run in load(f"energies2008/{name}").settings if run.method == "wta"]
    match = wta.pipeline(scene)
    assert match.energy == energy_of(scene).of(match.levels) == winners


@pytest.mark.parametrize(("name", "truth"), [("venus", 4_372_956), ("teddy", 2_276_046)])
def test_the_truth_costs_what_it_costs_there(name, truth, data):
    # Rounded, half to even; unknown disparities are 0.
    scene = load_scene(name, data=data)
    labels = np.rint(np.nan_to_num(scene.truth)).clip(0, scene.search.levels - 1).astype(np.int16)
    assert energy_of(scene).of(labels) == truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bound", "trees", "expansion", "sequential", "accelerated"),
    [
        ("tsukuba", 369_217.53, 369_279, 370_825, 427_036, 406_966),
        ("venus", 3_047_915.97, 3_048_539, 3_125_962, 3_358_967, 3_099_664),
        ("teddy", 1_336_994.48, 1_346_804, 1_344_017, 1_430_084, 1_393_286),
    ],
)
def test_optimizers_come_as_near(name, bound, trees, expansion, sequential, accelerated, data):
    energy = energy_of(load_scene(name, data=data))
    found = trw_s(energy.volume, energy.smoothness, iterations=300)
    # The same messages in another precision.
    assert found.lower_bound == pytest.approx(bound, rel=1e-4)
    assert found.lower_bound <= energy.of(found.levels) <= 1.0005 * trees
    # Orders of the moves differ by up to half a percent.
    assert (
        found.lower_bound
        <= energy.of(graph_cut(energy.volume, energy.smoothness, move="expansion").levels)
        <= 1.01 * expansion
    )
    passed = belief_propagation(
        energy.volume, energy.smoothness, schedule="sequential", iterations=300, damping=0.0
    )
    assert energy.of(passed.levels) <= 1.03 * sequential
