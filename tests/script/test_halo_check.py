"""The check of halos: a plug-in must give the same on strips of rows as on the whole image."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, median_filter, uniform_filter

from stereo_framework import PositiveInt, Smoothness, stage
from stereo_framework.core.errors import ResultWarning, ScriptError
from stereo_framework.core.registration import stages, step
from stereo_framework.matching_cost import census
from stereo_framework.script import load
from stereo_framework.script.halo_check import _try_halo, halo_fault

LOCAL = [
    entry
    for entry in stages()
    if entry.halo is not None and entry.slot not in ("preprocessing", "matcher")
]


@pytest.mark.parametrize("stage", LOCAL, ids=lambda entry: f"{entry.slot}.{entry.name}")
def test_the_check_accepts_the_halos_of_all_built_in_stages(stage):
    assert _try_halo(stage.function, step(stage.function)) == ""


def register(slot, halo, **declared):
    """Register a stage of a slot that depends on two rows above and below, and on no more."""
    window = (5, 3)

    def cost(reference, match, search):
        return census(reference, match, search, width=3, height=5)

    def aggregation(volume):
        return replace(volume, costs=median_filter(volume.costs, (*window, 1)))

    def smoothness(reference, search):
        grey = uniform_filter(
            reference.reshape(*reference.shape[:2], -1)[..., 0].astype(np.float32), window
        )
        right, down = grey.copy(), grey.copy()
        right[:, -1] = 0
        down[-1] = 0
        return Smoothness(right, down, np.arange(search.levels, dtype=np.float32))

    def optimization(volume):
        return median_filter(volume.costs, (*window, 1)).argmin(axis=2).astype(np.int16)

    def confidence(disparity, volume):
        return gaussian_filter(volume.costs.min(axis=2), 1, radius=2)

    def refinement(disparity, status, volume):
        return median_filter(np.nan_to_num(disparity), window), status

    functions = [cost, aggregation, smoothness, optimization, confidence, refinement]
    slots = [
        "matching_cost",
        "aggregation",
        "smoothness",
        "optimization",
        "confidence",
        "refinement",
    ]
    function = dict(zip(slots, functions, strict=True))[slot]
    function.__name__ = "mine"
    return stage(slot, source="a test", halo=halo, **declared)(function)


SLOTS = ["matching_cost", "aggregation", "smoothness", "optimization", "confidence", "refinement"]


@pytest.mark.parametrize("slot", SLOTS)
def test_a_halo_that_is_a_row_too_small_is_refused(slot, registry):
    message = halo_fault(step(register(slot, lambda: 1)))
    assert (
        f"{slot} stage mine gives other results on a strip of rows than on the whole image"
        in message
    )
    assert "its halo is 1 row; declare as halo=" in message


@pytest.mark.parametrize("slot", SLOTS)
def test_a_right_halo_is_accepted(slot, registry):
    assert halo_fault(step(register(slot, lambda: 2))) == ""


def test_a_stage_without_a_halo_is_not_try_halo(registry):
    assert halo_fault(step(register("aggregation", None))) == ""
    assert halo_fault(step(register("optimization", lambda: None))) == ""


def test_the_halo_of_each_swept_parameter_is_try_halo(registry):
    @stage("aggregation", source="a test", halo=lambda size: min(size // 2, 2))
    def mine(volume, *, size: PositiveInt = 3):
        """Average over a window."""
        return replace(volume, costs=uniform_filter(volume.costs, (size, size, 1)))

    script = {
        "matching_cost": "absolute_difference",
        "aggregation": ["mine"],
        "optimization": "winner_take_all",
    }
    assert len(load(script | {"sweep": {"grid": {"aggregation.mine.size": [3, 5]}}}).settings) == 2
    with pytest.raises(
        ScriptError,
        match=r"aggregation stage mine\(size=7\) gives other results.* its halo is 2 rows",
    ):
        load(script | {"sweep": {"grid": {"aggregation.mine.size": [3, 5, 7]}}})


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_halo_that_is_wrong_only_for_integer_costs_is_refused(dtype, registry):
    @stage("aggregation", source="a test", halo=lambda: 0, integer=True)
    def mine(volume):
        """Take medians of integer costs."""
        if volume.costs.dtype != dtype:
            return volume
        return replace(volume, costs=median_filter(volume.costs, (3, 3, 1)))

    assert "its halo is 0 rows" in halo_fault(step(mine))


def test_a_halo_that_is_wrong_only_for_few_disparity_levels_is_refused(registry):
    @stage("aggregation", source="a test", halo=lambda: 0)
    def mine(volume):
        """Take medians of the smallest volumes."""
        if volume.costs.shape[2] > 2:
            return volume
        return replace(volume, costs=median_filter(volume.costs, (3, 3, 1)))

    assert "its halo is 0 rows" in halo_fault(step(mine))


def test_a_halo_that_is_wrong_only_where_colours_are_alike_is_refused(registry):
    @stage("aggregation", source="a test", halo=lambda: 0)
    def mine(volume, reference):
        """Average over images of little contrast."""
        if np.ptp(reference) > 10:
            return volume
        return replace(volume, costs=uniform_filter(volume.costs, (3, 3, 1)))

    assert "its halo is 0 rows" in halo_fault(step(mine))


def test_a_stage_that_cannot_run_on_random_views_is_not_refused_but_reported(registry):
    @stage("aggregation", source="a test", halo=lambda: 0)
    def mine(volume):
        """Refuse small images."""
        raise ValueError("the image is too small")

    expected = r"the halo of the aggregation stage mine was not checked, .*the image is too small"
    with pytest.warns(ResultWarning, match=expected):
        assert halo_fault(step(mine)) == ""


def test_a_halo_of_a_filter_that_spreads_missing_estimates_is_refused(registry):
    @stage("refinement", source="a test", halo=lambda: 0)
    def mine(disparity):
        """Average over columns; a missing estimate anywhere leaves nothing."""
        if np.isnan(disparity).any():
            return np.full_like(disparity, np.nan)
        return uniform_filter(disparity, (3, 1))

    assert "its halo is 0 rows" in halo_fault(step(mine))


def test_a_halo_of_an_optimizer_with_levels_of_64_bits_is_checked(registry):
    @stage("optimization", source="a test", halo=lambda: 0)
    def wide_levels(volume):
        """Choose the lowest cost at each pixel."""
        return volume.costs.argmin(axis=2)

    with warnings.catch_warnings(action="error"):
        assert halo_fault(step(wide_levels)) == ""
