"""Synthetic scenes: slanted, textured planes with sub-pixel exact truth for every pair of frames, known occlusions and textureless areas.

`planes_scene` builds a scene from given planes: which plane a pixel sees, its exact disparity, and the rendered image.

A plane has the disparity ``d = a + b*x + c*y`` at pixel (x, y) of the reference frame, between positions 0 and 1. A camera
at position p sees that point at column ``u = x - p*d`` of the same row; the larger disparity is nearer and wins.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked, checked_fields
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Disparity, Frame, Mask, Scene, SearchRange
from stereo_framework.datasets.textures import Grid, Texture, evaluate

Floats = NDArray[np.float64]
Outline = tuple[tuple[float, float], ...]

_SUBSAMPLES = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
"""Points within a pixel, (column, row), whose colours are averaged at the edges of planes."""

_TEXTURES, _NOISE = 0, 1
"""Second numbers of the seeds of textures, and of the noise of the frames."""


@checked_fields()
@dataclass(frozen=True)
class Plane:
    """A textured piece of a plane.

    Parameters
    ----------
    coefficients : (float, float, float)
        a, b, c of ``d = a + b*x + c*y`` in pixels, see `slanted`.
    texture : Texture
    outline : tuple of (float, float)
        Corners (x, y) of a polygon in the reference frame; empty: the plane has no bounds. Of two planes with the same
        coefficients, the later one in the list is seen.
    """

    coefficients: tuple[float, float, float]
    texture: Texture
    outline: Outline = ()

    @cached_property
    def corners(self) -> Floats:
        """The outline as an array ``(corners, 2)``."""
        return np.array(self.outline)


@checked()
def slanted(
    disparity: float, at: tuple[float, float] = (0, 0), per_column: float = 0, per_row: float = 0
) -> tuple[float, float, float]:
    """Coefficients of the plane with a disparity of `disparity` pixels at the point (x, y) and the given slants in pixels per pixel."""
    return disparity - per_column * at[0] - per_row * at[1], per_column, per_row


@checked()
def rectangle(left: float, top: float, right: float, bottom: float) -> Outline:
    """Outline of an upright rectangle."""
    return (left, top), (right, top), (right, bottom), (left, bottom)


@checked()
def ellipse(x: float, y: float, width: float, height: float, corners: int = 40) -> Outline:
    """Outline of an upright ellipse with its centre at (x, y), as a polygon."""
    angles = 2 * np.pi * np.arange(corners) / corners
    return tuple(
        zip(
            (x + width / 2 * np.cos(angles)).tolist(),
            (y + height / 2 * np.sin(angles)).tolist(),
            strict=True,
        )
    )


def front_planes(
    planes: Sequence[Plane], position: float, u: Floats, y: Floats
) -> tuple[NDArray[np.int16], Floats]:
    """Return the nearest plane at each place that a camera looks at, and its disparity.

    Parameters
    ----------
    planes : sequence of Plane
    position : float
        Position of the camera.
    u : ndarray, float64, (columns,) ascending, or (rows, columns)
        Columns to look at, either the same ones in every row or different ones for each row.
    y : ndarray, float64, (rows,) ascending

    Returns
    -------
    index : ndarray, int16, (rows, columns)
        The nearest plane there; -1 = none.
    disparity : ndarray, float64, (rows, columns)
        Its disparity between positions 0 and 1 in pixels; -inf where there is none.
    """
    shape = (y.size, u.shape[-1])
    index, disparity = np.full(shape, -1, np.int16), np.full(shape, -np.inf)
    for i, plane in enumerate(planes):
        window = rows, columns = _window(plane, position, u, y)
        a, b, c = plane.coefficients
        row = y[rows, None]
        x = (u[..., columns] if u.ndim == 1 else u[window]) + position * (a + c * row)
        x /= 1 - position * b
        d = a + b * x + c * row
        wins = d >= disparity[window]
        if plane.outline:
            wins &= _inside(plane.corners, x, y[rows])
        np.copyto(disparity[window], d, where=wins)
        np.copyto(index[window], np.int16(i), where=wins)
    return index, disparity


def _window(
    plane: Plane, position: float, u: Floats, y: Floats, margin: float = 0
) -> tuple[slice, slice]:
    """The range of rows and columns in which a plane lies in a view."""
    if not plane.outline:
        return slice(None), slice(None)
    (a, b, c), corners = plane.coefficients, plane.corners
    rows = _between(y, corners[:, 1], margin)
    if u.ndim == 2:
        return rows, slice(None)
    # columns are linear in (x, y), so the outermost ones are those of corners
    return rows, _between(u, corners[:, 0] - position * (a + corners @ (b, c)), margin)


def _between(ascending: Floats, values: Floats, margin: float) -> slice:
    low, high = values.min() - margin - 1e-6, values.max() + margin + 1e-6
    return slice(
        int(np.searchsorted(ascending, low)), int(np.searchsorted(ascending, high, side="right"))
    )


def _inside(start: Floats, x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Whether points lie within a polygon, by the even-odd rule; corners ``(n, 2)``, x ``(rows, columns)``, y ``(rows,)``."""
    end = np.roll(start, -1, axis=0)
    crosses = (start[:, 1] <= y[:, None]) != (end[:, 1] <= y[:, None])
    rise = np.where(start[:, 1] == end[:, 1], 1, end[:, 1] - start[:, 1])
    at = start[:, 0] + (y[:, None] - start[:, 1]) * (end[:, 0] - start[:, 0]) / rise
    at = np.sort(np.where(crosses, at, np.inf), axis=1)[:, : crosses.sum(axis=1).max(initial=0)]
    inside = np.zeros(x.shape, bool)
    for k in range(at.shape[1]):
        inside ^= x >= at[:, k, None]
    return inside


