"""Stages of every kind, as small as they can be, for tests of scripts; registered when a test asks for them."""

import numpy as np
import pytest

from stereo_framework.core.parameters import NonNegativeInt, Positive, PositiveInt
from stereo_framework.core.registration import stage
from stereo_framework.matching_cost import absolute_difference


@pytest.fixture
def tiny(registry):
    """Register the stages."""

    @stage("matcher", source="a test")
    def flat(reference, match, search, *, height: float = 2.0, radius: PositiveInt = 1):
        """The same disparity everywhere."""
        return np.full(reference.shape[:2], height, np.float32)

    @stage("matcher", source="a test")
    def dice(reference, match, search, *, seed: NonNegativeInt = 0):
        """A disparity by chance."""
        return np.full(reference.shape[:2], np.random.default_rng(seed).integers(0, 5), np.float32)

    @stage("matcher", source="a test")
    def scenic(reference, match, search, scene):
        """Needs more than two images."""
        return np.full(reference.shape[:2], len(scene.frames), np.float32)

    @stage("matching_cost", source="a test", halo=lambda: 0)
    def tenfold(reference, match, search, *, window: PositiveInt = 3, factor: Positive = 10.0):
        """Absolute differences ten times over."""
        volume = absolute_difference(reference, match, search)
        return type(volume)(volume.costs * np.float32(factor), search, volume.outside_cost * factor)

    @stage("confidence", source="a test")
    def sure(disparity, *, level: float = 1.0):
        """The same everywhere."""
        return np.full(disparity.shape, level, np.float32)

    @stage("confidence", source="a test")
    def margin(disparity, volume):
        """The second lowest cost."""
        return np.partition(volume.costs, 1, axis=2)[..., 1].astype(np.float32)

    @stage("refinement", source="a test", other_needs={"volume"})
    def across(disparity, other):
        """Look at the other view's costs."""
        return disparity + np.float32(other.volume.costs.min())

    @stage("refinement", source="a test")
    def blend(disparity, auxiliary, confidence, *, weight: Positive = 1.0):
        """Add the auxiliary methods' disparities and all confidences."""
        total = disparity + np.float32(weight) * sum(view.disparity for view in auxiliary.values())
        return (total + sum(confidence.values())).astype(np.float32)

    @stage("scheme", source="a test")
    def whole(solve, pair, *, times: PositiveInt = 1):
        """The pair as it is."""
        return solve(pair)
