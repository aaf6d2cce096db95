"""Graph cuts with occlusions: pixels are matched one to one or not at all."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Image
from stereo_framework.core.stage import NonNegative, NonNegativeInt, PositiveInt, Unit, stage
from stereo_framework.core.volume import CostVolume, Energy, Labeling, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.counting import counted
from stereo_framework.optimization._occlusion_moves import OcclusionMoves


@stage("optimization", source="Kolmogorov & Zabih 2001, sections 3 and 4", memory=4)
def graph_cut_occlusion(
    volume: CostVolume,
    reference: Image,
    match: Image,
    smoothness: Smoothness | None = None,
    *,
    weight: Annotated[NonNegative, Unit("units of the matching cost")] = 8.0,
    gradient_threshold: Annotated[NonNegative, Unit("grey levels")] | None = 8.0,
    gradient_penalty: NonNegative = 3.0,
    occlusion_cost: Annotated[NonNegative, Unit("units of the matching cost")] = 10.0,
    order: Literal["random", "fixed"] = "random",
    iterations: PositiveInt = 100,
    seed: NonNegativeInt = 0,
) -> Labeling:
    """The matches, each pixel of either image in one or in none, that no expansion of a disparity improves, each by one minimum cut.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels) of a match.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    smoothness : Smoothness, optional
        Plays no part but in the energy that `trace` tells.
    weight : float
        The paper's lambda: cost of an edge between neighbouring pixels of which one is matched with a disparity and the other is not matched
        with the same, in units of the matching cost. A jump that hides nothing pays twice, once for either disparity.
    gradient_threshold : float or None
        Intensity difference in grey levels (root mean square over the colours). Where it is smaller both across the edge and across the one
        of the match image that it is matched with, the edge costs `gradient_penalty` times as much; null or 0: the images play no part.
    gradient_penalty : float
        Factor on the weight of edges below the threshold in both images.
    occlusion_cost : float
        Cost of a pixel of either image without a match, in units of the matching cost.
    order : {"random", "fixed"}
        Order of the expansions in a cycle: drawn anew for each cycle, or by rising level.
    iterations : int
        Most cycles. One cycle expands every level once; the last one needed improves nothing more.
    seed : int
        Of the random order; the same seed gives the same labels.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where the reference is occluded. `objective` is the summed cost of matches, occluded pixels of both
        images and edges; `trace` has the seconds and the energy of the filled labels, not the objective, after each cycle.

    Raises
    ------
    ParameterError
        The disparities are fractions of a pixel, the images do not fit the volume, or a parameter is out of its range.

    Notes
    -----
    Kolmogorov & Zabih 2001: an expansion may add any matches of its disparity and drop any others; of equally good ones it makes that
    with fewest of its disparity and most of the others. There are no matches at first. Pixels whose match would lie outside the match image
    are occluded. The paper's threshold and penalty are 8 and 3; the difference is the larger one of both images, as there. Its weight
    and occlusion cost depend on the matching cost. Expansions are left out when nothing has changed since the level's last one.

    Unlike in dynamic programming matches need not be in order, and rows hang together. That no pixel of the match image is matched
    twice needs disparities of whole pixels: refine them afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, Search
    >>> reference, match = np.array([[10, 50, 90, 20, 60]], np.uint8), np.array([[10, 20, 60, 30, 30]], np.uint8)
    >>> shifted = np.abs(reference[..., None] - np.stack([match, np.roll(match, 1), np.roll(match, 2)], axis=-1).astype(float))
    >>> volume = CostVolume(shifted.astype(np.float32), Search(0, 2), 255.0)
    >>> result = graph_cut_occlusion(volume, reference, match, weight=1, occlusion_cost=5)
    >>> result.levels.tolist(), result.objective
    ([[0, -1, -1, 2, 2]], 22.0)
    """
    energy = Energy(volume, smoothness)
    threshold = gradient_threshold or 0.0
    search = volume.search
    if search.denominator > 1:
        raise ParameterError(
            f"graph_cut_occlusion: with a step of 1/{search.denominator} pixel no match has a pixel of the match image to itself; "
            "use a step of 1 and refine the disparities afterwards"
        )
    start = working_time()
    moves = OcclusionMoves(volume, reference, match, weight, threshold, gradient_penalty, occlusion_cost)
    draw = np.random.PCG64(seed)
    trace: list[tuple[float, float]] = []
    objective, lowest = moves.objective(), np.inf
    while objective < lowest and len(trace) < iterations:
        lowest = objective
        # Raw numbers are the only ones that numpy promises never to change.
        levels = np.argsort(draw.random_raw(search.levels)) if order == "random" else np.arange(search.levels)
        for level, _ in zip(levels.tolist(), counted(search.levels, f"cycle {len(trace) + 1}, move"), strict=True):
            if moves.may_improve(level):
                moves.expand(level)
        trace.append((working_time() - start, energy.of(moves.labels)))
        objective = moves.objective()
    labels = moves.labels.copy()
    return Labeling(labels, volume.chosen(labels), trace=tuple(trace), objective=objective)
