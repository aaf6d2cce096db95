"""The choices that the HCI stereo metrics leave open, in one record; lengths and disparities grow with the image."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Predicate

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.parameters import (
    Checked,
    Fraction01,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Words,
    parameter_faults,
    with_defaults,
)


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

    least: NonNegative
    share: NonNegative = 0.0

    def of(self, size: int) -> float:
        """The length in pixels in an image of so many pixels."""
        return float(max(self.least, self.share * size))

    def __str__(self) -> str:
        return f"max({self.least:g}, {self.share:g} * size)" if self.share else f"{self.least:g}"


def _is_odd(value: int) -> bool:
    return value % 2 == 1


def _length(value: Any) -> Any:
    """The length that a number or a pair stands for; anything else is returned as it is."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return Scaled(*value)
    return Scaled(value) if isinstance(value, int | float) else value


Length = Annotated[
    Scaled,
    Checked(_length),
    Predicate(lambda length: not parameter_faults(Scaled, vars(length))),
    Words("a number >= 0 (pixels) or a pair [least pixels, share of the size]"),
]
OddPixels = Annotated[PositiveInt, Predicate(_is_odd), Words("an odd number >= 1 (pixels)")]
Pixels = Annotated[NonNegative, Words("a number >= 0 (pixels)")]


@dataclass(frozen=True)
class Parameters:
    """How the subsets are found and the metrics counted; ``str(parameters)`` lists every choice in one line.

    A `Scaled` length may be given as a plain number, which means so many pixels at every image size, or as a pair of its least value and share.

    Parameters
    ----------
    border : Scaled
        Pixels on all four sides that are not evaluated; fractions are cut off.
    edge_jump : Scaled
        Two 4-neighbours whose true disparities differ by more than this (pixels) are both at a discontinuity.
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
        A surface counts as homogeneous where the averaged gradient changes by less than this (1/px).
    plane_margin : float
        Planes keep more than this distance (pixels) from discontinuities and from unknown and occluded pixels.
    plane_tolerance : Scaled
        A pixel within this of a plane (pixels of disparity) belongs to it.
    plane_iterations : int
        How many planes through three pixels are tried before the best one is taken.
    plane_sample : int
        Largest number of pixels by which a tried plane is judged.
    plane_min_share : float
        Smallest share of the image that a plane covers.
    seed : int
        Seed of the random numbers that choose those pixels.
    normal_window : int
        Side in pixels of the window in which the surface normal of an estimate is fitted.
    structure_width : Scaled
        A fine structure is at most this wide (pixels) in every row.
    structure_height : Scaled
        A fine structure extends over at least so many rows; this length grows with the image's height.
    structure_tolerance : Scaled
        A pixel of a structure is found when its error is at most this (pixels).
    neighbourhood_width : float
        The neighbourhood of a structure is as wide as itself on each side, but at least this (pixels).

    Raises
    ------
    ParameterError
        Values that are not allowed, one line each.

    Notes
    -----
    Honauer, Maier-Hein & Kondermann 2015 fix `border` alone; section 4.5 calls the extraction "not completely parameter-free". The
    defaults are ours: `edge_jump` is Scharstein & Szeliski's 2 pixels and `band_width` half of their 9, both at a quarter of Middlebury's full size,
    where the truth's own accuracy gives `plane_tolerance`.
    """

    border: Length = Scaled(20, 0.01)
    edge_jump: Length = Scaled(1, 0.003)
    band_width: Length = Scaled(3, 0.01)
    band_median: OddPixels = 5
    fuzziness_distance: Literal["pixels", "width"] = "pixels"
    plane_median: Annotated[Literal[1, 3, 5], Words("1, 3 or 5 (pixels)")] = 5
    plane_smoothing: OddPixels = 9
    plane_bend: Annotated[NonNegative, Words("a number >= 0 (1/px)")] = 0.02
    plane_margin: Pixels = 5.0
    plane_tolerance: Length = Scaled(0, 0.00035)
    plane_iterations: PositiveInt = 300
    plane_sample: Annotated[int, Ge(3)] = 20_000
    plane_min_share: Annotated[Fraction01, Words("a number from 0 to 1 (share of the image)")] = (
        0.005
    )
    seed: NonNegativeInt = 0
    normal_window: Annotated[
        int, Ge(3), Predicate(_is_odd), Words("an odd number >= 3 (pixels)")
    ] = 5
    structure_width: Length = Scaled(5, 0.015)
    structure_height: Length = Scaled(10, 0.03)
    structure_tolerance: Length = Scaled(1, 0.002)
    neighbourhood_width: Pixels = 3.0

    def __post_init__(self) -> None:
        _refuse(vars(self))
        vars(self).update(with_defaults(Parameters, vars(self)))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Parameters:
        """The record that a mapping such as `as_dict` gives stands for; what the mapping does not name has its default.

        Raises
        ------
        ParameterError
            Unknown names, or values that are not allowed.
        """
        _refuse(values)
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """Every field in a form that JSON and YAML can hold: numbers and texts, and for a `Scaled` length a list of its two values."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {
            name: [v.least, v.share] if isinstance(v, Scaled) else v for name, v in values.items()
        }

    def changed(self) -> dict[str, Any]:
        """The fields that differ from the defaults, in the form of `as_dict`."""
        defaults = Parameters().as_dict()
        return {name: value for name, value in self.as_dict().items() if value != defaults[name]}

    def __str__(self) -> str:
        return "hci: " + ", ".join(
            f"{f.name} {getattr(self, f.name)}" for f in dataclasses.fields(self)
        )


def _refuse(values: Mapping[str, Any]) -> None:
    if found := parameter_faults(Parameters, values):
        raise ParameterError("\n".join(f"hci.{name}: {message}" for name, message in found.items()))
