"""Differences of colour and of grey gradient."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, Search
from stereo_framework.core.stage import Fraction01, Positive, Unit, stage
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost._difference import difference_row
from stereo_framework.matching_cost._grey import add_channels, grey_line
from stereo_framework.matching_cost._sampling import (
    Geometry,
    Interpolation,
    Sampling,
    arrange,
    close_view,
    floats_of,
    geometry,
    sample_row,
)


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
    search: Search,
    *,
    share: Fraction01 = 0.89,
    truncation: Annotated[Positive, Unit("grey levels")] = 7.0,
    gradient_truncation: Annotated[Positive, Unit("grey levels per pixel")] = 2.0,
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """Truncated difference of colours and truncated difference of grey gradients, added.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Integer images follow integer rules; float32 is never truncated to integers.
    search : Search
        Disparities to try, in pixels.
    share : float
        Share of the gradients in the cost, 0 to 1, the rest being that of the colours.
    truncation : float
        Largest difference of colours in grey levels, applied to the mean over the channels.
    gradient_truncation : float
        Largest difference of gradients in grey levels per pixel.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        Grey levels, float32 (rows, columns, levels); lower is better. Cells out of view cost the most,
        ``(1 - share) * truncation + share * gradient_truncation`` with truncations of 255 at most.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        A truncation that is not above 0, a share that is not within 0..1.

    Notes
    -----
    Rhemann et al. 2011, section 3.1: ``(1 - a) min(|I - J|, t1) + a min(|dI/dx - dJ/dx|, t2)``. Klaus, Sormann & Karner 2006 add the two without
    truncating them. The gradient along the row is that of the grey image, the mean of R, G and B, by central differences; at
    either end of a row, where there is one neighbour alone, it is the difference to that. Between pixels it is taken from the samples a
    pixel before and after.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.array([[10, 20, 30, 40]], np.uint8), np.array([[14, 24, 34, 45]], np.uint8)
    >>> gradient_difference(left, right, Search(0, 1), share=0.5).costs[0].tolist()
    [[2.0, 4.5], [2.0, 3.0], [2.25, 3.0], [3.0, 3.25]]
    """
    rows, columns = reference.shape[:2]
    outside = np.float32((1 - share) * min(255.0, truncation) + share * min(255.0, gradient_truncation))
    left, right = floats_of(reference), floats_of(match)
    channels = left.shape[2]
    view = geometry(columns, search)
    sampling = Sampling(search.denominator, interpolation == "cubic", reference.dtype == np.uint8)
    terms = _Terms(
        np.float32((1 - share) / channels),
        np.float32(truncation * channels),
        np.float32(share / channels),
        np.float32(gradient_truncation * channels),
    )
    costs = np.empty((rows, columns, search.levels), np.float32)

    def run(start: int, stop: int) -> None:
        _kernel(left[start:stop], right[start:stop], view, sampling, terms, outside, costs[start:stop])

    over_rows(run, rows, costs.size)
    return CostVolume(costs, search, float(outside))


@kernel
def _kernel(
    reference: NDArray, match: NDArray, view: Geometry, sampling: Sampling, terms: _Terms, outside: float, costs: Costs
) -> None:
    """Costs of some rows of two images ``(rows, columns, channels)``."""
    rows, columns, channels = reference.shape
    samples, room = view.samples, view.samples + 2 * view.levels
    lines, slopes = np.zeros((channels, room), np.float32), np.zeros(room, np.float32)
    grey, slope, sample = np.empty(samples, np.float32), np.empty(samples, np.float32), np.empty(samples, np.float32)
    own = np.empty(columns, np.float32)
    for y in range(rows):
        add_channels(reference[y], grey[:columns])
        _differentiate(grey[:columns], 1, own)
        grey_line(match[y], sampling, sample, 0, grey)
        _differentiate(grey, sampling.denominator, slope)
        arrange(slope, view.reverse, view.stride, slopes[view.levels : view.levels + samples])
        sample_row(match[y], view, sampling, sample, lines)
        difference_row(reference[y], lines, view.origins, terms.cutoff, np.bool_(False), costs[y])
        _add_gradients(own, slopes, view.origins, terms, costs[y])
        close_view(view, outside, costs[y])


@kernel
def _differentiate(line: NDArray[np.float32], denominator: int, slope: NDArray[np.float32]) -> None:
    """Difference of the samples a pixel after and before each, or at the end of the line, over their distance in pixels."""
    last = line.shape[0] - 1
    for i in range(last + 1):
        before, after = max(i - denominator, 0), min(i + denominator, last)
        distance = max(after - before, 1)
        slope[i] = (line[after] - line[before]) * np.float32(denominator / distance)


@kernel
def _add_gradients(
    own: NDArray[np.float32], slopes: NDArray[np.float32], origins: NDArray[np.int64], terms: _Terms, costs: Costs
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
            costs[at, level] = weight * costs[at, level] + gradient_weight * (gradient if gradient < cutoff else cutoff)