def render(
    planes: Sequence[Plane], position: float, rows: int, columns: int, seed: int
) -> NDArray[np.float32]:
    """Render the image that a camera takes, without noise.

    Within a plane, the colour is that of the texture at the pixel's centre; at its edges, it is the mean over everything that the pixel sees.

    Returns
    -------
    ndarray, float32, (rows, columns, 3)
        RGB, about 0..255; not clipped.
    """
    u, y = np.arange(columns, dtype=np.float64), np.arange(rows, dtype=np.float64)
    seen = [front_planes(planes, position, u + right, y + down)[0] for right, down in _SUBSAMPLES]
    image = np.zeros((rows, columns, 3), np.float32)
    for i, plane in enumerate(planes):
        window = _window(plane, position, u, y, margin=1)
        share = sum((index[window] == i).astype(np.float32) for index in seen) / np.float32(
            len(seen)
        )
        if np.any(share):
            a, b, c = plane.coefficients
            squeeze = 1 / (1 - position * b)
            grid = Grid(
                u[window[1]], y[window[0]], squeeze, squeeze * position * c, squeeze * position * a
            )
            image[window] += share[..., None] * evaluate(plane.texture, grid, (seed, _TEXTURES, i))
    return image


SEVEN_FRAMES = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
"""Camera positions of the ready-made scenes: reference frame 1, match frame 5."""


