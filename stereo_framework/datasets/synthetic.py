"""Synthetic scenes: slanted, textured planes with sub-pixel exact truth for every pair of frames, known occlusions and
textureless areas. `planes_scene` builds a scene from given planes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Disparity, Frame, Mask, Scene, Search
from stereo_framework.datasets.planes import Plane, render, visible

SEVEN_FRAMES = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
"""Camera positions of the ready-made scenes: reference frame 1, match frame 5."""

_NOISE = 1
"""Second number of the seeds of noise, see `planes._TEXTURES`."""


def planes_scene(
    planes: Sequence[Plane],
    *,
    rows: int,
    columns: int,
    positions: Sequence[float] = SEVEN_FRAMES,
    search: Search | None = None,
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
    search : Search, optional
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
        return (gap * visible(planes, position, *grid)[1]).astype(np.float32)

    def occluded() -> Mask:
        disparity = visible(planes, 0, *grid)[1]
        u = grid[0] - disparity
        # The same point computed in the other view may differ by rounding; another surface is nearer by more than that.
        nearer = visible(planes, 1, u, grid[1])[1] > disparity + 1e-6
        return nearer | (u < 0) | (u > columns - 1)

    def textureless() -> Mask:
        return np.array([plane.texture.textureless for plane in planes])[visible(planes, 0, *grid)[0]]

    if search is None:
        disparity = truth(0, 1)
        low = math.floor(disparity.min())
        search = Search(low, max(math.ceil(disparity.max()), low + 1))
    return Scene(
        name,
        tuple(Frame(f"frame{i}", partial(frame, i), position) for i, position in enumerate(positions)),
        reference,
        match,
        search,
        {(i, j): partial(truth, p, abs(q - p)) for i, p in enumerate(positions) for j, q in enumerate(positions) if i != j},
        {"occluded": occluded, "textureless": textureless},
    )


def _check(planes: tuple[Plane, ...], positions: tuple[float, ...]) -> None:
    if 0 not in positions or 1 not in positions or len(set(positions)) < len(positions):
        raise ParameterError(f"positions: {positions}; expected distinct ones, 0 (reference) and 1 (match) among them")
    if all(plane.outline for plane in planes):
        raise ParameterError("planes: every one has an outline; one without must fill the background")
    for i, plane in enumerate(planes):
        if any(position * plane.coefficients[1] >= 1 for position in positions):
            raise ParameterError(
                f"planes[{i}]: a slant of {plane.coefficients[1]:g} pixels per column is seen edge-on from position "
                f"{max(positions, key=lambda p: p * plane.coefficients[1]):g}"
            )
