"""Below the pipeline: cost volumes as arrays, a mask, and a stage of one's own between the built-in ones.

python examples/expert.py
"""

from dataclasses import replace
from typing import Annotated

import numpy as np

from stereo_framework import (
    CostVolume,
    Fraction01,
    Pipeline,
    Scene,
    SearchRange,
    Unit,
    load_scene,
    stage,
    step,
)
from stereo_framework.aggregation import box
from stereo_framework.core.volume import Status, restore_outside
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

# A stage is a plain function, called like any other.
planes = load_scene("synthetic/planes")
volume = absolute_difference(planes.reference, planes.match, planes.search, truncation=20)
print("costs", volume.costs.shape, volume.costs.dtype, "out of view", volume.outside)
levels = winner_take_all(restore_outside(box(volume, size=9))).levels
by_hand = planes.search.disparity_of(levels)

# The pipeline does the same, strip by strip.
method = Pipeline([step(absolute_difference, truncation=20), step(box, size=9), winner_take_all])
assert np.array_equal(method(planes).disparity, by_hand)


@stage("aggregation", source="this example", halo=lambda: 0)
def sharpen(
    volume: CostVolume, *, share: Annotated[Fraction01, Unit("of the lowest cost")] = 0.5
) -> CostVolume:
    """Take a share of each pixel's lowest cost from all of its costs."""
    lowest = volume.costs.min(axis=2, keepdims=True)
    return replace(volume, costs=volume.costs - np.float32(share) * lowest)


# Pixels that hold no data take part in nothing, whatever the stages are.
mask = np.ones(planes.reference.shape[:2], bool)
mask[60:90, 100:140] = False
holes = Scene.from_images(
    planes.reference, planes.match, (planes.search.minimum, planes.search.maximum), left_mask=mask
)
match = method.having(aggregation=[step(box, size=9), sharpen])(
    holes, SearchRange(0, planes.search.maximum)
)
assert np.array_equal(match.status == Status.INVALID, ~mask)
assert np.isnan(match.disparity[~mask]).all()
print(f"{np.isnan(match.disparity).mean():.1%} of the pixels without an estimate")
