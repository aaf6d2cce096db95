"""Confidently stable matching: semi-dense, pixels whose match is not beyond doubt stay unassigned."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge

from stereo_framework.core.scene import Image
from stereo_framework.core.stage import NonNegative, Unit, stage
from stereo_framework.core.volume import CostVolume, Labeling
from stereo_framework.optimization._one_to_one import check_whole_steps
from stereo_framework.optimization._stable import Rules, stable_labels


@stage("optimization", source="Sara 2002; Kostliva, Cech & Sara 2007", halo=lambda size: size // 2)
def stable_matching(
    volume: CostVolume,
    reference: Image,
    match: Image,
    *,
    alpha: Annotated[NonNegative, Unit("squared grey levels")] = 10.0,
    beta: NonNegative = 0.05,
    size: Annotated[int, Ge(2), Unit("pixels")] = 5,
    ordering: bool = False,
    two_sided: bool = False,
) -> Labeling:
    """The matches of every row that beat all their competitors with confidence, and those that do once these are settled.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels). The similarity is 1 - cost: the correlation itself where the costs are those of
        `normalized_cross_correlation`, which `alpha` and `beta` are meant for.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The images, for the variances of their windows.
    alpha : float
        Margin by which a match must beat its competitors, times the summed variances of its two windows, in squared grey levels: the less
        texture, the larger the margin. In colour variances are means over the channels.
    beta : float
        Further margin as a fraction of the match's own similarity.
    size : int
        Width and height in pixels of the windows that variances are taken over; usually that of the matching cost.
    ordering : bool
        Let matches that reverse the order of the pixels in the row compete as well, so that the result keeps that order.
    two_sided : bool
        Let competitors be as much better than they look as the match may be worse: their own margin is added to their similarity.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where nothing is certain; each pixel of either image is matched once at most.

    Raises
    ------
    ParameterError
        `alpha` or `beta` below 0, `size` below 2, or disparities at fractions of a pixel.
    DataError
        An image and the volume differ in size.

    Notes
    -----
    Sara 2002. A candidate p of similarity c(p) competes with all candidates for its reference pixel or its match pixel. It beats q when
    ``c(p) - delta(p) > c(q)``, where ``delta(p) = beta * |c(p)| + alpha / (var_L + var_R)``. A strict sub-kernel is a set without
    competitors among its members in which every competitor that a member does not beat is beaten by another member. The largest one is
    unique and found by matching, as long as there are any, candidates that beat all competitors, and removing these. With both margins
    0 this is the stable matching, which leaves hardly any pixel out; larger margins mostly leave fewer and better matches.

    The form of `alpha`'s term is ours: Kostliva, Cech & Sara 2007 name the two parameters, not the formula. Cells out of view are no
    candidates. A match without any competitor left wins, unless neither window has any texture and `alpha` is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, Search
    >>> image = np.zeros((1, 3), np.uint8)
    >>> costs = np.array([[[0.1, 2], [0.3, 0.2], [0.0, 0.9]]], np.float32)
    >>> volume = CostVolume(costs, Search(0, 1), 2.0)
    >>> stable_matching(volume, image, image, alpha=0, beta=0).levels.tolist()
    [[0, 0, 0]]
    >>> stable_matching(volume, image, image, alpha=0, beta=0.2).levels.tolist()
    [[-1, -1, 0]]
    """
    rules = Rules(float(alpha), float(beta), size, ordering, two_sided)
    check_whole_steps("stable_matching", volume.search)
    labels = stable_labels(volume, reference, match, rules)
    return Labeling(labels, volume.chosen(labels))
