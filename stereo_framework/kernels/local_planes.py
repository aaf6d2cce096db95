"""A plane fitted to the disparities around each pixel, as far as colours are similar and no step lies in between."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.threads import over_rows

Values = NDArray[np.float32]
Disparity = NDArray[np.float32]

_WIDER = 0.2
"""Pixels by which the gate is wider at first, when the slopes are not yet known."""
_STEEPEST = (1.0, 1.5)
"""Largest slopes along rows and along columns."""
_LEAST = 1e-3
"""Weight of the pixel's own value, so that an isolated pixel keeps it."""
_WIDTH = 128
"""Pixels of a row that are computed together, so few that their sums stay in the first-level cache."""


class Planes(NamedTuple):
    """Disparities, and their change per pixel to the right and per pixel down; float32 (rows, columns). Without an estimate they are NaN, 0 and 0."""

    value: Disparity
    right: Values
    down: Values


def local_planes(
    disparity: Disparity,
    image: NDArray,
    radii: tuple[int, ...],
    gate: float,
    gamma_c: float,
    ridge: float,
) -> Planes:
    """Fit robust planes by moving least squares, in windows of one radius after the other.

    The weight of a neighbour is ``exp(-difference / gamma_c) (1 - (e / gate)^2)^2``, 0 beyond the gate: difference = the largest difference of any channel in
    grey levels, e = its distance from the current plane in pixels. At first the plane is level and the gate wider by 0.2; it is fitted twice in
    the first windows and once in the others. `ridge` times the squared radius keeps slopes close to their previous values. Larger windows
    are sampled in steps of a quarter of their radius.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        NaN = no estimate; such pixels are left out.
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
    radii : tuple of int
    gate, gamma_c, ridge : float
    """
    rows, columns = disparity.shape
    # Always three channels, so that the compiler knows their number; two of them are 0 for grey images.
    colours = np.zeros((3, rows, columns), np.float32)
    channels = np.moveaxis(image.reshape(rows, columns, -1), 2, 0)
    colours[: len(channels)] = channels
    planes = Planes(*(np.empty_like(disparity) for _ in range(3)))
    sizes = np.array(radii, np.int64)

    def run(start: int, stop: int) -> None:
        _kernel(
            disparity,
            colours,
            sizes,
            np.float32(gate),
            np.float32(1 / gamma_c),
            ridge,
            start,
            stop,
            *planes,
        )

    over_rows(run, rows, 100 * disparity.size)
    return planes


