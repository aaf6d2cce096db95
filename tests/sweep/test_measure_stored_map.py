"""Tests of stored disparity maps that are evaluated under another protocol."""

import numpy as np
import pytest
from sweep_parts import WINDOW, dots, stored

import stereo_framework
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.registration import stage
from stereo_framework.sweep import computation
from stereo_framework.sweep.result import GAP, LOWER_BOUND, MEMORY, MESSAGES, TRACE

FIRST = {"evaluation": {"protocol": "taxonomy2002"}}
SECOND = {"evaluation": {"protocol": "middlebury-v2"}}


def maps_in(folder):
    """Return the names of the stored maps, without their identities."""
    return sorted(path.stem.rpartition("_")[0] for path in (folder / "maps").glob("*.pfm"))


def test_two_methods_of_one_pipeline_have_a_map_each(tmp_path):
    """Write a map for each method, although both maps are equal."""
    scene = dots()
    for name, protocol in (("a", FIRST), ("b", SECOND)):
        script = WINDOW | {"name": name} | protocol
        [result] = stereo_framework.run(script, scenes=scene, out=tmp_path, maps=True)
        assert result.method == name
        assert result.map.stem.startswith(f"tiny_{name}_")
    assert maps_in(tmp_path) == ["tiny_a", "tiny_b"]


def test_one_method_under_two_protocols_has_one_map(tmp_path, monkeypatch):
    """Evaluate the stored map under the second protocol, without matching."""
    scene = dots()
    script = WINDOW | {"name": "a"}
    [before] = stereo_framework.run(script | FIRST, scenes=scene, out=tmp_path, maps=True)
    monkeypatch.setattr(computation, "run_tasks", lambda *_, **__: pytest.fail("matched again"))
    [again] = stereo_framework.run(script | SECOND, scenes=scene, out=tmp_path, maps=True)
    assert again.map == before.map
    assert again.protocol == "middlebury-v2"
    assert repr(again.statistics) == repr(
        stereo_framework.evaluate(again.disparity, scene, protocol="middlebury-v2")
    )


@pytest.fixture
def bounded(registry):
    """Return a script whose stages report everything that a result can store."""

    @stage("optimization", source="a test")
    def bounded_optimizer(volume):
        report_call(CallReport(seconds=5.0, memory=12.0, messages="a message"))
        levels = volume.costs.argmin(axis=2).astype(np.int16)
        trace = ((0.5, 200.0, 50.0), (1.5, 150.0, 100.0))
        costs = volume.chosen(levels)
        return stereo_framework.Labeling(levels, costs, trace=trace, lower_bound=100.0)

    @stage("refinement", source="a test")
    def doubtful(disparity):
        report_call(CallReport(warning="a warning"))
        return disparity

    return WINDOW | {
        "name": "bounded",
        "optimization": "bounded_optimizer",
        "refinement": ["doubtful"],
        "confidence": ["peak_ratio"],
    }


def test_results_under_another_protocol_keep_all_values_of_the_match(
    bounded, tmp_path, monkeypatch
):
    """Copy energy, bounds, seconds, warnings, messages and trace."""
    scene = dots()
    [before] = stereo_framework.run(bounded | FIRST, scenes=scene, out=tmp_path, maps=True)
    assert before.error is None
    monkeypatch.setattr(computation, "run_tasks", lambda *_, **__: pytest.fail("matched again"))
    [again] = stereo_framework.run(bounded | SECOND, scenes=scene, out=tmp_path, maps=True)

    assert again.statistics[MEMORY] == 12.0
    assert again.statistics[LOWER_BOUND] == 100.0
    assert again.statistics[GAP] == 100 * (before.energy / 100.0 - 1)
    assert again.energy == before.energy
    assert "a warning" in again.warnings
    assert again.environment == before.environment
    assert again.environment[MESSAGES] == "a message"
    assert again.environment[TRACE] == "[[0.5, 200.0, 50.0], [1.5, 150.0, 100.0]]"
    stages = [name for name in before.seconds if name != "evaluation"]
    assert list(again.seconds) == [*stages, "evaluation"]
    assert {name: again.seconds[name] for name in stages} == {
        name: before.seconds[name] for name in stages
    }
    assert again.seconds["optimization"] == 5.0
    assert again.map == before.map
    assert [*again.confidence] == ["peak_ratio"]
    stored_again = next(r for r in stored(tmp_path, every=True) if r.protocol == again.protocol)
    assert stored_again.statistics == again.statistics


def test_lower_bound_of_zero_has_no_gap_in_percent(registry, tmp_path):
    """The gap is a percentage of the lower bound."""

    @stage("optimization", source="a test")
    def bounded_by_zero(volume):
        levels = volume.costs.argmin(axis=2).astype(np.int16)
        return stereo_framework.Labeling(levels, volume.chosen(levels), lower_bound=0.0)

    script = WINDOW | {"optimization": "bounded_by_zero"}
    [result] = stereo_framework.run(script, scenes=dots())
    assert result.error is None
    assert result.statistics[LOWER_BOUND] == 0.0
    assert GAP not in result.statistics


@pytest.mark.parametrize("measures", [["peak_ratio"], ["peak_ratio", "curvature"]])
@pytest.mark.parametrize("removed", [None, "map", "first", "last"])
def test_match_is_computed_again_if_one_of_its_maps_is_missing(tmp_path, measures, removed):
    """The disparity map and all confidence maps must be there."""
    scene = dots()
    script = WINDOW | {"name": "a", "confidence": measures}
    [before] = stereo_framework.run(script | FIRST, scenes=scene, out=tmp_path, maps=True)
    files = [before.map.with_name(f"{before.map.stem}_confidence_{name}.pfm") for name in measures]
    if removed is not None:
        {"map": before.map, "first": files[0], "last": files[-1]}[removed].unlink()
    [again] = stereo_framework.run(script | SECOND, scenes=scene, out=tmp_path, maps=True)
    assert again.error is None
    assert [*again.confidence] == sorted(measures)
    is_kept = again.seconds["matching_cost"] == before.seconds["matching_cost"]
    assert is_kept == (removed is None)
