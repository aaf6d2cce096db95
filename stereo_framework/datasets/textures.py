"""Smooth textures for synthetic scenes: functions of the plane, so that any sub-pixel position can be evaluated exactly.

Noise is a sum of plane waves. On a pixel grid that is mapped affinely to the plane, as every view of a slanted plane is, a
sum of waves is a product of two small matrices, which makes whole images cheap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked_fields

_WAVES = 48
"""Number of waves in a noise field: enough that no period is visible."""

_GRAIN = (3.5, 14.0)
"""Wavelengths of the grain in pixels: fine enough to match small windows, coarse enough to interpolate."""

Colour = tuple[float, float, float]
Pattern = Literal["clouds", "stripes", "checks", "flat"]


@checked_fields()
@dataclass(frozen=True)
class Texture:
    """A pattern in two colours, overlaid with a fine grain.

    Parameters
    ----------
    dark, light : (float, float, float)
        RGB, 0..255.
    pattern : str
        ``clouds`` (noise), ``stripes``, ``checks``, or ``flat``: only `light`.
    period : float
        Period of the pattern in pixels of the reference frame.
    angle : float
        Direction in degrees across which stripes and checks change; 0 = along the row.
    bend : float
        How far noise displaces stripes and checks, in periods.
    grain : float
        Standard deviation of the grain in grey levels. A flat texture without grain is textureless.
    fades : (float, float), optional
        Rows between which the contrast of pattern and grain falls linearly from full to none.
    """

    dark: Colour
    light: Colour
    pattern: Pattern = "clouds"
    period: float = 40.0
    angle: float = 0.0
    bend: float = 0.0
    grain: float = 12.0
    fades: tuple[float, float] | None = None

    @property
    def textureless(self) -> bool:
        """Whether every point has the same colour."""
        return self.pattern == "flat" and self.grain == 0


@dataclass(frozen=True)
class Grid:
    """Pixels of a view mapped to the plane: ``x = scale * u + shear * y + offset`` at column u of row y.

    Parameters
    ----------
    u : ndarray, float64, (columns,)
    y : ndarray, float64, (rows,)
    scale, shear, offset : float
    """

    u: NDArray[np.float64]
    y: NDArray[np.float64]
    scale: float
    shear: float
    offset: float

    @property
    def x(self) -> NDArray[np.float64]:
        """``(rows, columns)``."""
        return self.scale * self.u + (self.shear * self.y + self.offset)[:, None]


def evaluate(texture: Texture, grid: Grid, seed: Sequence[int]) -> NDArray[np.float32]:
    """The texture's colours at the grid's points.

    Returns
    -------
    ndarray, float32, (rows, columns, 3)
        RGB, about 0..255; not clipped.
    """
    rng = np.random.default_rng(seed)
    noise = (
        _noise(grid, rng, 0.6 * texture.period, 2.5 * texture.period)
        if texture.pattern != "flat"
        else np.float32(0)
    )
    mix = _pattern(texture, grid, noise)
    contrast = np.ones((grid.y.size, 1), np.float32)
    if texture.fades:
        start, end = texture.fades
        contrast[:, 0] = np.clip((end - grid.y) / (end - start), 0, 1)
        if texture.pattern != "flat":
            mix = 0.5 + contrast * (mix - 0.5)
    dark, light = np.array(texture.dark, np.float32), np.array(texture.light, np.float32)
    image = dark + (light - dark) * np.broadcast_to(mix, (grid.y.size, grid.u.size))[..., None]
    if texture.grain:
        image += (np.float32(texture.grain) * contrast * _noise(grid, rng, *_GRAIN))[..., None]
    return image


def _pattern(texture: Texture, grid: Grid, noise: Any) -> Any:
    """Weight of the light colour, 0..1, float32, from a noise field."""
    if texture.pattern == "flat":
        return np.float32(1)
    if texture.pattern == "clouds":
        return 0.5 + 0.5 * np.tanh(noise)
    angle, frequency = np.deg2rad(texture.angle), 2 * np.pi / texture.period
    across = frequency * (np.cos(angle) * grid.x + np.sin(angle) * grid.y[:, None])
    wave = np.sin(across.astype(np.float32) + np.float32(2 * np.pi * texture.bend) * noise)
    if texture.pattern == "checks":
        along = frequency * (-np.sin(angle) * grid.x + np.cos(angle) * grid.y[:, None])
        wave = wave * np.sin(
            along.astype(np.float32) + np.float32(2 * np.pi * texture.bend) * noise
        )
    # tanh makes the steps between the colours a few pixels wide: sharp to the eye, still band-limited enough
    return 0.5 + 0.5 * np.tanh(np.float32(texture.period / 6) * wave)


def _noise(
    grid: Grid, rng: np.random.Generator, shortest: float, longest: float
) -> NDArray[np.float32]:
    """Noise of mean 0 and variance 1 with wavelengths between two bounds, ``(rows, columns)``."""
    frequency = 2 * np.pi / np.exp(rng.uniform(np.log(shortest), np.log(longest), _WAVES))
    angle, phase = rng.uniform(0, 2 * np.pi, (2, _WAVES))
    fx, fy = frequency * np.cos(angle), frequency * np.sin(angle)
    # sin(fx*x + fy*y + phase) with x affine in (u, y) splits into sin(a(u) + b(y)) = sin a cos b + cos a sin b
    a = np.outer(fx * grid.scale, grid.u).astype(np.float32)
    b = (np.outer(grid.y, fx * grid.shear + fy) + (fx * grid.offset + phase)).astype(np.float32)
    left = np.concatenate([np.cos(b), np.sin(b)], axis=1)
    right = np.concatenate([np.sin(a), np.cos(a)])
    return np.float32(np.sqrt(2 / _WAVES)) * (left @ right)
