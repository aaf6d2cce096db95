"""AD-census: absolute differences and census, both saturated, added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.core.grey import GreyConversion
from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.local_averages import average_locally
from stereo_framework.matching_cost._bit_strings import (
    Odd,
    Strings,
    bit_strings,
    count_differences,
)
from stereo_framework.matching_cost._difference import difference_row
from stereo_framework.matching_cost._sampling import (
    Interpolation,
    close_view,
    floats_of,
    over_bands,
    samples_of,
)
from stereo_framework.stages import (
    CostVolume,
    DisparityMap,
    Image,
    ParameterError,
    Positive,
    SearchRange,
    Unit,
    auxiliary_map,
    intensity_differences,
    stage,
)

_MOST_STEPS = 32767
"""Twice as many fit into 16 bits."""
_MOST = 65535
_HIGHLIGHT = 60
"""Grey levels: differences of matched pixels count as this at most, since larger ones are highlights or mistakes."""


class _Saturation(NamedTuple):
    """What both costs are multiplied with before they saturate, the unit of their sum, and what is added to it before it is cut off to a whole number."""

    difference_factor: np.float32
    bit_factor: np.float32
    unit: np.float32
    rounding: np.float32


def _halo(height: int, residual: float | None) -> int | None:
    # What an initial map leaves of differences is that of whole images.
    return height // 2 if residual is None else None


@stage("matching_cost", source="Mei et al. 2011, section 3.1", halo=_halo, integer=True)
def ad_census(
    reference: Image,
    match: Image,
    search: SearchRange,
    auxiliary: Mapping[str, DisparityMap] | None = None,
    *,
    lambda_ad: Annotated[Positive, Unit("grey levels")] = 10.0,
    lambda_census: Annotated[Positive, Unit("bits")] = 30.0,
    width: Annotated[Odd, Unit("pixels")] = 9,
    height: Annotated[Odd, Unit("pixels")] = 7,
    grey_conversion: GreyConversion = "luma",
    ad_weight: Positive = 1.0,
    census_weight: Positive = 1.0,
    residual: Annotated[Positive, Unit("grey levels")] | None = None,
    initial: str | None = None,
    quantization_steps: Annotated[int, Ge(100), Le(_MOST_STEPS)] | None = None,
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """Add the absolute difference of colours and the number of different census bits.

    Both costs are saturated first: ``1 - exp(-cost / lambda)`` is between 0 and 1.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Integer images follow integer rules; float32 is never truncated to integers.
    search : SearchRange
        Disparities to try, in pixels. Calls in Python also take the ends, and the step
        if it is not 1: ``(0, 63)`` or ``(0, 63, 0.5)``.
    auxiliary : mapping of str to DisparityMap, optional
        For `residual`: the initial map is one of them.
    lambda_ad : float
        Absolute difference, in grey levels and averaged over the channels, at which its
        part of the cost is 1 - 1/e: lambda_AD of the paper.
    lambda_census : float
        Number of different bits at which the census part of the cost is 1 - 1/e:
        lambda_Census of the paper.
    width, height : int
        Of the census windows in pixels.
    grey_conversion : {"luma", "rounded_luma", "mean"}
        Conversion of colours to the grey values that census bits compare, as in
        `census`.
    ad_weight, census_weight : float
        Factors of the two parts; both are 1 in the paper.
    residual : float, optional
        In grey levels: where the light of the pixels that the initial map has matched differs by more than this, around a pixel or in the median of all, differences
        count less and census bits more; null: everywhere alike.
    initial : str, optional
        Name of the auxiliary method whose map is the initial map; null: the only one.
    quantization_steps : int, optional
        Number of parts of 1 of which costs are whole multiples, as integer stages take
        them; null = float32.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        (rows, columns, levels); lower is better. Without unit, 0 to the sum of the weights as float32; or 0 to that sum times
        `quantization_steps`, as uint8 where this is up to 255 and uint16 where it is more. Cells out of view cost half of the most.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        `lambda_ad`, `lambda_census`, a weight or `residual` is not above 0, a residual
        without auxiliary methods, no auxiliary method of the name, a window that is not of 3, 5,
        ... 15 pixels, `quantization_steps` is not 100 to 32767, or is so large that the
        largest cost exceeds 65535.

    Notes
    -----
    Mei et al. 2011, section 3.1. The census part is that of `census` in its plain form, of grey images. The worst cost is a poor one for cells
    out of view, since few others come near it: it wrecks the border that the match image does not show. With 4000 `quantization_steps` the winners
    on real scenes are those of float32 costs in more than 99.9 % of the pixels, with 500 after a mean over 9x9 pixels; a byte, 127 `quantization_steps`,
    keeps 98 % and 99.8 %.

    That differences give way to census bits where right matches differ much, by
    shadows, highlights or noise that `radiometric_field` cannot take away, is ours.
    Their weight is multiplied by min((r / l)^4, (r / m)^2, 1) with the residual r. The
    median m is that of absolute differences of matched pixels, means over the channels.
    The local l is the Gaussian average (12 pixels) of the absolute values of Gaussian
    averages (4 pixels) of signed differences, cut off at 60. Then both weights are
    divided by their sum and multiplied by that of `ad_weight` and `census_weight`.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.full((1, 3), 50, np.uint8), np.full((1, 3), 60, np.uint8)
    >>> ad_census(left, right, SearchRange(0, 1)).costs[0].round(3)
    array([[0.632, 1.   ],
           [0.632, 0.632],
           [0.632, 0.632]], dtype=float32)
    >>> ad_census(left, right, SearchRange(0, 1), quantization_steps=1000).costs[0].tolist()
    [[632, 1000], [632, 632], [632, 632]]
    """
    if residual is not None and not auxiliary:
        raise ParameterError(
            "ad_census.residual: needs an initial map, and the method names no auxiliary methods"
        )
    unit, most = 1 if quantization_steps is None else quantization_steps, ad_weight + census_weight
    if quantization_steps is not None and most * quantization_steps > _MOST:
        product = f"{quantization_steps} times the weights, {most:g},"
        raise ParameterError(f"ad_census.quantization_steps: {product} is above {_MOST}")
    rows, columns = reference.shape[:2]
    weights = np.empty((rows, columns, 2), np.float32)
    weights[:] = ad_weight, census_weight
    if residual is not None and auxiliary:
        kept = ad_weight * _kept(
            reference,
            match,
            search,
            auxiliary_map("ad_census.initial", auxiliary, initial),
            residual,
        )
        # What differences lose census gains, so that costs as a whole weigh the same everywhere.
        weights[..., 0] = most * kept / (kept + census_weight)
        weights[..., 1] = most - weights[..., 0]
    left_strings, right_strings = bit_strings(
        reference, match, search, width, height, "plain", grey_conversion, interpolation
    )
    left, view = floats_of(reference), geometry(columns, search)
    saturation = _Saturation(
        np.float32(1 / (lambda_ad * left.shape[2])),
        np.float32(1 / lambda_census),
        np.float32(unit),
        np.float32(0 if quantization_steps is None else 0.5),
    )
    dtype: Any = (
        np.float32
        if quantization_steps is None
        else np.uint8
        if most * quantization_steps <= 255
        else np.uint16
    )
    outside_cost = most * unit / 2 if quantization_steps is None else round(most * unit / 2)
    costs = np.empty((rows, columns, search.levels), dtype)

    def run(start: int, stop: int) -> None:
        lines = arrange_samples(
            samples_of(match[start:stop], search.denominator, interpolation == "cubic"), view
        )
        strings = (
            left_strings[:, start:stop],
            arrange_samples(right_strings[:, start:stop].swapaxes(0, 1), view),
        )
        found = (
            costs[start:stop]
            if quantization_steps is None
            else np.empty(costs[start:stop].shape, np.float32)
        )
        _kernel(
            left[start:stop],
            lines,
            weights[start:stop],
            *strings,
            view,
            saturation,
            np.float32(outside_cost),
            found,
        )
        if quantization_steps is not None:
            costs[start:stop] = found

    over_bands(run, rows, costs.size)
    return CostVolume(costs, search, float(outside_cost))


def _kept(
    reference: Image, match: Image, search: SearchRange, initial: DisparityMap, residual: float
) -> NDArray[np.float32]:
    """What of the weight of differences is left, where light differs by more than so many grey levels by what an initial map says."""
    known, apart = intensity_differences(reference, match, search, initial)
    if not known.any():
        return np.ones(known.shape, np.float32)
    all_over = np.median(np.abs(apart[known]).mean(axis=1))
    # With their signs: what is brighter here and darker there is texture, not light.
    light = average_locally(np.clip(apart, -_HIGHLIGHT, _HIGHLIGHT), known, 0.0, 4.0)
    unlike = np.abs(light).mean(axis=2, keepdims=True)
    local = average_locally(unlike, known, float(np.median(unlike[known][:, 0])), 12.0)[..., 0]
    tiny = np.float32(1e-6)
    return np.minimum(
        np.minimum((residual / (local + tiny)) ** 4, (residual / (all_over + tiny)) ** 2),
        np.float32(1),
    )


@kernel
def _kernel(
    reference: NDArray,
    lines: NDArray,
    weights: NDArray[np.float32],
    left: Strings,
    right: Strings,
    view: Geometry,
    saturation: _Saturation,
    outside_cost: float,
    costs: NDArray[np.float32],
) -> None:
    """Costs of some rows, from those of the reference image ``(rows, columns, channels)``, lines of the match image ``(rows, channels, room)``, weights of
    differences and of bits, bit strings ``(words, rows, columns)``, and lines of those of the match image ``(rows, words, room)``.
    """
    for y in range(reference.shape[0]):
        _row(
            reference[y],
            weights[y],
            left[:, y],
            lines[y],
            right[y],
            view.origins,
            saturation,
            costs[y],
        )
        close_view(view, outside_cost, costs[y])


@kernel
def _row(
    row: NDArray,
    weights: NDArray[np.float32],
    left: Strings,
    lines: NDArray,
    strings: Strings,
    origins: NDArray[np.int64],
    saturation: _Saturation,
    costs: NDArray[np.float32],
) -> None:
    """Costs of a row ``(pixels, levels)``, not yet cut off; its candidates stand in the lines from `origins` on."""
    differences, bits = np.empty(costs.shape, np.float32), np.empty(costs.shape, np.uint8)
    difference_row(row, lines, origins, np.float32(np.inf), np.bool_(False), differences)
    count_differences(left, strings, origins, bits)
    same = np.empty(costs.shape, np.float32)
    _saturate(differences.reshape(-1), bits.reshape(-1), saturation, same.reshape(-1))
    unit, rounding = saturation.unit, saturation.rounding
    for x in range(costs.shape[0]):
        ad_weight, bit_weight = weights[x, 0], weights[x, 1]
        most = ad_weight + bit_weight
        for i in range(costs.shape[1]):
            costs[x, i] = (
                most - (ad_weight * differences[x, i] + bit_weight * same[x, i])
            ) * unit + rounding


@kernel
def _saturate(
    differences: NDArray[np.float32],
    bits: NDArray[np.uint8],
    saturation: _Saturation,
    same: NDArray[np.float32],
) -> None:
    """How alike pixels are, 1 to 0: by differences, in their place, and by bits; all at once, since rows of levels are short for vectors."""
    difference_factor, bit_factor = saturation.difference_factor, saturation.bit_factor
    for i in range(differences.shape[0]):
        differences[i] = exponential(-differences[i] * difference_factor)
        same[i] = exponential(-np.float32(bits[i]) * bit_factor)
