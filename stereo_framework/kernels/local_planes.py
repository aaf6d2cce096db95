"""Planes that are fitted to the disparities around each pixel.

A neighbour has a large weight if its colour is similar and its disparity lies near the
plane. Therefore the fit does not smooth over the steps of a disparity map.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.exponential import exponential
from stereo_framework.kernels.threads import over_rows

Values = NDArray[np.float32]
Disparity = NDArray[np.float32]

_EXTRA_GATE = 0.2
"""Extension of the gate for the first fit, in pixels. The slopes are not known yet."""

_MAX_SLOPES = (1.0, 1.5)
"""Largest slopes along rows and along columns, in pixels per pixel."""

_CENTRE_WEIGHT = 1e-3
"""Additional weight of the pixel itself, so that an isolated pixel keeps its value."""

_BLOCK = 128
"""Number of pixels of a row that are computed together.

Their sums fit into the first-level cache.
"""

# A kernel stores each quantity of all pixels of a block side by side. The following
# numbers are the indices of the first pixel in these arrays.

# The plane of a pixel: its slopes, and its disparity at the pixel.
_SLOPE_X = 0
_SLOPE_Y = _BLOCK
_VALUE = 2 * _BLOCK

# Sums over one row of the window. x and y are the offset of the neighbour from the
# pixel, z is its disparity minus the value of the plane, and "1" is the plain weight.
_ROW_1 = 0
_ROW_X = _BLOCK
_ROW_XX = 2 * _BLOCK
_ROW_Z = 3 * _BLOCK
_ROW_XZ = 4 * _BLOCK

# Sums over the whole window.
_SUM_XX = 0
_SUM_XY = _BLOCK
_SUM_X = 2 * _BLOCK
_SUM_YY = 3 * _BLOCK
_SUM_Y = 4 * _BLOCK
_SUM_1 = 5 * _BLOCK
_SUM_XZ = 6 * _BLOCK
_SUM_YZ = 7 * _BLOCK
_SUM_Z = 8 * _BLOCK


class Planes(NamedTuple):
    """A plane for each pixel of a disparity map.

    Parameters
    ----------
    value : ndarray, float32, (rows, columns)
        Disparity of the plane at the pixel; NaN if the map has no estimate there.
    right, down : ndarray, float32, (rows, columns)
        Change of the disparity per pixel to the right and per pixel downwards; 0 if the
        map has no estimate.
    """

    value: Disparity
    right: Values
    down: Values


def fit_local_planes(
    disparity: Disparity,
    image: NDArray,
    radii: tuple[int, ...],
    gate: float,
    gamma_c: float,
    ridge: float,
) -> Planes:
    """Fit robust planes by moving least squares, for one window radius after another.

    The weight of a neighbour is ``exp(-difference / gamma_c) (1 - (e / gate)^2)^2``,
    where e is the distance of its disparity from the current plane. Beyond the gate the
    weight is 0. At first all planes have the slope 0, and the gate is wider by 0.2
    pixels. In the windows of the first radius the planes are fitted twice, in the
    others once. Large windows are sampled in steps of a quarter of their radius.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate. Such pixels have no weight.
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image. The difference of two colours is the largest difference of a channel.
    radii : tuple of int
        Radii of the square windows, in pixels.
    gate : float
        Largest distance of a neighbour's disparity from the plane, in pixels.
    gamma_c : float
        Colour difference, in grey levels, at which the weight decreases to 1/e.
    ridge : float
        Weight of the previous slopes, in units of the squared radius. Larger values
        keep the slopes closer to their previous values.
    """
    rows, columns = disparity.shape
    # The compiler has to know the number of channels, so a grey image has two channels
    # of zeros.
    colours = np.zeros((3, rows, columns), np.float32)
    channels = np.moveaxis(image.reshape(rows, columns, -1), 2, 0)
    colours[: len(channels)] = channels
    value = np.empty_like(disparity)
    right = np.empty_like(disparity)
    down = np.empty_like(disparity)
    planes = Planes(value, right, down)

    window_radii = np.array(radii, np.int64)
    gate32 = np.float32(gate)
    inverse_gamma = np.float32(1 / gamma_c)

    def fit(start: int, stop: int) -> None:
        _fit_rows(
            disparity,
            colours,
            window_radii,
            gate32,
            inverse_gamma,
            ridge,
            start,
            stop,
            *planes,
        )

    over_rows(fit, rows, 100 * disparity.size)
    return planes


@kernel
def _fit_rows(
    disparity: Disparity,
    colours: Values,
    radii: NDArray[np.int64],
    gate: float,
    inverse_gamma: float,
    ridge: float,
    start: int,
    stop: int,
    value: Disparity,
    right: Values,
    down: Values,
) -> None:
    """Write the planes of the rows from `start` to `stop` - 1."""
    columns = disparity.shape[1]
    window_width = 0
    for radius in radii:
        window_width = max(window_width, 2 * (radius // max(1, radius // 4)) + 1)
    colour_weights = np.zeros((window_width * window_width, _BLOCK), np.float32)
    plane = np.empty(3 * _BLOCK, np.float32)
    row_sums = np.empty(5 * _BLOCK, np.float32)
    sums = np.empty(9 * _BLOCK, np.float32)
    for y in range(start, stop):
        for left in range(0, columns, _BLOCK):
            width = min(_BLOCK, columns - left)
            plane[_SLOPE_X:_VALUE] = 0
            # These loops are not assignments of slices, because the error message of
            # the first such assignment makes numba compile for two more seconds.
            for x in range(width):
                plane[_VALUE + x] = disparity[y, left + x]
            for k in range(radii.shape[0]):
                radius = radii[k]
                step = max(1, radius // 4)
                _compute_colour_weights(
                    colours, y, left, width, radius, step, inverse_gamma, colour_weights
                )
                for fit in range(2 if k == 0 else 1):
                    tolerance = gate + np.float32(_EXTRA_GATE) if k == 0 and fit == 0 else gate
                    _sum_windows(
                        disparity,
                        colour_weights,
                        y,
                        left,
                        width,
                        radius,
                        step,
                        np.float32(1) / tolerance,
                        plane,
                        row_sums,
                        sums,
                    )
                    _update_planes(sums, ridge * radius * radius, width, plane)
            for x in range(width):
                right[y, left + x] = plane[_SLOPE_X + x]
                down[y, left + x] = plane[_SLOPE_Y + x]
                value[y, left + x] = plane[_VALUE + x]


@kernel
def _compute_colour_weights(
    colours: Values,
    y: int,
    left: int,
    width: int,
    radius: int,
    step: int,
    inverse_gamma: float,
    weights: NDArray[np.float32],
) -> None:
    """Write the colour weights of all neighbours of the pixels of a block.

    `left` is the first column of the block. `weights` has a row for each position in
    the window.
    """
    _, rows, columns = colours.shape
    # Slices would take longer than the arithmetic on a row of a block, and unsigned
    # indices need no check for negative values.
    flat_colours = colours.reshape(-1)
    flat_weights = weights.reshape(-1)
    to_green = np.uint64(rows * columns)
    to_blue = np.uint64(2 * rows * columns)
    position = 0
    for dy in range(-(radius // step) * step, radius + 1, step):
        for dx in range(-(radius // step) * step, radius + 1, step):
            if 0 <= y + dy < rows:
                first = max(left, -dx)
                last = min(left + width, columns - dx)
                centre = np.uint64(y * columns + first)
                neighbour = np.uint64((y + dy) * columns + first + dx)
                weight = np.uint64(position * _BLOCK + first - left)
                for n in range(last - first):
                    i = np.uint64(n)
                    red = abs(flat_colours[centre + i] - flat_colours[neighbour + i])
                    green = abs(
                        flat_colours[centre + to_green + i] - flat_colours[neighbour + to_green + i]
                    )
                    blue = abs(
                        flat_colours[centre + to_blue + i] - flat_colours[neighbour + to_blue + i]
                    )
                    difference = max(red, max(green, blue))
                    flat_weights[weight + i] = exponential(-difference * inverse_gamma)
            position += 1


@kernel
def _sum_windows(
    disparity: Disparity,
    colour_weights: NDArray[np.float32],
    y: int,
    left: int,
    width: int,
    radius: int,
    step: int,
    inverse_gate: float,
    plane: Values,
    row_sums: Values,
    sums: Values,
) -> None:
    """Write the sums of the normal equations of all pixels of a block into `sums`."""
    rows, columns = disparity.shape
    sums[:] = 0
    flat_disparity = disparity.reshape(-1)
    flat_weights = colour_weights.reshape(-1)
    position = 0
    for dy in range(-(radius // step) * step, radius + 1, step):
        if not 0 <= y + dy < rows:
            position += 2 * (radius // step) + 1
            continue
        row_sums[:] = 0
        for dx in range(-(radius // step) * step, radius + 1, step):
            first = max(left, -dx)
            last = min(left + width, columns - dx)
            neighbour = np.uint64((y + dy) * columns + first + dx)
            first_pixel = np.uint64(max(first - left, 0))
            colour_weight = np.uint64(position * _BLOCK) + first_pixel
            offset_x = np.float32(dx)
            offset_y = np.float32(dy)
            for n in range(last - first):
                i = np.uint64(n)
                pixel = np.uint64(n) + first_pixel
                z = flat_disparity[neighbour + i] - plane[pixel + np.uint64(_VALUE)]
                slope_y = plane[pixel + np.uint64(_SLOPE_Y)]
                error = (z - (plane[pixel] * offset_x + slope_y * offset_y)) * inverse_gate
                closeness = np.float32(1) - error * error
                # The comparison is false if the neighbour or the pixel is NaN.
                is_near = closeness > np.float32(0)
                weight = np.float32(0)
                weighted_z = np.float32(0)
                if is_near:
                    weight = flat_weights[colour_weight + i] * closeness * closeness
                    weighted_z = weight * z
                row_sums[pixel] += weight
                row_sums[pixel + np.uint64(_ROW_X)] += weight * offset_x
                row_sums[pixel + np.uint64(_ROW_XX)] += weight * offset_x * offset_x
                row_sums[pixel + np.uint64(_ROW_Z)] += weighted_z
                row_sums[pixel + np.uint64(_ROW_XZ)] += weighted_z * offset_x
            position += 1
        _add_row_sums(row_sums, np.float32(dy), sums)


@kernel
def _add_row_sums(row_sums: Values, y: float, sums: Values) -> None:
    """Add the sums of one row of the window to the sums of the window.

    `y` is the offset of the row from the pixels of the block.
    """
    for n in range(_BLOCK):
        i = np.uint64(n)
        weight = row_sums[i]
        x = row_sums[i + np.uint64(_ROW_X)]
        z = row_sums[i + np.uint64(_ROW_Z)]
        sums[i] += row_sums[i + np.uint64(_ROW_XX)]
        sums[i + np.uint64(_SUM_XY)] += y * x
        sums[i + np.uint64(_SUM_X)] += x
        sums[i + np.uint64(_SUM_YY)] += y * y * weight
        sums[i + np.uint64(_SUM_Y)] += y * weight
        sums[i + np.uint64(_SUM_1)] += weight
        sums[i + np.uint64(_SUM_XZ)] += row_sums[i + np.uint64(_ROW_XZ)]
        sums[i + np.uint64(_SUM_YZ)] += y * z
        sums[i + np.uint64(_SUM_Z)] += z


@kernel
def _update_planes(sums: Values, slope_weight: float, width: int, plane: Values) -> None:
    """Replace the planes of a block by the solutions of their normal equations.

    `slope_weight` is the weight of the previous slopes. A pixel without an estimate
    keeps the value NaN and the slopes 0.
    """
    for i in range(width):
        if np.isnan(plane[_VALUE + i]):
            continue
        previous_right = np.float64(plane[_SLOPE_X + i])
        previous_down = np.float64(plane[_SLOPE_Y + i])
        xx = sums[_SUM_XX + i] + slope_weight
        xy = np.float64(sums[_SUM_XY + i])
        x = np.float64(sums[_SUM_X + i])
        yy = sums[_SUM_YY + i] + slope_weight
        y = np.float64(sums[_SUM_Y + i])
        ones = sums[_SUM_1 + i] + _CENTRE_WEIGHT
        xz = sums[_SUM_XZ + i] + slope_weight * previous_right
        yz = sums[_SUM_YZ + i] + slope_weight * previous_down
        z = np.float64(sums[_SUM_Z + i])
        right, down, change = solve_normal_equations(xx, xy, x, yy, y, ones, xz, yz, z)
        plane[_SLOPE_X + i] = min(max(right, -_MAX_SLOPES[0]), _MAX_SLOPES[0])
        plane[_SLOPE_Y + i] = min(max(down, -_MAX_SLOPES[1]), _MAX_SLOPES[1])
        plane[_VALUE + i] += change


@kernel
def solve_normal_equations(
    xx: float, xy: float, x: float, yy: float, y: float, ones: float, xz: float, yz: float, z: float
) -> tuple[float, float, float]:
    """Return the plane of least squares through weighted points (x, y, z).

    Parameters
    ----------
    xx, xy, x, yy, y, ones, xz, yz, z : float
        Weighted sums over the points of the product in the name; `ones` is the sum of
        the weights. The matrix of the sums without z must be positive definite.

    Returns
    -------
    slope_x, slope_y, value : float
        Slopes of the plane along x and y, and its z at x = y = 0.
    """
    # Cramer's rule. The names are the elements of the adjugate matrix, which is
    # symmetric.
    xx_cofactor = yy * ones - y * y
    xy_cofactor = x * y - xy * ones
    x_cofactor = xy * y - x * yy
    yy_cofactor = xx * ones - x * x
    y_cofactor = xy * x - xx * y
    ones_cofactor = xx * yy - xy * xy
    determinant = xx * xx_cofactor + xy * xy_cofactor + x * x_cofactor
    slope_x = xx_cofactor * xz + xy_cofactor * yz + x_cofactor * z
    slope_y = xy_cofactor * xz + yy_cofactor * yz + y_cofactor * z
    value = x_cofactor * xz + y_cofactor * yz + ones_cofactor * z
    return slope_x / determinant, slope_y / determinant, value / determinant
