"""Views of the reference frame at other camera positions, and prediction error: how well a disparity map predicts other frames of the sequence.

Prediction needs no ground truth. The renderer is that of the 2002 test bed and serves for occlusion maps too; the rules that the paper leaves open are those of
the authors' program.

Conventions: images hold intensities 0..255; a frame's shift is its distance from the reference frame in units of the distance of
reference and match frame, negative on the left: ``x_frame = x - shift * disparity``. Errors are RMS differences in grey levels.

Metrics: `forward_prediction` draws the frame and compares it with the real one; `inverse_prediction` draws the reference frame from
the real one (Szeliski 1999; Scharstein & Szeliski 2002, section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.parameters import brief
from stereo_framework.core.scene import Disparity, Image, Mask, Scene
from stereo_framework.core.view import kernel_array
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.left_right import round_half_away
from stereo_framework.kernels.threads import over_rows

EMPTY = (255, 192, 255)
"""RGB of holes in predicted images; in grey images holes have the last of these values."""

_PLACES = {"near": (-0.5, -1.0), "middle": (0.5,), "match": (1.0,), "far": (1.5, 2.0)}
"""Shifts, in the direction of the match frame, of the frames that statistics are named after."""


@brief
@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted image.

    Parameters
    ----------
    image : ndarray, uint8, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; holes have the colour `EMPTY`.
    predicted : ndarray, bool, (rows, columns)
        Where something was predicted.
    """

    image: NDArray[np.uint8]
    predicted: Mask


def predicted_frames(scene: Scene) -> dict[str, int]:
    """Indices of the frames that are called near, middle, match and far, as far as the sequence has them.

    ``near`` lies half or a whole step before the reference frame, ``middle`` half-way to the match frame, ``far`` half or a whole step
    beyond the match frame. Where a sequence has both, the later frame counts.
    """
    found = {}
    for index in range(len(scene.frames)):
        for name, shifts in _PLACES.items():
            if any(
                abs(scene.direction * frame_shift(scene, index) - shift) < 1e-6 for shift in shifts
            ):
                found[name] = index
    return {name: found[name] for name in _PLACES if name in found}


def frame_shift(scene: Scene, index: int) -> float:
    """Distance of frame `index` from the reference frame in units of the distance of reference and match frame; + = right."""
    reference, match = (
        scene.frames[i].position for i in (scene.reference_index, scene.match_index)
    )
    return (scene.frames[index].position - reference) / abs(match - reference)


def forward_prediction(
    image: Image, disparity: Disparity, shift: float, *, gap: float = 2.0
) -> Prediction:
    """Draw the frame at `shift` from the reference image: forward warping with lines between neighbours of one surface.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image.
    disparity : ndarray, float32, (rows, columns)
        Pixels; a pixel without an estimate draws nothing.
    shift : float
        Shift of the frame to predict.
    gap : float
        Neighbours whose disparities differ by less (pixels) belong to one surface; 0 draws single pixels only.

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1 and Figure 5.
    """
    return _finish(render(image, disparity, shift, gap=gap))


def inverse_prediction(
    frame: Image, disparity: Disparity, shift: float, *, gap: float = 2.0
) -> Prediction:
    """Draw the reference frame from the real frame at `shift`: every pixel takes its intensity from the place to which it moves.

    Parameters
    ----------
    frame : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The real frame at `shift`.
    disparity : ndarray, float32, (rows, columns)
        Pixels, of the reference frame.
    shift : float
    gap : float
        A pixel is predicted if the disparity drawn at the place to which it moves differs from its own by less than this (pixels, scaled by `shift`).

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1 and Figure 6. Intensities are interpolated by cubics (a = -1), and linearly where a neighbour is missing.
    """
    check_sizes("inverse_prediction", disparity=disparity, frame=frame)
    moved = np.float32(shift) * disparity
    arrived = render(moved, disparity, shift, gap=gap)
    layers = np.ascontiguousarray(frame, np.float32).reshape(*disparity.shape, -1)
    drawn = np.full(layers.shape, np.nan, np.float32)
    _fetch(layers, moved, arrived, np.float32(gap), drawn)
    return _finish(drawn.reshape(frame.shape))


def prediction_error(
    prediction: Prediction, image: Image, *, partial_shuffle: float = 0.0, count_holes: bool = False
) -> float:
    """RMS difference of a predicted image and the real one over predicted pixels and channels, in grey levels.

    Parameters
    ----------
    prediction : Prediction
    image : ndarray, uint8 or float32, shape of the prediction
        The real image.
    partial_shuffle : float
        0..1. Above 0, the pixels of both images become intervals that reach from the pixel towards the extremes of its 3x3 neighbourhood, by
        this share of the way, and only gaps between the intervals count as errors. That forgives small misplacements. 0 compares the pixels themselves.
    count_holes : bool
        Let holes count with their colour `EMPTY`.

    Returns
    -------
    float
        NaN if no pixel is predicted.

    Notes
    -----
    Scharstein & Szeliski 2002, section 5.1, with the partial shuffle of Szeliski 1999.
    """
    check_sizes("prediction_error", prediction=prediction.image, image=image)
    shape = (*prediction.predicted.shape, -1)
    real, drawn = kernel_array(image).reshape(shape), kernel_array(prediction.image).reshape(shape)
    if partial_shuffle > 0:
        low, high = _interval(real.astype(np.float64), partial_shuffle)
        drawn_low, drawn_high = _interval(drawn.astype(np.float64), partial_shuffle)
    else:
        low, high, drawn_low, drawn_high = real, real, drawn, drawn
    counted = np.ones_like(prediction.predicted) if count_holes else prediction.predicted
    total, count = _sum_of_squared_gaps(
        *map(kernel_array, (low, high, drawn_low, drawn_high, counted))
    )
    return float(np.sqrt(total / count)) if count else float("nan")