@kernel
def _kernel(
    disparity: Disparity,
    colours: Values,
    radii: NDArray[np.int64],
    gate: float,
    factor: float,
    ridge: float,
    start: int,
    stop: int,
    value: Disparity,
    right: Values,
    down: Values,
) -> None:
    columns = disparity.shape[1]
    most = 0
    for r in radii:
        most = max(most, 2 * (r // max(1, r // 4)) + 1)
    weights = np.zeros((most * most, _WIDTH), np.float32)
    # Slopes and value of each pixel's plane; sums over a row of the window and over the whole window.
    plane = np.empty(3 * _WIDTH, np.float32)
    across, sums = np.empty(5 * _WIDTH, np.float32), np.empty(9 * _WIDTH, np.float32)
    for y in range(start, stop):
        for left in range(0, columns, _WIDTH):
            width = min(_WIDTH, columns - left)
            plane[: 2 * _WIDTH] = 0
            # Loops: the first copy from slice to slice makes numba compile for two seconds, for the text of its error alone.
            for x in range(width):
                plane[2 * _WIDTH + x] = disparity[y, left + x]
            for k in range(radii.shape[0]):
                radius = radii[k]
                step = max(1, radius // 4)
                _alike(colours, y, left, width, radius, step, factor, weights)
                for i in range(2 if k == 0 else 1):
                    tolerance = gate + np.float32(_WIDER) if k == 0 and i == 0 else gate
                    _add_up(
                        disparity,
                        weights,
                        y,
                        left,
                        width,
                        radius,
                        step,
                        np.float32(1) / tolerance,
                        plane,
                        across,
                        sums,
                    )
                    _solve(sums, ridge * radius * radius, width, plane)
            for x in range(width):
                right[y, left + x], down[y, left + x], value[y, left + x] = (
                    plane[x],
                    plane[_WIDTH + x],
                    plane[2 * _WIDTH + x],
                )


@kernel
def _alike(
    colours: Values,
    y: int,
    left: int,
    width: int,
    radius: int,
    step: int,
    factor: float,
    weights: NDArray[np.float32],
) -> None:
    """Colour weights of all neighbours of the pixels from `left` on, one line for each position in the window."""
    _, rows, columns = colours.shape
    flat, found = colours.reshape(-1), weights.reshape(-1)
    # Slices cost more than the arithmetic of a line, and unsigned indices need no wraparound check.
    second, third = np.uint64(rows * columns), np.uint64(2 * rows * columns)
    line = 0
    for dy in range(-(radius // step) * step, radius + 1, step):
        for dx in range(-(radius // step) * step, radius + 1, step):
            if 0 <= y + dy < rows:
                first, last = max(left, -dx), min(left + width, columns - dx)
                own, other = (
                    np.uint64(y * columns + first),
                    np.uint64((y + dy) * columns + first + dx),
                )
                at = np.uint64(line * _WIDTH + first - left)
                for n in range(last - first):
                    i = np.uint64(n)
                    red = abs(flat[own + i] - flat[other + i])
                    green = abs(flat[own + second + i] - flat[other + second + i])
                    blue = abs(flat[own + third + i] - flat[other + third + i])
                    found[at + i] = exponential(-max(red, max(green, blue)) * factor)
            line += 1


@kernel
def _add_up(
    disparity: Disparity,
    weights: NDArray[np.float32],
    y: int,
    left: int,
    width: int,
    radius: int,
    step: int,
    inverse: float,
    plane: Values,
    across: Values,
    sums: Values,
) -> None:
    """The sums that make up the normal equations: of weights, and of weighted heights above the values of the planes."""
    rows, columns = disparity.shape
    sums[:] = 0
    flat, weigh = disparity.reshape(-1), weights.reshape(-1)
    second, third = np.uint64(_WIDTH), np.uint64(2 * _WIDTH)
    fourth, fifth = np.uint64(3 * _WIDTH), np.uint64(4 * _WIDTH)
    line = 0
    for dy in range(-(radius // step) * step, radius + 1, step):
        if not 0 <= y + dy < rows:
            line += 2 * (radius // step) + 1
            continue
        across[:] = 0
        for dx in range(-(radius // step) * step, radius + 1, step):
            first, last = max(left, -dx), min(left + width, columns - dx)
            other, begin = (
                np.uint64((y + dy) * columns + first + dx),
                np.uint64(max(first - left, 0)),
            )
            at, x, v = np.uint64(line * _WIDTH) + begin, np.float32(dx), np.float32(dy)
            for n in range(last - first):
                i, p = np.uint64(n), np.uint64(n) + begin
                z = flat[other + i] - plane[p + third]
                e = (z - (plane[p] * x + plane[p + second] * v)) * inverse
                gate = np.float32(1) - e * e
                # Comparisons with NaN are false.
                near = gate > np.float32(0)
                q = weigh[at + i] * gate * gate if near else np.float32(0)
                qz = q * z if near else np.float32(0)
                across[p] += q
                across[p + second] += q * x
                across[p + third] += q * x * x
                across[p + fourth] += qz
                across[p + fifth] += qz * x
            line += 1
        _add_row(across, np.float32(dy), sums)


@kernel
def _add_row(across: Values, dy: float, sums: Values) -> None:
    """Add the sums of a row of the windows, `dy` below the pixels, to those of the windows."""
    w = np.uint64(_WIDTH)
    for n in range(_WIDTH):
        i = np.uint64(n)
        ones, x, z = across[i], across[i + w], across[i + np.uint64(3) * w]
        sums[i] += across[i + np.uint64(2) * w]
        sums[i + w] += dy * x
        sums[i + np.uint64(2) * w] += x
        sums[i + np.uint64(3) * w] += dy * dy * ones
        sums[i + np.uint64(4) * w] += dy * ones
        sums[i + np.uint64(5) * w] += ones
        sums[i + np.uint64(6) * w] += across[i + np.uint64(4) * w]
        sums[i + np.uint64(7) * w] += dy * z
        sums[i + np.uint64(8) * w] += z


@kernel
def _solve(sums: Values, hold: float, width: int, plane: Values) -> None:
    for i in range(width):
        if np.isnan(plane[i + 2 * _WIDTH]):
            continue
        before_right, before_down = np.float64(plane[i]), np.float64(plane[i + _WIDTH])
        xx, xy, x = sums[i] + hold, np.float64(sums[i + _WIDTH]), np.float64(sums[i + 2 * _WIDTH])
        yy, y, ones = (
            sums[i + 3 * _WIDTH] + hold,
            np.float64(sums[i + 4 * _WIDTH]),
            sums[i + 5 * _WIDTH] + _LEAST,
        )
        xz, yz = (
            sums[i + 6 * _WIDTH] + hold * before_right,
            sums[i + 7 * _WIDTH] + hold * before_down,
        )
        z = np.float64(sums[i + 8 * _WIDTH])
        right, down, rise = solve(xx, xy, x, yy, y, ones, xz, yz, z)
        plane[i] = min(max(right, -_STEEPEST[0]), _STEEPEST[0])
        plane[i + _WIDTH] = min(max(down, -_STEEPEST[1]), _STEEPEST[1])
        plane[i + 2 * _WIDTH] += rise


@kernel
def solve(
    xx: float, xy: float, x: float, yy: float, y: float, ones: float, xz: float, yz: float, z: float
) -> tuple[float, float, float]:
    """Slopes along x and y, and value at 0, of the plane of least squares, from weighted sums of products; they form a positive definite matrix."""
    # Cramer's rule.
    a, b, c = yy * ones - y * y, x * y - xy * ones, xy * y - x * yy
    d, e, f = xx * ones - x * x, xy * x - xx * y, xx * yy - xy * xy
    determinant = xx * a + xy * b + x * c
    right, down, value = a * xz + b * yz + c * z, b * xz + d * yz + e * z, c * xz + e * yz + f * z
    return right / determinant, down / determinant, value / determinant
