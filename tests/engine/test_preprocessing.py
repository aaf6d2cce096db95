"""Stages that prepare images, one by one or as a pair."""

import numpy as np
import pytest
from pipeline_parts import MIRRORED, local, not_local, textured

from stereo_framework import Pipeline
from stereo_framework.aggregation import box
from stereo_framework.core.stage import stage
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import left_right_check


@pytest.fixture
def seen(registry):
    """What stages saw of the images, by (name, direction)."""
    found = {}

    @stage("preprocessing", source="a test")
    def brighter(reference, match, search):
        found.setdefault("pairs", []).append((reference, match, search.direction))
        return reference // 2, match // 2 + 10

    @stage("preprocessing", source="a test")
    def darker(image):
        return image // 3

    @stage("matching_cost", **local)
    def cost(reference, match, search):
        if reference.shape[:2] != MIRRORED:
            found["cost", search.direction] = reference, match
        return absolute_difference(reference, match, search)

    @stage("aggregation", **local)
    def support(volume, reference, match, search):
        found["aggregation", search.direction] = reference, match
        return box(volume, size=1)

    @stage("optimization", **not_local)
    def decide(volume, reference, match, search):
        found["optimization", search.direction] = reference, match
        return winner_take_all(volume)

    @stage("refinement", **not_local)
    def look(disparity, reference, match, corrected, search):
        found["refinement", search.direction] = reference, match
        found["corrected", search.direction] = corrected
        return disparity

    found["stages"] = brighter, darker, cost, support, decide, look
    return found


def test_a_pair_is_corrected_for_the_cost_alone(seen):
    brighter, darker, cost, support, decide, look = seen["stages"]
    scene = textured()
    left, right = scene.reference, scene.match
    Pipeline([darker, brighter, cost, support, decide, look, left_right_check, look])(scene)
    # Once for both views, on the images as they were prepared so far.
    [(reference, match, direction)] = seen["pairs"]
    np.testing.assert_array_equal(reference, left // 3)
    np.testing.assert_array_equal(match, right // 3)
    assert direction == 1
    corrected = left // 3 // 2, right // 3 // 2 + 10
    for slot in ("cost", "corrected"):
        for way in (1, -1):
            # The exchanged pair gets the same two images exchanged.
            for image, expected in zip(seen[slot, way], corrected[::way], strict=True):
                np.testing.assert_array_equal(image, expected, err_msg=f"{slot} {way}")
    for slot in ("aggregation", "optimization", "refinement"):
        for way in (1, -1):
            for image, expected in zip(seen[slot, way], (left // 3, right // 3)[::way], strict=True):
                np.testing.assert_array_equal(image, expected, err_msg=f"{slot} {way}")


def test_what_comes_after_a_pair_changes_both(seen):
    brighter, darker, cost, support, decide, look = seen["stages"]
    scene = textured()
    Pipeline([brighter, darker, brighter, cost, support, decide, look])(scene)
    left, right = scene.reference, scene.match
    once = left // 2 // 3, (right // 2 + 10) // 3
    np.testing.assert_array_equal(seen["pairs"][1][0], once[0])
    np.testing.assert_array_equal(seen["pairs"][1][1], once[1])
    np.testing.assert_array_equal(seen["cost", 1][1], once[1] // 2 + 10)
    np.testing.assert_array_equal(seen["aggregation", 1][0], left // 3)
    np.testing.assert_array_equal(seen["aggregation", 1][1], right // 3)


def test_images_are_read_only_and_in_c_order(registry):
    @stage("preprocessing", source="a test")
    def turned(image):
        return np.asfortranarray(image)

    @stage("matching_cost", **local)
    def writes(reference, match, search):
        assert reference.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            reference[0, 0] = 1
        return absolute_difference(reference, match, search)

    for preprocessing in ([], [turned]):
        Pipeline([preprocessing, writes, winner_take_all])(textured())