@kernel
def _sum_of_squared_gaps(
    low: NDArray, high: NDArray, other_low: NDArray, other_high: NDArray, counted: Mask
) -> tuple[float, int]:
    """The sum, over the pixels that count, of the squared distances of intervals low..high, and the number of values in it."""
    rows, columns, channels = low.shape
    total, count = 0.0, 0
    for y in range(rows):
        for x in range(columns):
            if counted[y, x]:
                for c in range(channels):
                    below = np.float64(low[y, x, c]) - np.float64(other_high[y, x, c])
                    above = np.float64(other_low[y, x, c]) - np.float64(high[y, x, c])
                    gap = max(below, above, 0.0)
                    total += gap * gap
                count += channels
    return total, count


def _interval(
    image: NDArray[np.float64], factor: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    kernel = np.ones((3, 3), np.uint8)
    # cv2 drops a last axis of one channel.
    lowest = cv2.erode(image, kernel, borderType=cv2.BORDER_REPLICATE).reshape(image.shape)
    highest = cv2.dilate(image, kernel, borderType=cv2.BORDER_REPLICATE).reshape(image.shape)
    return np.trunc(image + factor * (lowest - image)), np.trunc(
        image + factor * (highest - image) + 0.99
    )


def _finish(drawn: NDArray[np.float32]) -> Prediction:
    """Round to 8 bits. NaN becomes a hole of the colour `EMPTY`."""
    layers = drawn.reshape(*drawn.shape[:2], -1)
    image, predicted = np.empty(layers.shape, np.uint8), np.empty(layers.shape[:2], np.bool_)
    _to_bytes(layers, np.array(EMPTY[-layers.shape[2] :], np.uint8), image, predicted)
    return Prediction(image.reshape(drawn.shape), predicted)


@kernel
def _to_bytes(
    drawn: NDArray[np.float32], empty: NDArray[np.uint8], image: NDArray[np.uint8], predicted: Mask
) -> None:
    rows, columns, channels = drawn.shape
    for y in range(rows):
        for x in range(columns):
            predicted[y, x] = not np.isnan(drawn[y, x, 0])
            for c in range(channels):
                value = np.floor(drawn[y, x, c] + np.float32(0.5))
                image[y, x, c] = min(max(value, 0.0), 255.0) if predicted[y, x] else empty[c]


@kernel
def _fetch(frame: NDArray, moved: NDArray, arrived: NDArray, gap: float, drawn: NDArray) -> None:
    """Sample each row of `frame` at ``x - moved``, where the frame shows the pixel."""
    rows, columns, channels = frame.shape
    for y in range(rows):
        for x in range(columns):
            if not np.isfinite(moved[y, x]):
                continue
            position = np.float32(x) - moved[y, x]
            if position < 0 or position > columns - 1:
                continue
            left = int(np.floor(position))
            # A comparison with a hole's NaN is false.
            if not abs(arrived[y, left] - moved[y, x]) < gap:
                continue
            t = position - np.float32(left)
            for c in range(channels):
                v1 = frame[y, left, c]
                if t == 0:
                    drawn[y, x, c] = v1
                    continue
                v2 = frame[y, left + 1, c]
                if left < 1 or left + 2 >= columns:
                    drawn[y, x, c] = v1 + t * (v2 - v1)
                    continue
                s1, s2 = v2 - frame[y, left - 1, c], frame[y, left + 2, c] - v1
                drawn[y, x, c] = v1 + t * (
                    s1 + t * (3 * (v2 - v1) - 2 * s1 - s2 + t * (s1 + s2 - 2 * (v2 - v1)))
                )


def render(
    values: NDArray, disparity: Disparity, shift: float, *, gap: float = 2.0
) -> NDArray[np.float32]:
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
        lambda a, b: _render_kernel(
            layers[a:b], depth[a:b], np.float32(shift), np.float32(gap), drawn[a:b]
        ),
        rows,
        drawn.size,
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
                        drawn[y, target, c] = values[y, left, c] + part * (
                            values[y, right, c] - values[y, left, c]
                        )
            else:
                place = x - round_half_away(shift * disparity[y, x])
                if 0 <= place < columns:
                    for c in range(channels):
                        drawn[y, int(place), c] = values[y, x, c]
