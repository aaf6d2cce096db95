"""Bayesian diffusion: support spreads by a robust prior, not by averaging."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import (
    Fraction01,
    NonNegative,
    Positive,
    PositiveInt,
    Unit,
    kernel_array,
    stage,
)

_SMALLEST = np.float32(1e-16)
"""Probabilities below are raised to this, so that no cost grows beyond 37 nepers."""


@stage(
    "aggregation",
    source="Scharstein & Szeliski 1998, section 5; Scharstein & Szeliski 2002, section 4.2",
    resume="iterations",
)
def bayesian_diffusion(
    volume: CostVolume,
    partial: CostVolume | None = None,
    *,
    iterations: PositiveInt = 1000,
    cost_factor: Annotated[Positive, Unit("per grey level")] = 0.01,
    mu: NonNegative = 0.5,
    sigma_p: Annotated[Positive, Unit("levels")] = 0.4,
    epsilon_p: Fraction01 = 0.01,
) -> CostVolume:
    """Mean-field diffusion of disparity probabilities under a contaminated Gaussian prior.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    partial : CostVolume, optional
        The result for `volume` after some iterations, to be continued by `iterations` more.
    iterations : int
        Number of diffusion steps.
    cost_factor : float
        Factor that turns costs into negative logarithms of likelihoods, per grey level.
    mu : float
        Weight of the neighbours' support; 0 = none.
    sigma_p : float
        Standard deviation, in levels, of the disparity difference of neighbours in the
        prior: the paper's sigma_P.
    epsilon_p : float
        Share of the prior that allows any disparity difference, 0..1: the paper's
        epsilon_P.

    Returns
    -------
    CostVolume
        Negative log probabilities up to a constant, float32 (rows, columns, levels); lower is better. `outside_cost` keeps the unit
        of the input and thus never wins.

    Raises
    ------
    ParameterError
        A parameter outside its bounds.

    Notes
    -----
    Scharstein & Szeliski 1998 (IJCV 28), section 5; Scharstein & Szeliski 2002, section 4.2. With ``E0 = cost_factor * C`` each
    step computes ``p ~ exp(-E)`` and ``S(d) = -ln sum_d' W(d, d') p(d')``, W the prior's table
    ``(1 - epsilon_p) exp(-(d - d')^2 / (2 sigma_p^2)) + epsilon_p`` with rows that sum to one, and sets ``E = E0 + mu * (sum of S over the
    cell and its 4 neighbours)``. Image borders are replicated. Exponential and logarithm are polynomials in float32 with
    relative errors below 2e-7.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> costs = np.array([[[9, 0], [4, 5], [9, 0]]], np.float32)
    >>> result = bayesian_diffusion(CostVolume(costs, SearchRange(0, 1), 255.0), iterations=50, cost_factor=1.0)
    >>> result.costs.argmin(axis=2).tolist()
    [[1, 1, 1]]
    """
    factor, weight = np.float32(cost_factor), np.float32(mu)
    taps, floor, norm = _prior(volume.costs.shape[2], sigma_p, epsilon_p)
    # Inside, the columns stand fastest: sums over a pixel's levels, too few to fill vector registers, become sums of whole rows.
    data = kernel_array(volume.costs.transpose(0, 2, 1))
    # S of the previous and of the present step; the last step writes E itself.
    present, following = np.zeros_like(data), np.empty_like(data)

    def step(support: Costs, out: Costs, last: bool, start: int, stop: int) -> None:
        _kernel(data, support, start, factor, weight, taps, floor, norm, last, out[start:stop])

    if partial is not None:
        # The energies after some steps are all that the next one depends on: as costs without any support they give theirs.
        energies = kernel_array(partial.costs.transpose(0, 2, 1))
        _kernel(
            energies, present, 0, np.float32(1), np.float32(0), taps, floor, norm, False, following
        )
        present, following = following, present
    first = int(partial is not None)
    for i in counted(iterations + 1 - first, "iteration"):
        over_rows(
            functools.partial(step, present, following, first + i == iterations),
            data.shape[0],
            4 * data.size,
        )
        present, following = following, present
    return replace(volume, costs=np.ascontiguousarray(present.transpose(0, 2, 1)))


def _prior(levels: int, sigma_p: float, epsilon_p: float) -> tuple[Costs, np.float32, Costs]:
    """The prior's table as a symmetric band of taps and a floor, and the factor that normalizes each row.

    Taps that are too small to change a float32 sum are left out.
    """
    gaussian = (1 - epsilon_p) * np.exp(-(np.arange(levels, dtype=float) ** 2) / (2 * sigma_p**2))
    reach = int(
        np.flatnonzero(gaussian > 2.0**-26 * max(epsilon_p, float(_SMALLEST))).max(initial=0)
    )
    taps = gaussian[: reach + 1]
    distances = np.abs(np.arange(levels)[:, None] - np.arange(levels))
    table = np.where(distances <= reach, taps[np.minimum(distances, reach)], 0) + epsilon_p
    return (
        taps.astype(np.float32),
        np.float32(epsilon_p),
        (1 / table.sum(axis=1)).astype(np.float32),
    )


@kernel
def _kernel(
    costs: Costs,
    support: Costs,
    start: int,
    factor: float,
    weight: float,
    taps: Costs,
    floor: float,
    norm: Costs,
    last: bool,
    out: Costs,
) -> None:
    """Energies of some rows from the support S of all; then, unless this is the last step, their S in place of them.

    All volumes are ``(rows, levels, columns)``.
    """
    rows, levels, columns = costs.shape
    reach = taps.shape[0] - 1
    # Levels out of range have the probability 0.
    energies = np.zeros((levels + 2 * reach, columns), np.float32)
    blurred, least, total = (
        np.empty(columns, np.float32),
        np.empty(columns, np.float32),
        np.empty(columns, np.float32),
    )
    for y in range(out.shape[0]):
        at = start + y
        least[:] = np.inf
        for k in range(levels):
            up, down = support[max(at - 1, 0), k], support[min(at + 1, rows - 1), k]
            _to_energy(
                costs[at, k], support[at, k], up, down, factor, weight, energies[k + reach], least
            )
        if last:
            for k in range(levels):
                for x in range(columns):
                    out[y, k, x] = energies[reach + k, x]
            continue
        total[:] = 0
        for k in range(reach, reach + levels):
            _to_probability(energies[k], least, total)
        for k in range(levels):
            _start_blur(energies[k + reach], total, taps[0], floor, blurred)
            for j in range(1, reach + 1):
                _add_neighbours(energies[k + reach - j], energies[k + reach + j], taps[j], blurred)
            _to_support(blurred, total, norm[k], out[y, k])


# Loops over a row's columns stand in functions of their own where scalars from arrays take part: only then does LLVM see that they
# stay the same.


@kernel
def _to_energy(
    data: Costs,
    here: Costs,
    up: Costs,
    down: Costs,
    factor: float,
    weight: float,
    energy: Costs,
    least: Costs,
) -> None:
    last = here.shape[0] - 1
    for x in range(1, last):
        energy[x] = factor * data[x] + weight * (
            here[x] + up[x] + down[x] + here[x - 1] + here[x + 1]
        )
    for x in (0, last):
        energy[x] = factor * data[x] + weight * (
            here[x] + up[x] + down[x] + here[max(x - 1, 0)] + here[min(x + 1, last)]
        )
    for x in range(last + 1):
        least[x] = energy[x] if energy[x] < least[x] else least[x]


@kernel
def _to_probability(energy: Costs, least: Costs, total: Costs) -> None:
    for x in range(energy.shape[0]):
        energy[x] = _exp(least[x] - energy[x])
        total[x] += energy[x]


@kernel
def _start_blur(here: Costs, total: Costs, tap: float, floor: float, blurred: Costs) -> None:
    for x in range(blurred.shape[0]):
        blurred[x] = floor * total[x] + tap * here[x]


@kernel
def _add_neighbours(below: Costs, above: Costs, tap: float, blurred: Costs) -> None:
    for x in range(blurred.shape[0]):
        blurred[x] += tap * (below[x] + above[x])


@kernel
def _to_support(blurred: Costs, total: Costs, norm: float, out: Costs) -> None:
    for x in range(out.shape[0]):
        probability = blurred[x] / total[x] * norm
        out[x] = -_log(probability if probability > _SMALLEST else _SMALLEST)


# Float32 polynomials, which LLVM vectorizes and every platform computes alike. `kernels/exponential.py` has another exponential, which differs in its last
# bits; each decides numbers that must stay as they are.


@kernel(inline="always")
def _exp(x: Any) -> Any:
    """e^x of a float32 x <= 0, relative error below 2e-7; next to 0 below -87."""
    x = x if x > np.float32(-88) else np.float32(-88)
    n = np.int32(x * np.float32(1.44269504) - np.float32(0.5))
    # ln 2 in two parts, so that the rest is exact.
    r = x - np.float32(n) * np.float32(0.693359375) + np.float32(n) * np.float32(2.12194440e-4)
    p = np.float32(1 / 720) * r + np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + np.float32(1 / 2)
    p = p * r * r + r + np.float32(1)
    return p * np.int32((n + np.int32(127)) << np.int32(23)).view(np.float32)


@kernel(inline="always")
def _log(x: Any) -> Any:
    """Natural logarithm of a normal, positive float32."""
    bits = np.float32(x).view(np.int32)
    # Mantissa in sqrt(1/2)..sqrt(2), so that the series converges fast on both sides of 1.
    shifted = bits - np.int32(0x3F3504F3)
    n = np.float32(shifted >> np.int32(23))
    m = np.int32((shifted & np.int32(0x7FFFFF)) + np.int32(0x3F3504F3)).view(np.float32)
    s = (m - np.float32(1)) / (m + np.float32(1))
    q = s * s
    series = np.float32(2 / 9) * q + np.float32(2 / 7)
    series = series * q + np.float32(2 / 5)
    series = series * q + np.float32(2 / 3)
    return n * np.float32(0.69314718) + s * (np.float32(2) + q * series)
