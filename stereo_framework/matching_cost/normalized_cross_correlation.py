"""Normalized cross-correlation of windows."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, Search
from stereo_framework.core.stage import Unit, stage
from stereo_framework.core.volume import CostVolume
from stereo_framework.kernels.threads import over_rows
from stereo_framework.kernels.window_statistics import Floats, extended, rounded, window_spread, window_sums
from stereo_framework.matching_cost._sampling import Interpolation, Sampling, upsample

Form = Literal["moravec", "standard"]

_WORST = 2.0
"""Cost of a correlation of -1."""
_ROWS = 32
"""Rows that are correlated at a time: what a level needs of them stays in the caches."""


@stage("matching_cost", source="Moravec 1977; Kostliva, Cech & Sara 2007", halo=lambda size: size // 2)
def normalized_cross_correlation(
    reference: Image,
    match: Image,
    search: Search,
    *,
    size: Annotated[int, Ge(2), Unit("pixels")] = 5,
    form: Form = "moravec",
    interpolation: Interpolation = "cubic",
) -> CostVolume:
    """One minus the normalized cross-correlation (NCC) of the windows around a pixel and its candidates in the match image.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, rounded to 1/4096 grey level.
    search : Search
        Disparities to try, in pixels.
    size : int
        Width and height of the windows in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.
    form : {"moravec", "standard"}
        What the covariance is divided by: the arithmetic mean of the two variances, which penalizes different contrasts too, or their
        geometric mean.
    interpolation : {"linear", "cubic"}
        How the match image is sampled between pixels when `search.step` is a fraction of a pixel.

    Returns
    -------
    CostVolume
        One minus correlation, float32 (rows, columns, levels), without unit: 0 = equal up to brightness (and contrast in the standard form),
        1 = uncorrelated, 2 = inverted; lower is better. A flat window is uncorrelated with any other. Cells out of view cost 2.

    Raises
    ------
    DataError
        The images differ in shape or type, or are neither uint8 nor float32.
    ParameterError
        `size` is below 2.

    Notes
    -----
    Moravec's form, ``2 cov(L, R) / (var(L) + var(R))``, known as MNCC, is what stable matching is used with (Kostliva, Cech & Sara 2007);
    the standard one is ``cov(L, R) / sqrt(var(L) var(R))``. In colour every channel of a window (RGB as it is) has its own mean; covariances and
    variances are summed over the channels. Beyond the borders of an image its outermost pixels repeat, for each image by itself.
    Samples between pixels are not rounded to integers, unlike those of the differences.

    Examples
    --------
    >>> import numpy as np
    >>> left = np.array([[10, 20, 40, 10, 10], [20, 10, 10, 30, 10]], np.uint8)
    >>> halved = left // 2 + 50
    >>> for form in ("moravec", "standard"):
    ...     volume = normalized_cross_correlation(left, halved, Search(0, 1), size=2, form=form)
    ...     print(form, round(float(volume.costs[0, 2, 0]), 3))
    moravec 0.2
    standard 0.0
    """
    rows, columns = reference.shape[:2]
    left = _windows(extended(reference, size), size)
    phases = [_windows(phase, size) for phase in _phases(match, size, search.denominator, interpolation == "cubic")]
    costs = np.full((rows, columns, search.levels), _WORST, np.float32)
    shifts = _shifts(columns, search).tolist()

    def run(start: int, stop: int) -> None:
        for top in range(start, stop, _ROWS):
            bottom = min(top + _ROWS, stop)
            for level, (phase, shift, first, end) in enumerate(shifts):
                if first < end:
                    own = left.part(top, bottom, first, end)
                    other = phases[phase].part(top, bottom, first + shift, end + shift)
                    costs[top:bottom, first:end, level] = 1 - _correlation(own, other, size, form)

    over_rows(run, rows, costs.size)
    return CostVolume(costs, search, _WORST)


class _Windows(NamedTuple):
    """An image with the columns and rows more that windows need, (channels, rows, columns), and the sums and the spread of its windows."""

    pixels: Floats
    sums: Floats
    spread: Floats

    def part(self, top: int, bottom: int, left: int, right: int) -> _Windows:
        """The windows of some rows and columns."""
        more = self.pixels.shape[1] - self.sums.shape[1]
        within = np.s_[top:bottom, left:right]
        pixels = self.pixels[:, top : bottom + more, left : right + more]
        return _Windows(pixels, self.sums[:, *within], self.spread[within])


def _windows(image: Floats, size: int) -> _Windows:
    pixels, sums = (np.ascontiguousarray(np.moveaxis(a, 2, 0)) for a in (image, window_sums(image, size)))
    return _Windows(pixels, sums, window_spread(image, size))


def _correlation(own: _Windows, other: _Windows, size: int, form: Form) -> Floats:
    """Of windows at the same places of two images; (rows, columns)."""
    products = (own.pixels * other.pixels).sum(axis=0)
    cross = size**2 * window_sums(products[..., None], size)[..., 0]
    for a, b in zip(own.sums, other.sums, strict=True):
        cross -= a * b
    if form == "standard":
        scale = np.sqrt(np.maximum(own.spread * other.spread, 0))
    else:
        scale = 0.5 * (own.spread + other.spread)
    found: Floats = np.divide(cross, scale, out=np.zeros_like(cross), where=scale > 0)
    return np.clip(found, -1, 1)


def _phases(image: Image, size: int, denominator: int, cubic: bool) -> list[Floats]:
    """The image sampled at its pixels, 1/N to the right of them, 2/N ..., each with the columns and rows more that windows need."""
    if denominator == 1:
        return [extended(image, size)]
    pixels = rounded(image.reshape(*image.shape[:2], -1))
    rows, columns, channels = pixels.shape
    fine = np.empty((rows, (columns - 1) * denominator + 1, channels), np.float32)
    line = np.empty(fine.shape[1], np.float32)
    for y, c in np.ndindex(rows, channels):
        upsample(pixels[y, :, c], Sampling(denominator, cubic, whole=False), line)
        fine[y, :, c] = line
    # The outermost pixels repeat, not the bend that a spline would make towards copies of them.
    before, after = (size - 1) // 2, size // 2
    aside = before * denominator, after * denominator + denominator - 1
    fine = np.pad(fine, ((before, after), aside, (0, 0)), mode="edge")
    return [rounded(fine[:, i::denominator]) for i in range(denominator)]


def _shifts(columns: int, search: Search) -> NDArray[np.int64]:
    """By level: which phase of the match image is met, how many columns further right, and from which to before which column it is in view.

    int64 (levels, 4).
    """
    position = -search.direction * (search.first + search.stride * np.arange(search.levels))
    shift, phase = np.divmod(position, search.denominator)
    seen = search.in_view(columns)
    start = seen.argmax(axis=0)
    return np.stack([phase, shift, start, start + seen.sum(axis=0)], axis=1)
