"""Stratified matching: stable matching on correlations whose windows keep to one structure of the disparity space."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Labeling
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.kernels.window_statistics import Floats, round_intensities
from stereo_framework.optimization.stable_matching import Rules, stable_labels
from stereo_framework.stages import Image, NonNegative, Unit, stage


@stage(
    "optimization",
    source="after Kostkova & Sara 2003; Kostliva, Cech & Sara 2007",
    whole_steps="matches pixels one to one",
)
def stratified_matching(
    volume: CostVolume,
    reference: Image,
    match: Image,
    *,
    min_similarity: Annotated[float, Ge(-1), Le(1)] = 0.8,
    alpha: Annotated[NonNegative, Unit("squared grey levels")] = 10.0,
    beta: NonNegative = 0.05,
    size: Annotated[int, Ge(2), Unit("pixels")] = 5,
    ordering: bool = False,
    two_sided: bool = False,
) -> Labeling:
    """Stable matching of the candidates of high similarity, correlated anew over those pixels that belong to the same structure.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels), those of `normalized_cross_correlation`: the similarity is 1 - cost.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The images to correlate.
    min_similarity : float
        Similarity above which a cell is a candidate.
    alpha, beta : float
        Margins of confidence, as in `stable_matching`.
    size : int
        Width and height of windows in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.
    ordering, two_sided : bool
        Rules of competition, as in `stable_matching`.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where nothing is certain; each pixel of either image is matched once at most.

    Raises
    ------
    ParameterError
        A parameter out of its range, or disparities at fractions of a pixel.
    DataError
        An image and the volume differ in size.

    Notes
    -----
    Our own method in the manner of Stratified Dense Matching (Kostkova & Sara 2003), of which Kostliva, Cech & Sara 2007 show results
    (SDM): results are not comparable with those published. Candidates that touch, also diagonally, in column, row and level form a
    component. For every candidate Moravec's correlation (see `normalized_cross_correlation`) is computed again over those pixels of its
    window whose cell of the same level is in the same component; `stable_matching` then decides. Windows so stop at the
    edges of a surface. Components span the image, so the stage sees all of it.
    """
    rules = Rules(float(alpha), float(beta), size, ordering, two_sided)
    volume.search.check_whole_steps("stratified_matching")
    labels = stable_labels(
        _within_components(volume, reference, match, min_similarity, size), reference, match, rules
    )
    return Labeling(labels, volume.chosen(labels))


def _within_components(
    volume: CostVolume, reference: Image, match: Image, min_similarity: float, size: int
) -> CostVolume:
    """Costs of the candidates, correlated within their components; infinite elsewhere."""
    from scipy.ndimage import label

    components, _ = label(
        (volume.costs < 1 - min_similarity) & volume.inside, np.ones((3, 3, 3)), np.int32
    )
    left, right = (
        round_intensities(image.reshape(*image.shape[:2], -1)) for image in (reference, match)
    )
    costs, search = np.full_like(volume.costs, np.inf), volume.search
    shift, stride = search.direction * search.first, search.direction * search.stride

    def run(start: int, stop: int) -> None:
        _kernel(components, left, right, start, shift, stride, size, costs[start:stop])

    over_rows(run, costs.shape[0], costs.size)
    return replace(volume, costs=costs)


@kernel
def _kernel(
    components: NDArray[np.int32],
    left: Floats,
    right: Floats,
    start: int,
    shift: int,
    stride: int,
    size: int,
    costs: Costs,
) -> None:
    """Costs of the candidates of the rows from `start` on."""
    rows, columns, levels = components.shape
    before, after = (size - 1) // 2, size // 2
    for y in range(start, start + costs.shape[0]):
        for x in range(columns):
            for k in range(levels):
                component = components[y, x, k]
                if component == 0:
                    continue
                product, spread = 0.0, 0.0
                for c in range(left.shape[2]):
                    count, sum_a, sum_b, squares, products = 0, 0.0, 0.0, 0.0, 0.0
                    for j in range(max(0, y - before), min(rows, y + after + 1)):
                        for i in range(max(0, x - before), min(columns, x + after + 1)):
                            if components[j, i, k] == component:
                                a, b = left[j, i, c], right[j, i - shift - stride * k, c]
                                count += 1
                                sum_a += a
                                sum_b += b
                                squares += a * a + b * b
                                products += a * b
                    product += count * products - sum_a * sum_b
                    spread += count * squares - sum_a * sum_a - sum_b * sum_b
                costs[y - start, x, k] = 1 - 2 * product / spread if spread > 0 else 1.0
