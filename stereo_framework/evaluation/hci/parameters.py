"""The choices that the HCI stereo metrics leave open, in one record; lengths and disparities grow with the image."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stereo_framework.errors import ParameterError, nearest

_DISTANCES = ("pixels", "width")


@dataclass(frozen=True)
class Scaled:
    """A length that grows with the image but has a least value: ``max(least, share * size)``.

    Parameters
    ----------
    least : float
        Pixels.
    share : float
        Of the image's width (`Parameters.structure_height`: height); 0 = the same at every size.

    Examples
    --------
    >>> Scaled(20, 0.01).of(735), Scaled(20, 0.01).of(2900)
    (20.0, 29.0)
    """

    least: float
    share: float = 0.0

    def of(self, size: int) -> float:
        """The length in pixels in an image of so many pixels."""
        return float(max(self.least, self.share * size))

    def __str__(self) -> str:
        return f"max({self.least:g}, {self.share:g} * size)" if self.share else f"{self.least:g}"


@dataclass(frozen=True)
class Parameters:
    """How the subsets are found and the metrics counted; ``str`` tells every choice in one line.

    In place of a `Scaled` length, a plain number means this many pixels at every image size, a pair its least value and share.

    Parameters
    ----------
    border : Scaled
        Pixels on all four sides that are not evaluated; fractions are cut off.
    edge_jump : Scaled
        4-neighbours whose true disparities differ by more (pixels) are at a discontinuity, both of them.
    band_width : Scaled
        The bands of foreground and background reach this far (pixels, rounded) from the discontinuity on each side.
    band_median : int
        Side in pixels of the window of the median that cleans the bands; 1 = none.
    fuzziness_distance : str
        Fuzziness weighs with distances in ``"pixels"`` or in image ``"width"``s, which makes sizes comparable.
    plane_median : int
        Side in pixels of the median of the truth before its gradient is taken: 1, 3 or 5.
    plane_smoothing : int
        Side in pixels of the window in which gradients are averaged.
    plane_bend : float
        The averaged gradient changes by less (1/px) where a surface is homogeneous.
    plane_margin : float
        Planes stay further (pixels) from discontinuities, unknown and occluded pixels.
    plane_tolerance : Scaled
        A pixel within this of a plane (pixels of disparity) belongs to it.
    plane_iterations : int
        Planes through three pixels that are tried before the best is taken.
    plane_sample : int
        Pixels that a tried plane is judged by, at most.
    plane_least : float
        Share of the image that a plane covers at least.
    seed : int
        Of the random numbers that choose those pixels.
    normal_window : int
        Side in pixels of the window in which the surface normal of an estimate is fitted.
    structure_width : Scaled
        A fine structure is at most this wide (pixels) in every row.
    structure_height : Scaled
        A fine structure extends over at least so many rows; grows with the image's height.
    structure_tolerance : Scaled
        A pixel of a structure is found when its error is at most this (pixels).
    neighbourhood_width : float
        The neighbourhood of a structure is as wide as itself on each side, but at least this (pixels).

    Raises
    ------
    ParameterError
        Illegal values, one line each.

    Notes
    -----
    Honauer, Maier-Hein & Kondermann 2015 fix `border` alone; section 4.5 calls the extraction "not completely parameter-free". The
    defaults are ours: `edge_jump` is Scharstein & Szeliski's 2 pixels and `band_width` half of their 9, both at a quarter of Middlebury's full size,
    where the truth's own accuracy gives `plane_tolerance`.
    """

    border: Scaled = Scaled(20, 0.01)
    edge_jump: Scaled = Scaled(1, 0.003)
    band_width: Scaled = Scaled(3, 0.01)
    band_median: int = 5
    fuzziness_distance: str = "pixels"
    plane_median: int = 5
    plane_smoothing: int = 9
    plane_bend: float = 0.02
    plane_margin: float = 5.0
    plane_tolerance: Scaled = Scaled(0, 0.00035)
    plane_iterations: int = 300
    plane_sample: int = 20_000
    plane_least: float = 0.005
    seed: int = 0
    normal_window: int = 5
    structure_width: Scaled = Scaled(5, 0.015)
    structure_height: Scaled = Scaled(10, 0.03)
    structure_tolerance: Scaled = Scaled(1, 0.002)
    neighbourhood_width: float = 3.0

    def __post_init__(self) -> None:
        found = []
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            legal, words = _LEGAL[f.name]
            length = value
            if f.type == "Scaled" and _is_number(value):
                length = Scaled(value)
            elif f.type == "Scaled" and isinstance(value, list | tuple) and len(value) == 2:
                length = Scaled(*value)
            if legal(length):
                object.__setattr__(self, f.name, length)
            else:
                found.append(f"hci.{f.name}: {value!r} is not {words}")
        if found:
            raise ParameterError("\n".join(found))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Parameters:
        """The record of a mapping as `as_dict` gives it; what is not named has its default.

        Raises
        ------
        ParameterError
            Unknown names or illegal values.
        """
        legal = [f.name for f in dataclasses.fields(cls)]
        strange = [name for name in values if name not in legal]
        if strange:
            raise ParameterError(
                "\n".join(f"hci.{name}: no such parameter; {nearest(str(name), legal, kind='parameters')}" for name in strange)
            )
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and texts by name, a `Scaled` as the list of its two: what JSON and YAML hold."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: [v.least, v.share] if isinstance(v, Scaled) else v for name, v in values.items()}

    def changed(self) -> dict[str, Any]:
        """What differs from the defaults, as `as_dict` gives it."""
        defaults = Parameters().as_dict()
        return {name: value for name, value in self.as_dict().items() if value != defaults[name]}

    def __str__(self) -> str:
        return "hci: " + ", ".join(f"{f.name} {getattr(self, f.name)}" for f in dataclasses.fields(self))


def _is_number(value: Any, least: float = 0.0) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= least


def _is_whole(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and _is_number(value, least)


def _is_scaled(value: Any) -> bool:
    return isinstance(value, Scaled) and _is_number(value.least) and _is_number(value.share)


_LENGTH: tuple[Callable[[Any], bool], str] = (_is_scaled, "a number >= 0 (pixels) or a pair [least pixels, share of the size]")
_ODD: tuple[Callable[[Any], bool], str] = (lambda v: _is_whole(v, 1) and v % 2 == 1, "an odd number >= 1 (pixels)")
_COUNT: tuple[Callable[[Any], bool], str] = (lambda v: _is_whole(v, 1), "a whole number >= 1")
_PIXELS: tuple[Callable[[Any], bool], str] = (_is_number, "a number >= 0 (pixels)")

_LEGAL: Mapping[str, tuple[Callable[[Any], bool], str]] = types.MappingProxyType(
    {
        "border": _LENGTH,
        "edge_jump": _LENGTH,
        "band_width": _LENGTH,
        "band_median": _ODD,
        "fuzziness_distance": (
            lambda v: isinstance(v, str) and v in _DISTANCES,
            f"legal; legal: {', '.join(_DISTANCES)}",
        ),
        "plane_median": (lambda v: _is_whole(v) and v in (1, 3, 5), "1, 3 or 5 (pixels)"),
        "plane_smoothing": _ODD,
        "plane_bend": (_is_number, "a number >= 0 (1/px)"),
        "plane_margin": _PIXELS,
        "plane_tolerance": _LENGTH,
        "plane_iterations": _COUNT,
        "plane_sample": (lambda v: _is_whole(v, 3), "a whole number >= 3"),
        "plane_least": (lambda v: _is_number(v) and v <= 1, "a number from 0 to 1 (share of the image)"),
        "seed": (_is_whole, "a whole number >= 0"),
        "normal_window": (lambda v: _is_whole(v, 3) and v % 2 == 1, "an odd number >= 3 (pixels)"),
        "structure_width": _LENGTH,
        "structure_height": _LENGTH,
        "structure_tolerance": _LENGTH,
        "neighbourhood_width": _PIXELS,
    }
)
"""Per field: is a value legal, and what is, in words."""
