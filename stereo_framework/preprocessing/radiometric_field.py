"""Unlike exposure, vignetting and haze taken out of a pair, by what an initial map of it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from stereo_framework.kernels.local_averages import average_locally
from stereo_framework.stages import (
    DisparityMap,
    Image,
    Positive,
    SearchRange,
    Unit,
    auxiliary_map,
    intensity_differences,
    stage,
)


@stage(
    "preprocessing", source="ours, unpublished; Knutsson & Westin 1993 for normalized convolution"
)
def radiometric_field(
    reference: Image,
    match: Image,
    search: SearchRange,
    auxiliary: Mapping[str, DisparityMap],
    *,
    sigma: Annotated[Positive, Unit("pixels")] = 30.0,
    initial: str | None = None,
) -> tuple[Image, Image]:
    """Subtract from the reference image what it is brighter than the match image, as a smooth field in each channel.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Its direction says where the match frame lies.
    auxiliary : mapping of str to DisparityMap
        The initial map is one of them. Pixels count that have an estimate and were not filled.
    sigma : float
        Standard deviation of the Gaussian that averages the differences of matched pixels, in pixels.
    initial : str, optional
        Name of the auxiliary method whose map is the initial map; null: the only one.

    Returns
    -------
    reference, match : ndarray
        Same shapes and type; the reference image corrected, uint8 rounded and cut off to 0..255. Without a matched pixel both stay.

    Raises
    ------
    ParameterError
        `sigma` is not above 0, there is no such auxiliary method, or none is named and there are several.

    Notes
    -----
    Ours, unpublished. Differences of matched pixels are cut off at 4 mean absolute deviations and 4 grey levels from their median, so that wrong matches and
    highlights count little; the deviation is the median of the pixels' means over channels. The average is taken over the matched pixels around
    (normalized convolution), and where hardly any are near it goes to the median of all. Blocks of a sixth of `sigma` are averaged first. On pairs
    of one exposure the field is next to nothing; on photographs of unlike light it brings back the absolute difference as a cost.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.full((2, 4), 90, np.uint8), np.full((2, 4), 80, np.uint8)
    >>> zero = np.zeros((2, 4))
    >>> initial = DisparityMap(np.float32(zero), np.uint8(zero), SearchRange(0, 3))
    >>> radiometric_field(left, right, SearchRange(0, 3), {"initial": initial})[0].tolist()
    [[80, 80, 80, 80], [80, 80, 80, 80]]
    """
    seen = auxiliary_map("radiometric_field.initial", auxiliary, initial)
    matched, apart = intensity_differences(reference, match, search, seen)
    if not matched.any():
        return reference, match
    values = apart[matched]
    middle = np.median(values, axis=0)
    spread = np.median(np.abs(values - middle).mean(axis=1))
    limit = np.float32(4 * spread + 4)
    field = average_locally(np.clip(apart, middle - limit, middle + limit), matched, middle, sigma)
    corrected = np.clip(reference.reshape(field.shape) - field, 0, 255)
    whole = np.rint(corrected) if reference.dtype == np.uint8 else corrected
    return whole.astype(reference.dtype).reshape(reference.shape), match