@checked()
def planes_scene(
    planes: Sequence[Plane],
    *,
    rows: int,
    columns: int,
    positions: Sequence[float] = SEVEN_FRAMES,
    search: SearchRange | None = None,
    noise: float = 1.0,
    seed: int = 0,
    name: str = "planes",
) -> Scene:
    """Make a scene of planes, which is rendered on first use.

    Parameters
    ----------
    planes : sequence of Plane
        At least one of them must have no outline, so that every pixel sees a plane.
    rows, columns : int
        Image size in pixels.
    positions : sequence of float
        Positions of the cameras. They must include 0, the reference frame, and 1, the match frame to its right.
    search : SearchRange, optional
        By default the whole pixels around the reference frame's truth.
    noise : float
        Standard deviation of the noise in grey levels, independent in every frame, pixel and channel.
    seed : int
        Seed of textures and noise. The same seed gives the same scene.
    name : str

    Returns
    -------
    Scene
        Images uint8 RGB; truth of every ordered pair of frames; masks ``occluded`` (seen in the reference frame, but not in
        the match frame, where something nearer is in front or the view ends) and ``textureless`` (a plane without texture).

    Raises
    ------
    ParameterError
        A position is missing, no plane is unbounded, or a plane is seen edge-on.

    Examples
    --------
    >>> from stereo_framework.datasets.planes import rectangle, slanted
    >>> from stereo_framework.datasets.textures import Texture
    >>> wall = Plane(slanted(4, per_column=0.01), Texture((60, 60, 80), (200, 210, 230)))
    >>> card = Plane(slanted(9), Texture((120, 30, 20), (240, 220, 90), "checks"), rectangle(30, 20, 80, 60))
    >>> scene = planes_scene([wall, card], rows=80, columns=120, noise=2)
    >>> float(scene.truth[40, 50]), float(scene.truth[0, 100]), str(scene.search)
    (9.0, 5.0, '4..9 step 1')
    """
    planes, positions = tuple(planes), tuple(positions)
    _check(planes, positions)
    reference, match = positions.index(0), positions.index(1)

    def frame(index: int) -> NDArray[np.uint8]:
        image = render(planes, positions[index], rows, columns, seed)
        if noise:
            rng = np.random.default_rng((seed, _NOISE, index))
            image += np.float32(noise) * rng.standard_normal(image.shape, dtype=np.float32)
        return np.rint(image.clip(0, 255)).astype(np.uint8)

    grid = np.arange(columns, dtype=np.float64), np.arange(rows, dtype=np.float64)

    def truth(position: float, gap: float) -> Disparity:
        return (gap * front_planes(planes, position, *grid)[1]).astype(np.float32)

    def occluded() -> Mask:
        disparity = front_planes(planes, 0, *grid)[1]
        u = grid[0] - disparity
        # The same point computed in the other view may differ by rounding; another surface is nearer by more than that.
        nearer = front_planes(planes, 1, u, grid[1])[1] > disparity + 1e-6
        return nearer | (u < 0) | (u > columns - 1)

    def textureless() -> Mask:
        return np.array([plane.texture.textureless for plane in planes])[
            front_planes(planes, 0, *grid)[0]
        ]

    if search is None:
        disparity = truth(0, 1)
        low = math.floor(disparity.min())
        search = SearchRange(low, max(math.ceil(disparity.max()), low + 1))
    return Scene(
        name,
        tuple(
            Frame(f"frame{i}", partial(frame, i), position) for i, position in enumerate(positions)
        ),
        reference,
        match,
        search,
        {
            (i, j): partial(truth, p, abs(q - p))
            for i, p in enumerate(positions)
            for j, q in enumerate(positions)
            if i != j
        },
        {"occluded": occluded, "textureless": textureless},
    )


def _check(planes: tuple[Plane, ...], positions: tuple[float, ...]) -> None:
    if 0 not in positions or 1 not in positions or len(set(positions)) < len(positions):
        raise ParameterError(
            f"positions: {positions}; expected distinct ones, 0 (reference) and 1 (match) among them"
        )
    if all(plane.outline for plane in planes):
        raise ParameterError(
            "planes: every one has an outline; one without must fill the background"
        )
    for i, plane in enumerate(planes):
        if any(position * plane.coefficients[1] >= 1 for position in positions):
            raise ParameterError(
                f"planes[{i}]: a slant of {plane.coefficients[1]:g} pixels per column is seen edge-on from position "
                f"{max(positions, key=lambda p: p * plane.coefficients[1]):g}"
            )
