"""What stages are called with: refused where it is of another kind or size than a stage takes.

Kernels trust the shapes and types that they are given and read beyond arrays that are smaller, so every call of a stage, a pipeline's or a direct one,
is checked here. Only shapes and types are looked at, never what arrays hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import check_kind
from stereo_framework.core.scene import Search
from stereo_framework.core.view import View
from stereo_framework.core.volume import INTEGERS, CostVolume, Domain, Energy

Arrays = Iterator[tuple[str, NDArray]]
"""What has rows and columns, each by the name that messages give it."""


def check_data(stage: str, data: Mapping[str, Any]) -> None:
    """Refuse data of other kinds, types or sizes than belong together, on behalf of a stage.

    Parameters
    ----------
    stage : str
        As messages name it.
    data : mapping of str to object
        By the names that stages use; the first decides about rows and columns. What is None is left out.

    Raises
    ------
    ParameterError
        Something is of another kind than its name stands for, or an array of another type, or volumes and `search` have different levels.
    DataError
        Images or maps of different rows and columns, or what is no image.
    """
    size, first, search = None, "", data.get("search")
    for name, value in data.items():
        if value is None or name not in _KINDS:
            continue
        kind, expected, arrays = _KINDS[name]
        check_kind(stage, name, value, kind, expected)
        for part, array in arrays(stage, name, value):
            if isinstance(array, np.ma.MaskedArray):
                raise DataError(
                    f"{stage}: {part} is a masked array; give its numbers, with NaN where a map has no estimate, and masks in a Domain"
                )
            if size is None:
                size, first = array.shape[:2], _WORDS.get(name, name)
            elif array.shape[:2] != size:
                raise DataError(f"{stage}: {part} has shape {array.shape}; {size} fits the {first}")
        if isinstance(value, CostVolume) and search is not None and value.search != search:
            raise ParameterError(f"{stage}: {name} is of the range {value.search}, search is {search}; both must be the same")


def _none(stage: str, name: str, value: Any) -> Arrays:
    return iter(())


def _image(stage: str, name: str, image: NDArray) -> Arrays:
    if image.dtype not in (np.uint8, np.float32):
        raise DataError(f"{stage}: {name} image: {image.dtype} intensities; expected uint8 or float32 in 0..255")
    if image.ndim not in (2, 3) or 0 in image.shape or image.shape[2:] not in ((), (3,)):
        raise DataError(f"{stage}: {name} image: shape {image.shape}; expected (rows, columns) or (rows, columns, 3)")
    yield name, image


def _images(stage: str, name: str, images: tuple[NDArray, ...]) -> Arrays:
    for image in images:
        yield from _image(stage, name, image)


def _map(stage: str, name: str, values: NDArray, dtype: Any = np.float32) -> Arrays:
    if values.dtype != dtype or values.ndim != 2:
        raise ParameterError(f"{stage}: {name} is {values.dtype} {values.shape}; expected {np.dtype(dtype)} (rows, columns)")
    yield name, values


def _status(stage: str, name: str, values: NDArray) -> Arrays:
    return _map(stage, name, values, np.uint8)


def _volume(stage: str, name: str, volume: CostVolume) -> Arrays:
    costs, levels = volume.costs, volume.search.levels
    if costs.ndim != 3 or costs.dtype not in (np.float32, *INTEGERS):
        expected = "float32, uint8 or uint16 (rows, columns, levels)"
        raise ParameterError(f"{stage}: {name}.costs is {costs.dtype} {costs.shape}; expected {expected}")
    if costs.shape[2] != levels:
        raise ParameterError(f"{stage}: {name} has costs of {costs.shape[2]} levels, its search {volume.search} has {levels}")
    yield name, costs


def _energy(stage: str, name: str, energy: Energy) -> Arrays:
    yield from _volume(stage, "volume", energy.volume)
    smoothness = energy.smoothness
    if smoothness is not None:
        levels = (energy.volume.search.levels,)
        if smoothness.rho.shape != levels:
            raise DataError(f"{stage}: smoothness.rho has shape {smoothness.rho.shape}; {levels} fits the volume")
        yield from _map(stage, "smoothness.right", smoothness.right)
        yield from _map(stage, "smoothness.down", smoothness.down)


def _view(stage: str, name: str, view: View) -> Arrays:
    if view.disparity is not None:  # an optimizer of both sides sees the other one before anything was decided
        yield from _map(stage, f"{name}.disparity", view.disparity)
        yield from _status(stage, f"{name}.status", view.status)
    yield from _maps(stage, f"{name}.confidence", view.confidence)
    for which, volume in view.volumes.items():
        yield from _volume(stage, f"{name}.{which}", volume)


def _views(stage: str, name: str, views: Mapping[str, View]) -> Arrays:
    for which, view in views.items():
        yield from _view(stage, f"{name}[{which!r}]", view)


def _maps(stage: str, name: str, maps: Mapping[str, NDArray]) -> Arrays:
    for which, values in maps.items():
        yield from _map(stage, f"{name}[{which!r}]", values)


def _domain(stage: str, name: str, domain: Domain) -> Arrays:
    return ((f"{name}.{which}", array) for which, array in vars(domain).items() if array is not None)


_Kind = tuple[type, str, Callable[[str, str, Any], Arrays]]
_IMAGE: _Kind = (np.ndarray, "an image: uint8 or float32 (rows, columns) or (rows, columns, 3)", _image)
_VOLUME: _Kind = (CostVolume, "a CostVolume, which a matching cost makes", _volume)
_KINDS: Mapping[str, _Kind] = {
    "image": _IMAGE,
    "reference": _IMAGE,
    "match": _IMAGE,
    "corrected": (tuple, "a tuple of two images", _images),
    "search": (Search, "a Search, such as Search(0, 63)", _none),
    "volume": _VOLUME,
    "raw": _VOLUME,
    "partial": _VOLUME,
    "energy": (Energy, "an Energy, such as Energy(volume)", _energy),
    "disparity": (np.ndarray, "an array, float32 (rows, columns)", _map),
    "status": (np.ndarray, "an array, uint8 (rows, columns)", _status),
    "other": (View, "the View of the other image", _view),
    "domain": (Domain, "a Domain or None", _domain),
    "alternatives": (Mapping, "a mapping of names to Views", _views),
    "confidence": (Mapping, "a mapping of names to maps", _maps),
    "pair": (Pair, "a Pair, such as Pair(reference, match, Search(0, 63))", _none),
}
_WORDS = {"disparity": "disparities", "energy": "volume", "reference": "reference image"}
