"""Fit of a plane to the disparities around each pixel of a disparity map.

Neighbours have a large weight if their colour is similar and their disparity is close
to the plane. Therefore the fit does not blur disparity edges.
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
"""Additional width of the gate in the first fit, in pixels of disparity.

The first fit starts from a plane without slope, so distances from the plane are larger.
"""

_MAX_SLOPES = (1.0, 1.5)
"""Largest slopes in x and in y direction, in pixels of disparity per pixel."""

_CENTRE_WEIGHT = 1e-3
"""Additional weight of the centre pixel of a window.

Therefore an isolated pixel keeps its disparity.
"""

_BLOCK = 128
"""Width of a block of adjacent pixels in a row, which the kernels compute together.

The sums of a block fit into the first-level cache of the processor.
"""

# The kernels store several quantities of a block in one flat array. Each quantity has
# `_BLOCK` elements, one for each pixel. For example, the slopes in y direction are the
# elements `_SLOPE_Y` to `_SLOPE_Y + _BLOCK - 1` of the array `plane`.

# Array `plane`: slopes in x and y direction, and disparity of the plane at the pixel.
_SLOPE_X = 0
_SLOPE_Y = _BLOCK
_VALUE = 2 * _BLOCK

# Array `row_sums`: weighted sums of 1, x, x * x, z and x * z over a row of the window.
# The offset of a neighbour from the centre pixel is (x, y). The disparity of the
# neighbour is z, relative to the plane at the centre pixel.
_ROW_1 = 0
_ROW_X = _BLOCK
_ROW_XX = 2 * _BLOCK
_ROW_Z = 3 * _BLOCK
_ROW_XZ = 4 * _BLOCK

# Array `sums`: weighted sums over the whole window. `_SUM_XY` is the sum of x * y.
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
    """Planes that are fitted to a disparity map, one for each pixel.

    Parameters
    ----------
    value : ndarray, float32, (rows, columns)
        Disparity of the plane at the pixel; NaN if the pixel has no estimate.
    right : ndarray, float32, (rows, columns)
        Change of disparity per pixel to the right; 0 if the pixel has no estimate.
    down : ndarray, float32, (rows, columns)
        Change of disparity per pixel downwards; 0 if the pixel has no estimate.
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
    """Fit a plane to the disparities around each pixel by robust least squares.

    The fit is repeated for each radius, and starts from the previous planes. Each
    neighbour has the weight ``exp(-difference / gamma_c) (1 - (e / gate)^2)^2``:

    - `difference` is the colour difference from the centre pixel.
    - `e` is the distance of the neighbour's disparity from the previous plane.

    The weight is 0 if `e` exceeds `gate`. All planes start with slope 0. For the first
    radius, an additional first fit uses a gate that is 0.2 pixels wider. Large windows
    are sampled: the fit uses every ``max(1, radius // 4)``-th row and column, for
    example every second for a radius of 8 pixels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Grey or colour image. The colour difference of two pixels is the largest
        difference in red, green or blue.
    radii : tuple of int
        Radii of the square windows, in pixels, in the order of the fits.
    gate : float
        Maximum distance of a neighbour's disparity from the plane, in pixels.
    gamma_c : float
        Decay of the weight with the colour difference, in grey levels. Larger values
        give neighbours of different colour more weight.
    ridge : float
        Weight of the previous slopes, in units of the squared radius. Larger values
        change the slopes less.
    """
    rows, columns = disparity.shape
    # The kernel expects three channels. For a grey image, two channels are 0.
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
    """Write the planes of the image rows `start` to `stop` - 1 into the last arrays."""
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
            # Loops compile two seconds faster than copies of slices.
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
    """Compute the colour weights of all neighbours of the pixels in a block.

    The block begins at column `left` of row `y`. The results are written into
    `weights`, with the shape (positions in the window, pixels of the block).
    """
    _, rows, columns = colours.shape
    # Flat arrays are faster than slices of a block. Unsigned indices are faster than
    # signed indices, because numba also handles negative indices.
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
    """Write the sums of the normal equations for all pixels of a block into `sums`.

    The array `row_sums` is a buffer, and is overwritten.
    """
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
                # If a pixel has no estimate, `closeness` is NaN and the comparison
                # is False.
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
    """Add the sums over one row of the window to the sums over the whole window.

    `y` is the offset of the row from the centre of the window.
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
    """Replace the planes of a block by the solutions of the normal equations.

    `slope_weight` is the weight of the previous slopes. Pixels without an estimate are
    not changed.
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
    """Fit a plane to weighted points (x, y, z) by least squares.

    Parameters
    ----------
    xx, xy, x, yy, y, ones, xz, yz, z : float
        Weighted sums over the points. For example, `xy` is the sum of weight * x * y,
        and `ones` is the sum of the weights. The normal equations must be positive
        definite.

    Returns
    -------
    slope_x, slope_y : float
        Slopes of the plane in x and y direction.
    value : float
        z of the plane at x = y = 0.
    """
    # Cramer's rule solves the equations. For example, `xy_cofactor` is the cofactor of
    # the matrix element `xy`.
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
