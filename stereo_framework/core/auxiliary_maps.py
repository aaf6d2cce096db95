"""Functions for stages that use the disparity map of an auxiliary method.

An auxiliary method computes a disparity map for another method. For example, mutual
information needs an initial disparity map.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.scene import Image, Mask, SearchRange
from stereo_framework.core.view import DisparityMap
from stereo_framework.core.volume import Status
from stereo_framework.kernels.threads import over_rows


def auxiliary_map(
    parameter: str, auxiliary: Mapping[str, DisparityMap], name: str | None
) -> DisparityMap:
    """Return the disparity map of the auxiliary method with a given name.

    Parameters
    ----------
    parameter : str
        Stage parameter for error messages, such as ``radiometric_field.initial``.
    auxiliary : mapping of str to DisparityMap
        Disparity maps of all auxiliary methods, by method name.
    name : str or None
        Name of an auxiliary method. None selects the only auxiliary method.

    Raises
    ------
    ParameterError
        The name is unknown, or is None although several methods exist.
    """
    if name is None and len(auxiliary) == 1:
        return next(iter(auxiliary.values()))
    if name is None:
        message = (
            f"{parameter}: names no auxiliary method, and there are several; "
            f"allowed: {', '.join(sorted(auxiliary))}"
        )
        raise ParameterError(message)
    if name not in auxiliary:
        remedy = nearest(name, auxiliary, kind="auxiliary methods")
        raise ParameterError(f"{parameter}: no auxiliary method {name!r}; {remedy}")
    return auxiliary[name]


def intensity_differences(
    reference: Image, match: Image, search: SearchRange, initial: DisparityMap
) -> tuple[Mask, NDArray[np.float32]]:
    """Subtract the match intensity from the reference intensity of each pixel.

    The disparity map determines the matching pixels.

    Parameters
    ----------
    reference, match : ndarray, (rows, columns) or (rows, columns, 3)
    search : SearchRange
        Search range of the pair, with the direction of the disparities.
    initial : DisparityMap
        Disparity map of the reference image. Filled pixels are ignored.

    Returns
    -------
    is_known : ndarray, bool, (rows, columns)
        True at pixels with the status MATCHED and a match inside the image.
    differences : ndarray, float32, (rows, columns, channels)
        Reference intensity minus match intensity, in grey levels. Valid only where
        `is_known` is True.
    """
    rows, width = reference.shape[:2]
    reference_pixels = reference.reshape(rows, width, -1)
    match_pixels = match.reshape(rows, width, -1)
    columns = np.arange(width)
    is_known = np.empty((rows, width), np.bool_)
    differences = np.empty(reference_pixels.shape, np.float32)

    def run(start: int, stop: int) -> None:
        strip = slice(start, stop)
        disparity = initial.disparity[strip]
        is_matched = ~np.isnan(disparity) & (initial.status[strip] == Status.MATCHED)
        whole_disparity = np.rint(np.where(is_matched, disparity, 0)).astype(np.int64)
        match_columns = columns - search.direction * whole_disparity
        is_known[strip] = is_matched & (match_columns >= 0) & (match_columns < width)

        # Columns outside the match image would be invalid indices. Their pixels are
        # excluded by `is_known`.
        inside_columns = np.clip(match_columns, 0, width - 1)
        indices = inside_columns + np.arange(stop - start)[:, None] * width
        strip_pixels = match_pixels[strip].reshape(indices.size, -1)
        matches = strip_pixels.take(indices.reshape(-1), axis=0)
        matches = matches.reshape(reference_pixels[strip].shape)
        np.subtract(reference_pixels[strip], matches, dtype=np.float32, out=differences[strip])

    over_rows(run, rows, 8 * reference_pixels.size)
    return is_known, differences
