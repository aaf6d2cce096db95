"""Belief propagation: neighbouring pixels tell each other what every level would cost them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Lt

from stereo_framework.core.volume import CostVolume, Energy, Labeling, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._messages import (
    Messages,
    Passing,
    accelerated,
    decide,
    prior_of,
    synchronous,
)
from stereo_framework.optimization._raster import sequential
from stereo_framework.optimization._smoothness import no_smoothness, required_smoothness
from stereo_framework.optimization._stopping import MinDecrease, lowers_too_little
from stereo_framework.stages import PositiveInt, stage

SCHEDULES: dict[str, Callable[[Passing], object]] = {
    "accelerated": accelerated,
    "sequential": sequential,
    "synchronous": synchronous,
}


@stage(
    "optimization",
    source="Tappen & Freeman 2003, section 3; Felzenszwalb & Huttenlocher 2006, sections 2 and 3; Szeliski et al. 2008, section 2.3",
    memory=5,
    check_parameters=no_smoothness,
)
def belief_propagation(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    schedule: Literal["accelerated", "sequential", "synchronous"] = "accelerated",
    iterations: PositiveInt = 50,
    damping: Annotated[float, Ge(0), Lt(1)] = 0.1,
    min_decrease: MinDecrease = None,
) -> Labeling:
    """Levels of low energy, found by neighbours that tell each other, again and again, what every level would cost them at least.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness
        What it costs that neighbours differ.
    schedule : {"accelerated", "sequential", "synchronous"}
        accelerated: in an iteration messages run across the whole image, to the right, to the left, down and up. sequential: each pixel
        sends to the right and down, row by row, then each to the left and up, from the last pixel to the first. synchronous: all pixels
        send to all neighbours at the same time, so that news travel by one pixel an iteration.
    iterations : int
        How often every pixel sends to each of its neighbours; with
        `min_decrease`, at most.
    damping : float
        Share of the old message that stays in a new one, at least 0 and below 1: larger values are slower and calm oscillations, which
        the synchronous schedule rarely does without.
    min_decrease : float or None
        Share of the energy by which ten iterations must lower the lowest energy so far.
        If they lower it by no more than this share, the iterations end. A typical value
        is 0.001. The rule is applied after every tenth iteration from the twentieth on.
        null: all iterations are made.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned, each the level that the pixel believes in after the last iteration; `trace` has the
        seconds and the energy after each iteration, which may rise; `volume` holds the beliefs, costs plus messages.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one that does not fit the volume, or `damping`
        or `min_decrease` is out of its range.

    Notes
    -----
    Max-product belief propagation on the logarithms of the probabilities: minima of sums. On an energy without loops (a single row or
    column, or edges of weight 0 elsewhere) and without damping the beliefs become, up to a constant in every pixel, the lowest energies
    of all labellings with that level there. With loops the result is an approximation and need not settle: sequential messages without damping
    hardly move where penalties are large beside the costs. Of equal beliefs the lowest level wins.

    A message takes time in proportion to the levels where rho is a Potts model, or linear up to a limit (Felzenszwalb & Huttenlocher 2006, section 3.3), else to
    the levels times those up to which rho differs. Its lowest value is made 0, which changes no result. The
    messages take four volumes, in float32, one of which becomes the beliefs, and synchronous ones two more; the costs stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), SearchRange(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> belief_propagation(volume, changes).levels.tolist()
    [[0, 0, 0]]
    """
    energy = Energy(volume, smoothness)
    smoothness = required_smoothness(smoothness, "belief_propagation")
    start = working_time()
    shape = rows, columns, levels = volume.costs.shape
    costs = np.ascontiguousarray(volume.costs).reshape(-1, levels)
    messages: Messages = tuple(np.zeros((rows * columns, levels), np.float32) for _ in range(4))  # type: ignore[assignment]
    weights = (
        np.ascontiguousarray(smoothness.right).reshape(-1),
        np.ascontiguousarray(smoothness.down).reshape(-1),
    )
    passing = Passing(
        rows, columns, costs, messages, weights, prior_of(smoothness.rho), np.float32(damping)
    )
    labels, iterate = np.empty((rows, columns), np.int16), SCHEDULES[schedule]
    trace = []
    for _ in counted(iterations, "iteration"):
        iterate(passing)
        over_rows(
            lambda a, b: decide(a * columns, b * columns, costs, messages, labels.reshape(-1)),
            rows,
            4 * costs.size,
        )
        trace.append((working_time() - start, energy.of(labels)))
        if lowers_too_little([point[1] for point in trace], min_decrease):
            break
    # The same sums as the decisions'.
    beliefs, from_right, from_above, from_below = messages
    beliefs += from_right
    beliefs += costs
    from_above += from_below
    beliefs += from_above
    believed = CostVolume(beliefs.reshape(shape), volume.search, volume.outside_cost)
    return Labeling(labels, volume.chosen(labels), believed, trace=tuple(trace))
