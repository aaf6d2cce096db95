"""Absolute intensity differences."""

from __future__ import annotations

from typing import Annotated

from stereo_framework.matching_cost._difference import BirchfieldTomasi, difference_volume
from stereo_framework.matching_cost._sampling import Interpolation
from stereo_framework.stages import CostVolume, Image, Positive, SearchRange, Unit, stage


@stage("matching_cost", source="Scharstein & Szeliski 2002, section 4.1", halo=lambda: 0)
def absolute_difference(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    truncation: Annotated[Positive, Unit("grey levels")] | None = None,
    birchfield_tomasi: BirchfieldTomasi = False,
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """Absolute difference (AD) of each reference pixel and its candidates in the match image, summed over channels.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Integer images follow integer rules; float32 is never truncated to integers.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    truncation : float, optional
        Largest cost in grey levels, applied to the sum over the channels; null = none.
    birchfield_tomasi : bool or "symmetric"
        Whether the cost is Birchfield & Tomasi's measure, which is insensitive to
        sampling: the distance of the reference pixel to the interval of the values of
        the match image within half a step. symmetric: in each channel that distance, or
        the distance of the match pixel to the interval of the reference image,
        whichever is smaller.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        Grey levels, float32 (rows, columns, levels); lower is better. Cells out of view cost
        ``min(1020 in colour or 255 in grey, truncation)``.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        `truncation` is not above 0.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.1. With ``birchfield_tomasi=True`` the reference pixel stays a point (the paper's
    experiments use Birchfield & Tomasi 1998 in this form), and the halves of integer images are rounded up. With "symmetric" they are
    rounded down, as in the energies of Szeliski et al. 2008.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.array([[10, 20, 30]], np.uint8), np.array([[20, 30, 40]], np.uint8)
    >>> absolute_difference(left, right, SearchRange(0, 1)).costs[0].tolist()
    [[10.0, 255.0], [10.0, 0.0], [10.0, 0.0]]
    """
    return difference_volume(
        reference,
        match,
        search,
        squared=False,
        truncation=truncation,
        birchfield_tomasi=birchfield_tomasi,
        interpolation=interpolation,
    )
