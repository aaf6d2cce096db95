"""Differences of colour and of grey gradient."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion, grey_values
from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.matching_cost._difference import difference_row
from stereo_framework.matching_cost._sampling import (
    Interpolation,
    close_view,
    floats_of,
    over_bands,
    samples_of,
)
from stereo_framework.stages import Fraction01, Image, Positive, SearchRange, Unit, stage


class _Terms(NamedTuple):
    """Weights and largest values of the differences of colour and of gradient, which are sums over the channels."""

    weight: np.float32
    cutoff: np.float32
    gradient_weight: np.float32
    gradient_cutoff: np.float32


@stage("matching_cost", source="Rhemann et al. 2011, section 3.1", halo=lambda: 0)
def gradient_difference(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    alpha: Fraction01 = 0.89,
    truncation: Annotated[Positive, Unit("grey levels")] = 7.0,
    gradient_truncation: Annotated[Positive, Unit("grey levels per pixel")] = 2.0,
    grey_conversion: GreyConversion = "luma",
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """Truncated difference of colours and truncated difference of grey gradients, added.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Integer images follow integer rules; float32 is never truncated to integers.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    alpha : float
        Share of the difference of gradients in the cost, 0..1; the rest is the share of
        the difference of colours. The paper's symbol.
    truncation : float
        Largest difference of colours in grey levels, applied to the mean over the channels.
    gradient_truncation : float
        Largest difference of gradients in grey levels per pixel.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values of the gradient, as in `census`.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        Grey levels, float32 (rows, columns, levels); lower is better. Cells out of view
        cost the most, ``(1 - alpha) * truncation + alpha * gradient_truncation`` with
        truncations of 255 at most.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        A truncation is not above 0, or `alpha` is not within 0..1.

    Notes
    -----
    Rhemann et al. 2011, section 3.1: ``(1 - alpha) min(|I - J|, t1) + alpha min(|dI/dx - dJ/dx|, t2)``. Klaus, Sormann & Karner 2006 add the two without
    truncating them. The gradient along the row is that of the grey image by central differences; at
    either end of a row, where there is one neighbour alone, it is the difference to that. Between pixels it is taken from the samples a
    pixel before and after.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.array([[10, 20, 30, 40]], np.uint8), np.array([[14, 24, 34, 45]], np.uint8)
    >>> gradient_difference(left, right, SearchRange(0, 1), alpha=0.5).costs[0].tolist()
    [[2.0, 4.5], [2.0, 3.0], [2.25, 3.0], [3.0, 3.25]]
    """
    rows, columns = reference.shape[:2]
    outside_cost = np.float32(
        (1 - alpha) * min(255.0, truncation) + alpha * min(255.0, gradient_truncation)
    )
    left, view = floats_of(reference), geometry(columns, search)
    channels = left.shape[2]
    terms = _Terms(
        np.float32((1 - alpha) / channels),
        np.float32(truncation * channels),
        np.float32(alpha / channels),
        np.float32(gradient_truncation * channels),
    )
    costs = np.empty((rows, columns, search.levels), np.float32)

    def run(start: int, stop: int) -> None:
        cubic = interpolation == "cubic"
        match_rows = match[start:stop]
        samples = samples_of(match_rows, search.denominator, cubic)
        reference_rows = reference[start:stop]
        reference_samples = samples_of(reference_rows, 1, cubic)
        grey_reference = _grey_samples(reference_rows, reference_samples, grey_conversion, 1, cubic)
        grey_match = _grey_samples(match_rows, samples, grey_conversion, search.denominator, cubic)
        slopes = _slopes(grey_reference, 1)
        match_slopes = _slopes(grey_match, search.denominator)
        lines, slope_lines = arrange_samples(samples, view), arrange_samples(match_slopes, view)
        rows_of_costs = costs[start:stop]
        _kernel(
            left[start:stop], lines, slopes, slope_lines, view, terms, outside_cost, rows_of_costs
        )

    over_bands(run, rows, costs.size)
    return CostVolume(costs, search, float(outside_cost))


def _grey_samples(
    image: Image,
    samples: NDArray[np.float32],
    grey_conversion: GreyConversion,
    denominator: int,
    cubic: bool,
) -> NDArray[np.float32]:
    """Return the grey values of samples, times the number of channels.

    Parameters
    ----------
    image : ndarray, (rows, columns) or (rows, columns, 3)
    samples : ndarray, float32, (rows, channels, positions)
        The samples of the image. The mean is that of their channels. The luma is
        computed before the image is sampled, as for `census`.
    grey_conversion : {"luma", "rounded_luma", "mean"}
    denominator : int
        Positions are 1/denominator pixels apart.
    cubic : bool
        Whether the samples between pixels lie on the cubic spline or on straight lines.

    Returns
    -------
    ndarray, float32, (rows, positions)
    """
    if grey_conversion == "mean" or image.ndim == 2:
        return samples.sum(axis=1)
    grey_image = grey_values(image, grey_conversion)
    luma_samples = samples_of(grey_image, denominator, cubic)[:, 0]
    return np.float32(image.shape[2]) * luma_samples


def _slopes(grey: NDArray[np.float32], denominator: int) -> NDArray[np.float32]:
    """Return the gradient along the row at each sample.

    It is the difference of the grey values a pixel after and before the sample, or at
    the end of the row, over their distance in pixels.
    """
    at, last = np.arange(grey.shape[1]), grey.shape[1] - 1
    before, after = np.maximum(at - denominator, 0), np.minimum(at + denominator, last)
    return (grey[:, after] - grey[:, before]) * (
        denominator / np.maximum(after - before, 1)
    ).astype(np.float32)


@kernel
def _kernel(
    reference: NDArray,
    lines: NDArray,
    slopes: NDArray,
    other_slopes: NDArray,
    view: Geometry,
    terms: _Terms,
    outside_cost: float,
    costs: Costs,
) -> None:
    """Costs of some rows of an image ``(rows, columns, channels)`` and its slopes ``(rows, columns)``, from lines of the match image and its slopes."""
    for y in range(reference.shape[0]):
        difference_row(
            reference[y], lines[y], view.origins, terms.cutoff, np.bool_(False), costs[y]
        )
        _add_gradients(slopes[y], other_slopes[y], view.origins, terms, costs[y])
        close_view(view, outside_cost, costs[y])


@kernel
def _add_gradients(
    own: NDArray[np.float32],
    slopes: NDArray[np.float32],
    origins: NDArray[np.int64],
    terms: _Terms,
    costs: Costs,
) -> None:
    """Weight the differences of colour that `costs` holds and add those of the gradients."""
    columns, levels = costs.shape
    weight, gradient_weight, cutoff = terms.weight, terms.gradient_weight, terms.gradient_cutoff
    for x in range(columns):
        # Unsigned indices need no wraparound check.
        at, origin = np.uint64(x), np.uint64(origins[x])
        slope = own[at]
        for k in range(levels):
            level = np.uint64(k)
            gradient = abs(slope - slopes[origin + level])
            costs[at, level] = weight * costs[at, level] + gradient_weight * (
                gradient if gradient < cutoff else cutoff
            )
