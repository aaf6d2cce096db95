"""What becomes of the result of a stage: one function a slot, which makes the next view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stereo_framework.core.view import View, frozen
from stereo_framework.core.volume import CostVolume, Smoothness, Status, fill_labels, restore_outside_inplace, status_of

_CLOSED = {np.dtype(np.float32): 1e6, np.dtype(np.uint16): 65535}
"""What closed cells hold when the optimizer sees them."""


def _preprocessing(view: View, result: Any, name: str) -> View:
    return replace(view, corrected=tuple(map(frozen, result)))


def _matcher(view: View, result: Any, name: str) -> View:
    disparity, status, confidence = (*result, None, None)[:3] if isinstance(result, tuple) else (result, None, None)
    status = status_of(disparity) if status is None else status
    if confidence is not None:
        view = replace(view, confidence={**view.confidence, "matcher": confidence})
    return _known(view, disparity, status)


def _matching_cost(view: View, result: CostVolume, name: str) -> View:
    if view.domain is not None:
        view.domain.close(result, result.outside)
    return replace(view, volumes={"volume": result, "raw": result}, shared=False, restored=False)


def _aggregation(view: View, result: CostVolume, name: str) -> View:
    # A volume that it got from elsewhere is read-only.
    return replace(view, volumes={**view.volumes, "volume": result}, shared=False)


def _smoothness(view: View, result: Smoothness, name: str) -> View:
    return replace(view, smoothness=result)


def _optimization(view: View, result: Any, name: str) -> View:
    volume, search, domain = view.volume, view.search, view.domain
    if isinstance(result, np.ndarray):  # a continuous map, of an optimizer of both sides
        levels = np.clip(np.rint((result - search.minimum) / search.step), 0, search.levels - 1)
        labels = np.where(np.isnan(result), -1, levels).astype(np.int16)
        if domain is not None:
            result = np.where(domain.closed(labels, search), np.float32(np.nan), result)
        return _known(view, result, status_of(result))
    labels = result.labels
    if domain is not None and (closed := domain.closed(labels, search)).any():
        labels = np.where(closed, np.int16(-1), labels)
    filled = fill_labels(labels)
    view = replace(
        view,
        labels=labels,
        data_costs=result.costs if filled is result.labels else volume.chosen(filled),
        labelings=(replace(result, volume=None),),
        volumes={**view.volumes, "volume": result.volume or volume},
    )
    disparity = search.disparity_of(labels)
    return _known(view, disparity, status_of(disparity))


def _confidence(view: View, result: Any, name: str) -> View:
    return replace(view, confidence={**view.confidence, name: result})


def _refinement(view: View, result: Any, name: str) -> View:
    if isinstance(result, tuple):
        return _known(view, *result)
    before, status = view.disparity, view.status.copy()
    status[np.isnan(before) & ~np.isnan(result)] = Status.FILLED
    status[~np.isnan(before) & np.isnan(result)] = Status.MISMATCHED
    return _known(view, result, status)


TAKE: Mapping[str, Callable[[View, Any, str], View]] = {
    "preprocessing": _preprocessing,
    "matcher": _matcher,
    "matching_cost": _matching_cost,
    "aggregation": _aggregation,
    "smoothness": _smoothness,
    "optimization": _optimization,
    "confidence": _confidence,
    "refinement": _refinement,
}
"""By slot: takes a view, the result of a stage that was called with its data, and the stage's name; returns the next view."""


def _known(view: View, disparity: Any, status: Any) -> View:
    """The view with a map. Pixels without an open cell stay without an estimate."""
    if view.invalid is not None and view.invalid.any():
        disparity = np.where(view.invalid, np.float32(np.nan), disparity)
        status = np.where(view.invalid, np.uint8(Status.INVALID), status)
    return replace(view, disparity=disparity, status=status)


def restored(view: View, *, out_of_view: bool) -> View:
    """The view with the cells set that take no part: closed ones and, after an aggregation has mixed them with others, those out of view."""
    volume, domain = view.volume, view.domain
    if domain is not None and volume.costs.dtype == np.uint8:
        volume = replace(volume, costs=volume.costs.astype(np.uint16))
    elif (domain is not None or out_of_view) and (
        view.shared or not volume.costs.flags.writeable or ("raw" in view.volumes and view.raw.costs is volume.costs)
    ):
        volume = replace(volume, costs=volume.costs.copy())
    if out_of_view:
        restore_outside_inplace(volume)
    if domain is not None:
        domain.close(volume, _CLOSED[volume.costs.dtype])
        if view.invalid is not None:
            volume.costs[view.invalid] = 0
    # What was written into is no longer anybody else's.
    shared = view.shared and volume is view.volume
    return replace(view, volumes={**view.volumes, "volume": volume}, shared=shared, restored=True)
