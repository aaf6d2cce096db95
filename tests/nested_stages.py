"""A plug-in whose stages call other stages, for tests of nested methods.

These stages have simple formulas, so that the module `nested_methods` can compute the
same results on arrays. Each stage gives its inner stages only the data that the stage
has changed.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np

from stereo_framework.aggregation import box
from stereo_framework.confidence import matching_score
from stereo_framework.matching_cost import census
from stereo_framework.optimization import winner_take_all
from stereo_framework.preprocessing import binomial_blur
from stereo_framework.refinement import fill_occlusions, left_right_check
from stereo_framework.smoothness import potts
from stereo_framework.stages import (
    CostVolume,
    InSlot,
    Positive,
    PositiveInt,
    Step,
    stage,
    status_after_refinement,
    step,
)

InnerAggregation = Annotated[Step, InSlot("aggregation")]
InnerRefinement = Annotated[Step, InSlot("refinement")]


@stage("preprocessing", source="a test")
def inverted(image, *, inner: Annotated[Step, InSlot("preprocessing")] = step(binomial_blur)):
    """Apply an inner preprocessing to the negative of an image."""
    return inner(image=255 - image)


@stage("matching_cost", source="a test", halo=lambda: 0)
def scaled_cost(
    reference,
    match,
    search,
    *,
    inner: Annotated[Step, InSlot("matching_cost")] = step(census, width=3, height=3),
    factor: Positive = 0.5,
):
    """Multiply the inner matching cost by a factor."""
    volume = inner()
    costs = np.float32(factor) * volume.costs.astype(np.float32)
    return CostVolume(costs, search, factor * volume.outside_cost)


def _halo_of_repetitions(inner, times):
    return None if inner.halo is None else times * inner.halo


@stage("aggregation", source="a test", halo=_halo_of_repetitions)
def repeated(volume, *, inner: InnerAggregation = step(box), times: PositiveInt = 2):
    """Apply the inner aggregation several times."""
    for _ in range(times):
        volume = inner(volume=volume)
    return volume


def _largest_halo(first, second):
    return None if None in (first.halo, second.halo) else max(first.halo, second.halo)


@stage("aggregation", source="a test", halo=_largest_halo)
def mixed(volume, *, first: InnerAggregation = step(box), second: InnerAggregation = step(box)):
    """Average the costs of two inner aggregations."""
    one = first(volume=volume)
    two = second(volume=volume)
    outside_cost = (one.outside_cost + two.outside_cost) / 2
    return CostVolume((one.costs + two.costs) / np.float32(2), volume.search, outside_cost)


@stage("aggregation", source="a test", halo=lambda: 1)
def smoothed_rows(volume, *, inner: InnerAggregation = step(box)):
    """Apply the inner aggregation, and average each row with two neighbouring rows."""
    volume = inner(volume=volume)
    rows = np.pad(volume.costs, ((1, 1), (0, 0), (0, 0)), mode="edge")
    neighbours = rows[:-2] + rows[2:]
    return replace(volume, costs=volume.costs / np.float32(2) + neighbours / np.float32(4))


@stage("aggregation", source="a test")
def raw_average(volume, raw, *, inner: InnerAggregation = step(box)):
    """Average the costs of the inner aggregation with the costs before aggregation."""
    volume = inner(volume=volume)
    return replace(volume, costs=(volume.costs + raw.costs) / np.float32(2))


@stage("aggregation", source="a test", halo=lambda: 0)
def inverted_guide(volume, reference, *, inner: InnerAggregation = step(box)):
    """Call the inner aggregation with the negative of the reference image."""
    return inner(volume=volume, reference=255 - reference)


@stage("aggregation", source="a test", resume="iterations")
def continued(
    volume, partial=None, *, inner: InnerAggregation = step(box), iterations: PositiveInt = 2
):
    """Apply the inner aggregation several times.

    The stage can continue an earlier run with fewer iterations.
    """
    result = volume if partial is None else partial
    for _ in range(iterations):
        result = inner(volume=result)
    return result


@stage("smoothness", source="a test")
def doubled_smoothness(
    reference, search, *, inner: Annotated[Step, InSlot("smoothness")] = step(potts)
):
    """Double the weights of the inner smoothness term."""
    term = inner()
    return replace(term, right=2 * term.right, down=2 * term.down)


@stage("optimization", source="a test", halo=lambda: 0, integer=True)
def filter_and_choose(
    volume,
    *,
    smoothing: InnerAggregation = step(box, size=3),
    choice: Annotated[Step, InSlot("optimization")] = step(winner_take_all),
):
    """Apply an inner aggregation to the costs, and then call an inner optimizer."""
    return choice(volume=smoothing(volume=volume))


@stage("confidence", source="a test")
def halved_confidence(
    disparity, *, inner: Annotated[Step, InSlot("confidence")] = step(matching_score)
):
    """Halve the values of the inner confidence measure."""
    return inner() / np.float32(2)


@stage("refinement", source="a test", halo=lambda: 0)
def check_and_fill(
    disparity,
    status,
    *,
    check: InnerRefinement = step(left_right_check),
    filling: InnerRefinement = step(fill_occlusions),
):
    """Apply two inner refinements one after another."""
    for refinement in (check, filling):
        result = refinement(disparity=disparity, status=status)
        if isinstance(result, tuple):
            disparity, status = result
        else:
            status = status_after_refinement(disparity, status, result)
            disparity = result
    return disparity, status


@stage("refinement", source="a test", halo=lambda: 0)
def raw_winners(disparity, raw):
    """Replace each estimate by the disparity of the lowest cost before aggregation."""
    winners = raw.search.disparity_of(raw.costs.argmin(axis=2))
    return np.where(np.isnan(disparity), disparity, winners)


@stage("refinement", source="a test", other_needs={"volume"})
def parity_of_other(disparity, other):
    """Add half a pixel to each disparity if the winning level of a pixel is odd.

    This pixel has the same row and column in the other image. The winning level is the
    level with the lowest cost.
    """
    is_odd = other.volume.costs.argmin(axis=2) % 2
    return disparity + is_odd.astype(np.float32) / np.float32(2)
