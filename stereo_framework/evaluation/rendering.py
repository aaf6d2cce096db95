"""The renderer of the 2002 test bed: draws a view of the reference frame at another camera position.

It serves for occlusion maps and for both kinds of prediction error.

Scharstein & Szeliski 2002, section 5.1; the rules that the paper leaves open are those of the authors' program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity
from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.left_right import round_half_away
from stereo_framework.kernels.threads import over_rows


def render(values: NDArray, disparity: Disparity, shift: float, *, gap: float = 2.0) -> NDArray[np.float32]:
    """Forward warp: move every pixel by its scaled disparity and draw its value there, nearer surfaces over farther ones.

    Neighbours in a row whose disparities differ by less than `gap` belong to one surface: a line of interpolated values
    is drawn between them. Any other pixel becomes a splat of one pixel.

    Parameters
    ----------
    values : ndarray, (rows, columns) or (rows, columns, channels)
        What to draw: an image, the disparities themselves, a mask. Any real dtype.
    disparity : ndarray, float32, (rows, columns)
        Pixels between the reference and the match frame. A pixel whose disparity is not finite draws nothing.
    shift : float
        ``x_new = x - shift * disparity``. The scene's direction (1 or -1) gives the match view, half of it the view midway.
    gap : float
        Pixels of unscaled disparity, whatever `shift` is. 0 draws splats only.

    Returns
    -------
    ndarray, float32, shape of `values`
        NaN where nothing was drawn. Lines extrapolate up to half a pixel beyond their ends, so an image's values may leave
        its range: round and clip them to get 8 bits back.

    Notes
    -----
    Rows are walked from left to right for positive shifts and from right to left for others, so that nearer pixels are drawn later. As in the
    authors' program, from which the published numbers come, the walk to the left computes the two end positions of a line with each other's
    disparity, while the values stay with their own pixels. A line whose ends have changed their order is not drawn. A splat goes to
    ``x - round(shift * disparity)``, where halves are rounded away from zero.
    """
    check_sizes("render", disparity=disparity, values=values)
    rows, columns = disparity.shape
    layers = np.ascontiguousarray(values, np.float32).reshape(rows, columns, -1)
    depth = np.ascontiguousarray(disparity, np.float32).view()
    # One signature of the kernel for scenes, which are read-only, and for fresh arrays.
    layers.flags.writeable = depth.flags.writeable = False
    drawn = np.full(layers.shape, np.nan, np.float32)
    over_rows(
        lambda a, b: _render_kernel(layers[a:b], depth[a:b], np.float32(shift), np.float32(gap), drawn[a:b]), rows, drawn.size
    )
    return drawn.reshape(values.shape)


@kernel
def _render_kernel(values, disparity, shift, gap, drawn):  # type: ignore[no-untyped-def]
    rows, columns, channels = values.shape
    backwards = shift < 0
    for y in range(rows):
        for step in range(columns):
            x = columns - 1 - step if backwards else step
            other = x - 1 if backwards else x + 1
            if not np.isfinite(disparity[y, x]):
                continue
            # A comparison with NaN is false: next to an unknown pixel there is no line.
            if 0 <= other < columns and np.abs(disparity[y, x] - disparity[y, other]) < gap:
                left, right = min(x, other), max(x, other)
                # In the walk to the left the ends are exchanged: see the Notes.
                start = np.float32(left) - shift * disparity[y, right if backwards else left]
                stop = np.float32(right) - shift * disparity[y, left if backwards else right]
                if stop < start:
                    continue
                length = stop - start if stop > start else np.float32(1)
                # Clipped before the conversion: a float beyond the integers has no integer.
                first = int(max(round_half_away(start), 0.0))
                last = int(min(round_half_away(stop), columns - 1.0))
                for target in range(first, last + 1):
                    part = (np.float32(target) - start) / length
                    for c in range(channels):
                        drawn[y, target, c] = values[y, left, c] + part * (values[y, right, c] - values[y, left, c])
            else:
                place = x - round_half_away(shift * disparity[y, x])
                if 0 <= place < columns:
                    for c in range(channels):
                        drawn[y, int(place), c] = values[y, x, c]
