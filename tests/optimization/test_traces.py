"""What iterative optimizers tell of their way: the energy after each round, which ends at that of the labels."""

import numpy as np
import pytest

from stereo_framework import CostVolume, Energy, SearchRange, step
from stereo_framework.optimization import winner_take_all
from stereo_framework.smoothness import potts


@pytest.mark.parametrize(
    ("name", "parameters", "tells"),
    [
        ("belief_propagation", {"iterations": 7}, {"volume"}),
        ("graph_cut", {}, set()),
        ("icm", {}, set()),
        ("simulated_annealing", {"iterations": 7}, set()),
        ("trw_s", {"iterations": 7}, {"lower_bound"}),
        ("graph_cut_occlusion", {"occlusion_cost": 20.0}, {"objective"}),
    ],
)
def test_labels_and_trace_belong_together(name, parameters, tells):
    images = np.random.default_rng(1).integers(0, 50, (2, 9, 11), np.uint8)
    search = SearchRange(0, 4)
    volume = CostVolume(
        np.random.default_rng(1).integers(0, 50, (9, 11, 5)).astype(np.float32), search, 255.0
    )
    smoothness = potts(images[0], search, weight=9)
    bound = step(name, **parameters)
    data = {"volume": volume, "smoothness": smoothness, "reference": images[0], "match": images[1]}
    found = bound({key: data[key] for key in bound.stage.data if key in data})
    energy = Energy(volume, None if name == "graph_cut_occlusion" else smoothness)
    assert {
        key for key in ("volume", "lower_bound", "objective") if getattr(found, key) is not None
    } == tells
    seconds, energies, *bounds = zip(*found.trace, strict=True)
    assert 0 < seconds[0] <= seconds[-1]
    assert list(seconds) == sorted(seconds)
    assert len(seconds) == parameters.get("iterations", len(seconds))
    # TRW-S keeps the best labels that it has met.
    assert energy.of(found.levels) == pytest.approx(
        min(energies) if bounds else energies[-1], rel=1e-6
    )
    if bounds:
        assert bounds[0][0] < found.lower_bound == min(*bounds[0][-1:], *energies)
    if name in ("graph_cut", "icm"):
        assert list(energies) == sorted(energies, reverse=True)
    if name != "graph_cut_occlusion":
        assert energy.of(found.levels) < energy.of(winner_take_all(volume).levels)
    if "volume" in tells:
        np.testing.assert_array_equal(found.levels, found.volume.costs.argmin(axis=2))
