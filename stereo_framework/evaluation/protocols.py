"""Evaluation protocols: records of every choice that changes a number.

A protocol is named (a preset), derived from a preset by a mapping (``{base: taxonomy2002, thresholds: [1, 0.5]}``, as scripts
write it) or a `Protocol`; `resolve` takes all three.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stereo_framework.errors import ParameterError, nearest
from stereo_framework.scene import Scene
from stereo_framework.stage import spelled

REGIONS = ("all", "nonocc", "occ", "textured", "textureless", "discont")
"""The regions of Scharstein & Szeliski 2002, section 5.1."""

_WIDEST = 999
"""Windows are no wider, in pixels; a wider one is a mistake and would exhaust the memory."""


def _is_number(value: Any, kinds: Any = int | float | np.integer | np.floating) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and bool(0 <= value <= sys.float_info.max)


def _is_whole(value: Any, least: int = 0, most: float = math.inf) -> bool:
    return _is_number(value, int | np.integer) and least <= value <= most


def _are(test: Callable[[Any], bool], value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(map(test, value)) and len(set(value)) == len(value)


_LEGAL: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda v: isinstance(v, str) and bool(v.strip()), "a text"),
    "thresholds": (
        lambda v: _are(_is_number, _items(v)),
        "a number >= 0 (pixels) or a list of different ones, the main one first",
    ),
    "missing": (lambda v: v == "bad", "legal; legal: bad"),
    "rounding": (lambda v: v == "none", "legal; legal: none"),
    "border": (lambda v: v is None or _is_whole(v), "a whole number >= 0 (pixels) or null (the scene's own)"),
    "regions": (lambda v: _are(REGIONS.__contains__, v), f"a list of different regions; legal: {', '.join(REGIONS)}"),
    "disparity_gap": (lambda v: _is_number(v) and v > 0, "a number > 0 (pixels)"),
    "textureless_width": (lambda v: _is_whole(v, 0, _WIDEST), f"a whole number from 0 to {_WIDEST} (pixels)"),
    "textureless_threshold": (_is_number, "a number >= 0 (grey levels)"),
    "discontinuity_width": (lambda v: _is_whole(v, 1, _WIDEST), f"a whole number from 1 to {_WIDEST} (pixels)"),
    "prediction": (lambda v: v in ("forward", "inverse", "none"), "legal; legal: forward, inverse, none"),
    "partial_shuffle": (lambda v: _is_number(v) and v <= 1, "a number from 0 to 1"),
    "prediction_lines": (lambda v: isinstance(v, bool), "true or false"),
    "count_grey_holes": (lambda v: isinstance(v, bool), "true or false"),
}
"""Per field: is a value legal, and what is, in words."""


def _value_faults(values: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, value in values.items():
        legal, words = _LEGAL[_field(name)]
        if not legal(value):
            found[name] = f"{spelled(value)} is not {words}"
            strange = [v for v in value if isinstance(v, str) and v not in REGIONS] if isinstance(value, list | tuple) else []
            if name == "regions" and strange:
                found[name] = f"no such region: {', '.join(map(repr, strange))}; {nearest(strange[0], REGIONS, kind='regions')}"
    return found


def _field(key: str) -> str:
    return "thresholds" if key == "threshold" else key


def _items(value: Any) -> Any:
    """A single number stands for a list of one."""
    return value if isinstance(value, list | tuple) else (value,)


@dataclass(frozen=True)
class Protocol:
    """How a disparity map is measured. The defaults are those of ``taxonomy2002``; ``str`` tells every choice in one line.

    Parameters
    ----------
    name : str
        Stored with results and printed with tables.
    thresholds : tuple of float
        Errors above these (pixels) are bad; the first is the main one, that of ``bad_pixels_REGION``.
    missing : str
        ``"bad"``: a missing estimate is a bad pixel and is left out of RMS errors.
    rounding : str
        ``"none"``: estimates are measured as they are, neither rounded nor clipped.
    border : int or None
        Pixels on all four sides that are not evaluated; None = the scene's own border.
    regions : tuple of str
        Where errors are counted, of `REGIONS`.
    disparity_gap : float
        Pixels of disparity from which neighbours belong to two surfaces: for occlusions and discontinuities.
    textureless_width : int
        Side in pixels of the window over which squared horizontal differences are averaged; 0 = no averaging.
    textureless_threshold : float
        Grey levels: RMS differences below are textureless.
    discontinuity_width : int
        Side in pixels of the window around a pixel in which a discontinuity counts.
    prediction : str
        ``"forward"``: other frames of the sequence are drawn from the reference image; ``"inverse"``: the reference image is
        drawn from them; ``"none"``: no prediction errors.
    partial_shuffle : float
        0..1: how far prediction errors forgive misplacements of a pixel (Szeliski 1999); 0 = not at all.
    prediction_lines : bool
        Forward prediction draws lines between neighbours of one surface, not single pixels only.
    count_grey_holes : bool
        In grey images, holes of a prediction count with intensity 255, as in the authors' program; in colour they never count.

    Raises
    ------
    ParameterError
        Illegal values, one line each.
    """

    name: str
    thresholds: tuple[float, ...] = (1.0,)
    missing: str = "bad"
    rounding: str = "none"
    border: int | None = None
    regions: tuple[str, ...] = REGIONS
    disparity_gap: float = 2.0
    textureless_width: int = 3
    textureless_threshold: float = 4.0
    discontinuity_width: int = 9
    prediction: str = "forward"
    partial_shuffle: float = 0.0
    prediction_lines: bool = True
    count_grey_holes: bool = True

    def __post_init__(self) -> None:
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        found = _value_faults(given)
        if found:
            raise ParameterError("\n".join(f"protocol.{name}: {message}" for name, message in found.items()))
        # One form for each value, so that protocols that measure the same are equal.
        object.__setattr__(self, "thresholds", tuple(map(float, _items(self.thresholds))))
        object.__setattr__(self, "regions", tuple(self.regions))
        for name in ("disparity_gap", "textureless_threshold", "partial_shuffle"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("border", "textureless_width", "discontinuity_width"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, int(getattr(self, name)))

    def __str__(self) -> str:
        side = self.textureless_width
        window = f"averaged over {side}x{side}" if side > 1 else "of one pixel"
        return (
            f"{self.name}: bad (percent) = error > {', '.join(map(shortest, self.thresholds))} px or no estimate; "
            "rms in px over estimates; no rounding or clipping; "
            f"border {'of the scene' if self.border is None else f'{self.border} px'}; regions {', '.join(self.regions)}; textured, textureless, discont without occluded pixels; "
            f"occlusions and discontinuities: gap {shortest(self.disparity_gap)} px; "
            f"textureless: squared horizontal difference {window} < {shortest(self.textureless_threshold)}^2; "
            f"discont: {self.discontinuity_width}x{self.discontinuity_width} window; {self._prediction_text()}"
        )

    def _prediction_text(self) -> str:
        if self.prediction == "none":
            return "no prediction errors"
        drawn = "" if self.prediction == "inverse" or self.prediction_lines else " of single pixels"
        holes = "grey holes count as 255" if self.count_grey_holes else "holes do not count"
        return (
            f"{self.prediction} prediction{drawn}: rms in grey levels, partial shuffle {shortest(self.partial_shuffle)}, {holes}"
        )


PRESETS: Mapping[str, Protocol] = types.MappingProxyType({p.name: p for p in (Protocol("taxonomy2002"),)})
"""The protocols that can be named."""


def resolve(spec: str | Mapping[str, Any] | Protocol) -> Protocol:
    """The protocol that `spec` stands for.

    Parameters
    ----------
    spec : str, mapping or Protocol
        Name of a preset; or ``base`` (name of a preset) and the fields that differ from it, where ``threshold`` or ``thresholds``
        is a number or a list of numbers, and ``name``, which by default tells the difference.

    Raises
    ------
    ParameterError
        The faults of `faults`, one line each.

    Examples
    --------
    >>> resolve({"base": "taxonomy2002", "threshold": 0.5, "border": 20}).name
    'taxonomy2002[thresholds=0.5; border=20]'
    """
    if isinstance(spec, Protocol):
        return spec
    found = faults(spec)
    if found:
        raise ParameterError("\n".join(f"{'.'.join(filter(None, ('protocol', k)))}: {v}" for k, v in found.items()))
    if isinstance(spec, str):
        return PRESETS[spec]
    base = PRESETS[spec["base"]]
    derived = dataclasses.replace(base, **{_field(k): v for k, v in spec.items() if k != "base"})
    return derived if "name" in spec else dataclasses.replace(derived, name=_derived_name(base, derived))


def faults(spec: object) -> dict[str, str]:
    """What is wrong with a protocol as a script or command line gives it.

    Parameters
    ----------
    spec : object
        What `resolve` would take, if it is right.

    Returns
    -------
    dict of str to str
        One line with the legal values by key of the mapping, ``""`` for the whole; empty when all is well.
    """
    if isinstance(spec, Protocol):
        return {}
    if isinstance(spec, str):
        return {} if spec in PRESETS else {"": _no_preset(spec)}
    if not isinstance(spec, Mapping):
        expected = "a name or a mapping of 'base' and the fields that differ"
        return {"": f"{spelled(spec)} is not a protocol; expected {expected}; {nearest('', PRESETS, kind='protocols')}"}
    found = {}
    if "base" not in spec:
        found[""] = f"a derived protocol needs a 'base'; {nearest('', PRESETS, kind='protocols')}"
    elif not isinstance(spec["base"], str) or spec["base"] not in PRESETS:
        found["base"] = _no_preset(spec["base"])
    legal = {"base", "threshold", *_LEGAL}
    for key in spec:
        if key not in legal:
            found[str(key)] = f"no such field of a protocol; {nearest(str(key), legal, kind='fields')}"
    if {"threshold", "thresholds"} <= spec.keys():
        found["threshold"] = "given twice: as 'threshold' and as 'thresholds'; keep one"
    found |= _value_faults({k: v for k, v in spec.items() if k in legal and k != "base"})
    if isinstance(spec.get("name"), str) and spec["name"] in PRESETS:
        found["name"] = f"{spec['name']!r} is the preset itself; give the derived protocol another name or none"
    return found


def of_scene(scene: Scene) -> Protocol:
    """The protocol that the scene's data set is measured with, or ``taxonomy2002`` where that one is not a preset."""
    return PRESETS.get(scene.protocol, PRESETS["taxonomy2002"])


def shortest(value: float) -> str:
    """A number as names and lines show it: the shortest text that means exactly this one (``0.5``, ``2``)."""
    return repr(float(value)).removesuffix(".0")


def _no_preset(name: object) -> str:
    return f"no protocol {spelled(name)}; {nearest(str(name), PRESETS, kind='protocols')}"


def _derived_name(base: Protocol, derived: Protocol) -> str:
    different = [
        f"{field.name}={_short(new)}"
        for field in dataclasses.fields(base)
        if field.name != "name" and (new := getattr(derived, field.name)) != getattr(base, field.name)
    ]
    return f"{base.name}[{'; '.join(different)}]" if different else base.name


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_short, value))
    return shortest(value) if isinstance(value, float) else str(value)
