"""One view of a pair as it stands between two stages: what stages see of the other view and of alternative methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError, StereoFrameworkError, nearest
from stereo_framework.kernels.threads import over_rows
from stereo_framework.notebooks import brief
from stereo_framework.scene import Disparity, Image, Mask, Search
from stereo_framework.volume import CostVolume, Status


@brief
@dataclass(frozen=True, eq=False)
class View:
    """A disparity map and what belongs to it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    search : Search
        Of this view; its direction is the opposite of the other's.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Higher = surer.
    volumes : mapping of str to CostVolume
        ``volume`` and ``raw``, as far as the stage declared that it needs them.
    """

    disparity: Disparity
    status: NDArray[np.uint8]
    search: Search
    confidence: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    volumes: Mapping[str, CostVolume] = field(default_factory=dict)

    @property
    def volume(self) -> CostVolume:
        """The volume that the view's optimizer decided on."""
        return self._kept("volume")

    @property
    def raw(self) -> CostVolume:
        """The view's volume before aggregation."""
        return self._kept("raw")

    def _kept(self, name: str) -> CostVolume:
        if name not in self.volumes:
            raise StereoFrameworkError(f"the other view's {name} was not kept; declare it: @stage(..., other_needs={{{name!r}}})")
        return self.volumes[name]

    def rows(self, top: int, bottom: int) -> View:
        """The same for the rows `top` to `bottom` - 1, without volumes."""
        confidence = {name: values[top:bottom] for name, values in self.confidence.items()}
        return View(self.disparity[top:bottom], self.status[top:bottom], self.search, confidence)


def one_of(parameter: str, alternatives: Mapping[str, View], name: str | None) -> View:
    """The alternative of a name; without one the only one.

    Parameters
    ----------
    parameter : str
        As messages name it, ``radiometric_field.look``.
    alternatives : mapping of str to View
    name : str or None

    Raises
    ------
    ParameterError
        There is no such alternative, or `name` is None and there are several.
    """
    if name is None and len(alternatives) == 1:
        return next(iter(alternatives.values()))
    if name is None:
        raise ParameterError(
            f"{parameter}: names no alternative, and there are several; legal: {', '.join(sorted(alternatives))}"
        )
    if name not in alternatives:
        raise ParameterError(f"{parameter}: no alternative {name!r}; {nearest(name, alternatives, kind='alternatives')}")
    return alternatives[name]


def differences(reference: Image, match: Image, search: Search, look: View) -> tuple[Mask, NDArray[np.float32]]:
    """Which pixels a look at a pair has matched with one in view, and by how much each is brighter than that.

    Returns
    -------
    known : ndarray, bool, (rows, columns)
        What was filled does not count.
    differences : ndarray, float32, (rows, columns, channels)
        Grey levels; of no meaning where a pixel is not known.
    """
    left, right = (image.reshape(*image.shape[:2], -1) for image in (reference, match))
    rows, width, _ = left.shape
    columns = np.arange(width)
    known, found = np.empty((rows, width), np.bool_), np.empty(left.shape, np.float32)

    def run(start: int, stop: int) -> None:
        some = slice(start, stop)
        matched = ~np.isnan(look.disparity[some]) & (look.status[some] == Status.MATCHED)
        places = columns - search.direction * np.rint(np.where(matched, look.disparity[some], 0)).astype(np.int64)
        known[some] = matched & (places >= 0) & (places < width)
        places = np.clip(places, 0, width - 1) + np.arange(stop - start)[:, None] * width
        met = right[some].reshape(places.size, -1).take(places.reshape(-1), axis=0).reshape(left[some].shape)
        np.subtract(left[some], met, dtype=np.float32, out=found[some])

    over_rows(run, rows, 8 * left.size)
    return known, found


class Views(NamedTuple):
    """What a matcher returns that matches both views at once; each is a disparity map, (disparity, status) or (disparity, status, confidence)."""

    reference: Any
    match: Any
