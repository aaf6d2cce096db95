"""The border: what stages are called with directly, brought into the one form that kernels take, or refused in one line.

Kernels trust the shapes and types that they are given and read beyond arrays that are smaller. What a pipeline hands over is right by construction; a direct
call of a stage passes here, once. Arrays reach kernels in C order and read-only, so that each kernel compiles for one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError, warn
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import check_kind
from stereo_framework.core.scene import Image, Search, read_only, scale_doubt
from stereo_framework.core.view import View
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask, Smoothness, Status


def border(stage: str, data: Mapping[str, Any], named: Iterable[str], *, integer: bool) -> dict[str, Any]:
    """The data of a stage as it takes them.

    Parameters
    ----------
    stage : str
        As messages name it.
    data : mapping of str to object
        By the names that stages use; the first decides about rows and columns.
    named : iterable of str
        All data that the stage names. Where ``search`` is missing that of the volume serves, where ``status`` is, what the disparities say.
    integer : bool
        Whether the stage takes costs of uint8 and uint16; else they become float32.

    Returns
    -------
    dict of str to object
        Images uint8 or float32, maps and costs float32, all in C order and read-only. uint16 intensities are divided by 257.

    Raises
    ------
    ParameterError
        Something is of another kind than its name stands for, or volumes and ``search`` have different levels.
    DataError
        Images or maps of different rows and columns, or what is no image.

    Warns
    -----
    ResultWarning
        Intensities from 0 to 1.
    """
    found = {name: value if value is None else _taken(stage, name, value) for name, value in data.items()}
    volume = next((value for value in found.values() if isinstance(value, CostVolume)), None)
    if volume is not None and "search" in named:
        found.setdefault("search", volume.search)
    if "status" in named and "status" not in found and (known := found.get("disparity")) is not None:
        found["status"] = np.where(np.isnan(known), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))
    size, first = None, ""
    for name, value in found.items():
        for part, array in _arrays(name, value):
            if size is None:
                size, first = array.shape[:2], _WORDS.get(name, name)
            elif array.shape[:2] != size:
                raise DataError(f"{stage}: {part} has shape {array.shape}; {size} fits the {first}")
        if isinstance(value, CostVolume):
            if (search := found.get("search")) is not None and value.search != search:
                raise ParameterError(f"{stage}: {name} is of the range {value.search}, search is {search}; both must be the same")
            if not integer:
                found[name] = replace(value, costs=read_only(value.floats().costs))
        if isinstance(value, Smoothness) and volume is not None and value.rho.shape != (volume.search.levels,):
            raise DataError(f"{stage}: smoothness.rho has shape {value.rho.shape}; {(volume.search.levels,)} fits the volume")
    left, right = found.get("reference"), found.get("match")
    if left is not None and right is not None and (left.shape, left.dtype) != (right.shape, right.dtype):
        raise DataError(
            f"{stage}: reference image {left.shape} {left.dtype} and match image {right.shape} {right.dtype} differ; "
            "both must have one size, one number of channels and one type"
        )
    return found


def _taken(stage: str, name: str, value: Any) -> Any:
    """A datum in the form that stages take."""
    if name not in _KINDS:
        return value
    kind, expected, take = _KINDS[name]
    if isinstance(value, np.ma.MaskedArray):
        raise DataError(
            f"{stage}: {name} is a masked array; give its numbers, with NaN where a map has no estimate, and masks in a SearchMask"
        )
    if take is not None:
        value = take(stage, name, value)
    check_kind(stage, name, value, kind, expected)
    return value


def _image(stage: str, name: str, image: Any) -> Any:
    if not isinstance(image, np.ndarray):
        return image
    if image.dtype != np.uint8 and image.dtype != np.uint16 and image.dtype.kind != "f":
        raise DataError(f"{stage}: {name} image: {image.dtype} intensities; expected uint8, uint16 or floats in 0..255")
    if image.ndim not in (2, 3) or 0 in image.shape or image.shape[2:] not in ((), (3,)):
        raise DataError(f"{stage}: {name} image: shape {image.shape}; expected (rows, columns) or (rows, columns, 3)")
    if image.dtype == np.uint16:
        image = image.astype(np.float32) / np.float32(257)
    taken: Image = in_one_form(image if image.dtype == np.uint8 else image.astype(np.float32, copy=False))
    if doubt := scale_doubt(taken):
        warn([f"{stage}: {name} image: {doubt}"])
    return taken


def _map(stage: str, name: str, values: Any, dtype: Any = np.float32) -> Any:
    if not isinstance(values, np.ndarray):
        return values
    if values.ndim != 2 or (values.dtype.kind != "f" if dtype is np.float32 else values.dtype != dtype):
        raise ParameterError(f"{stage}: {name} is {values.dtype} {values.shape}; expected {np.dtype(dtype)} (rows, columns)")
    return in_one_form(values.astype(dtype, copy=False))


def _status(stage: str, name: str, values: Any) -> Any:
    return _map(stage, name, values, np.uint8)


def _images(stage: str, name: str, images: Any) -> Any:
    return tuple(_image(stage, name, image) for image in images) if isinstance(images, tuple) else images


def _search(stage: str, name: str, search: Any) -> Any:
    """A search range; two numbers are its ends."""
    if (
        isinstance(search, tuple | list | np.ndarray)
        and len(search) == 2
        and all(np.isreal(end) and np.ndim(end) == 0 for end in search)
    ):
        return Search(float(search[0]), float(search[1]))
    return search


def _volume(stage: str, name: str, volume: Any) -> Any:
    """A volume; an array of costs is one of the disparities from 0 on, whose cells out of view cost the most."""
    if isinstance(volume, np.ndarray) and volume.ndim == 3 and volume.size:
        volume = CostVolume(volume, Search(0, max(volume.shape[2] - 1, 1)), float(np.nanmax(volume)))
    if not isinstance(volume, CostVolume):
        return volume
    costs, levels = volume.costs, volume.search.levels
    if not isinstance(costs, np.ndarray) or isinstance(costs, np.ma.MaskedArray) or costs.ndim != 3 or not _of_costs(costs):
        told = f"{costs.dtype} {costs.shape}" if isinstance(costs, np.ndarray) else type(costs).__name__
        raise ParameterError(f"{stage}: {name}.costs is {told}; expected float32, uint8 or uint16 (rows, columns, levels)")
    if costs.shape[2] != levels:
        raise ParameterError(f"{stage}: {name} has costs of {costs.shape[2]} levels, its search {volume.search} has {levels}")
    return replace(volume, costs=in_one_form(costs if costs.dtype in INTEGERS else costs.astype(np.float32, copy=False)))


def _of_costs(costs: NDArray) -> bool:
    return costs.dtype in INTEGERS or costs.dtype.kind == "f"


def _smoothness(stage: str, name: str, term: Any) -> Any:
    if not isinstance(term, Smoothness):
        return term
    return Smoothness(
        _map(stage, "smoothness.right", term.right), _map(stage, "smoothness.down", term.down), in_one_form(term.rho)
    )


def _view(stage: str, name: str, view: Any) -> Any:
    """What is known of the other image; a map stands for one of which nothing else is known."""
    if isinstance(view, np.ndarray):
        known = _map(stage, name, view)
        return View(known, np.where(np.isnan(known), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED)))
    if not isinstance(view, View):
        return view
    changed: dict[str, Any] = {
        "confidence": _maps(stage, f"{name}.confidence", view.confidence),
        "volumes": {which: _volume(stage, f"{name}.{which}", volume) for which, volume in view.volumes.items()},
    }
    if view.disparity is not None:  # an optimizer of both sides sees the other one before anything was decided
        changed["disparity"] = _map(stage, f"{name}.disparity", view.disparity)
        changed["status"] = _status(stage, f"{name}.status", view.status)
    return replace(view, **changed)


def _views(stage: str, name: str, views: Any) -> Any:
    return (
        {which: _view(stage, f"{name}[{which!r}]", view) for which, view in views.items()}
        if isinstance(views, Mapping)
        else views
    )


def _maps(stage: str, name: str, maps: Any) -> Any:
    return (
        {which: _map(stage, f"{name}[{which!r}]", values) for which, values in maps.items()}
        if isinstance(maps, Mapping)
        else maps
    )


def sealed(value: Any) -> Any:
    """A datum of a pipeline with its arrays read-only, which is the one form that kernels are compiled for; they are in C order there."""
    if isinstance(value, np.ndarray):
        return read_only(value) if value.flags.writeable else value
    if isinstance(value, CostVolume):
        return replace(value, costs=read_only(value.costs)) if value.costs.flags.writeable else value
    if isinstance(value, Smoothness):
        return Smoothness(*map(sealed, vars(value).values()))
    if isinstance(value, View):
        parts = ("disparity", "status", "confidence", "volumes")
        return replace(value, **{name: sealed(getattr(value, name)) for name in parts})
    if isinstance(value, Mapping):
        return {name: sealed(item) for name, item in value.items()}
    return value


def in_one_form(array: NDArray) -> NDArray:
    """An array as kernels get it: in C order and read-only; itself, or a view where it is in C order."""
    found = np.ascontiguousarray(array)
    return read_only(found) if found.flags.writeable else found


def _arrays(name: str, value: Any) -> Iterable[tuple[str, NDArray]]:
    """What has rows and columns, each by the name that messages give it."""
    if isinstance(value, np.ndarray) and name in _KINDS:
        yield name, value
    elif isinstance(value, CostVolume):
        yield name, value.costs
    elif isinstance(value, Smoothness):
        yield from (("smoothness.right", value.right), ("smoothness.down", value.down))
    elif isinstance(value, tuple) and name == "corrected":
        yield from ((name, image) for image in value)
    elif isinstance(value, SearchMask):
        yield from ((f"{name}.{which}", array) for which, array in vars(value).items() if array is not None)
    elif isinstance(value, View):
        parts = {"disparity": value.disparity, "status": value.status, **value.volumes}
        for which, part in parts.items():
            yield from (
                _arrays(f"{name}.{which}", part)
                if isinstance(part, CostVolume)
                else [(f"{name}.{which}", part)] * (part is not None)
            )
        yield from _arrays(f"{name}.confidence", value.confidence)
    elif (isinstance(value, Mapping) and name in _KINDS) or name.endswith(".confidence"):
        for which, part in value.items():
            yield from _arrays(f"{name}[{which!r}]", part) if isinstance(part, View) else [(f"{name}[{which!r}]", part)]


_Kind = tuple[type, str, Callable[[str, str, Any], Any] | None]
_IMAGE: _Kind = (np.ndarray, "an image: uint8 or float32 (rows, columns) or (rows, columns, 3)", _image)
_VOLUME: _Kind = (CostVolume, "a CostVolume, which a matching cost makes, or an array (rows, columns, levels)", _volume)
_KINDS: Mapping[str, _Kind] = {
    "image": _IMAGE,
    "reference": _IMAGE,
    "match": _IMAGE,
    "corrected": (tuple, "a tuple of two images", _images),
    "search": (Search, "a Search, such as Search(0, 63), or its two ends, (0, 63)", _search),
    "volume": _VOLUME,
    "raw": _VOLUME,
    "partial": _VOLUME,
    "smoothness": (Smoothness, "a Smoothness, which a stage of smoothness makes", _smoothness),
    "disparity": (np.ndarray, "an array, float32 (rows, columns)", _map),
    "status": (np.ndarray, "an array, uint8 (rows, columns)", _status),
    "other": (View, "the map or the View of the other image", _view),
    "domain": (SearchMask, "a SearchMask or None", None),
    "alternatives": (Mapping, "a mapping of names to Views", _views),
    "confidence": (Mapping, "a mapping of names to maps", _maps),
    "pair": (Pair, "a Pair, such as Pair(reference, match, Search(0, 63))", None),
}
_WORDS = {"disparity": "disparities", "reference": "reference image"}
