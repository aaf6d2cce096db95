"""Functions for stages that use the disparity map of an auxiliary method.

An auxiliary method is a complete stereo method whose disparity map another method
needs, for example as an initial estimate for mutual information.
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
    """Select the disparity map of one auxiliary method by the method's name.

    Parameters
    ----------
    parameter : str
        Parameter of the stage that names the auxiliary method, such as
        ``radiometric_field.initial``. Error messages begin with this text.
    auxiliary : mapping of str to DisparityMap
        Disparity maps of all auxiliary methods, by the name of the method.
    name : str or None
        Name of an auxiliary method. If it is None, there must be exactly one auxiliary
        method, and its disparity map is returned.

    Raises
    ------
    ParameterError
        No auxiliary method has this name, or `name` is None although there are several
        auxiliary methods.
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
    """Subtract from each reference pixel the intensity of its matching pixel.

    The disparity map determines the matching pixel in the match image.

    Parameters
    ----------
    reference, match : ndarray, (rows, columns) or (rows, columns, 3)
    search : SearchRange
        Search range of the pair. The direction of the search range determines whether
        the matching pixels lie to the left or to the right.
    initial : DisparityMap
        Disparity map of the reference image. Pixels that were only filled are ignored,
        because their disparity was not measured.

    Returns
    -------
    is_known : ndarray, bool, (rows, columns)
        Mask of the reference pixels that have the status MATCHED and whose matching
        pixel lies inside the match image.
    differences : ndarray, float32, (rows, columns, channels)
        Reference intensity minus match intensity, in grey levels. Values at pixels
        where `is_known` is False have no meaning.
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

        # A column outside the match image would be an invalid index. It is replaced by
        # the first or last column; `is_known` excludes the pixel from the result.
        inside_columns = np.clip(match_columns, 0, width - 1)
        indices = inside_columns + np.arange(stop - start)[:, None] * width
        strip_pixels = match_pixels[strip].reshape(indices.size, -1)
        matches = strip_pixels.take(indices.reshape(-1), axis=0)
        matches = matches.reshape(reference_pixels[strip].shape)
        np.subtract(reference_pixels[strip], matches, dtype=np.float32, out=differences[strip])

    over_rows(run, rows, 8 * reference_pixels.size)
    return is_known, differences
