"""The border: what stages are called with directly, brought into the one form that kernels take, or refused in one line; and what is wrong with an array.

Kernels trust the shapes and types that they are given and read beyond arrays that are smaller. What a pipeline hands over is right by construction; a direct
call of a stage passes here, once. Arrays reach kernels in C order and read-only, so that each kernel compiles for one kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import as_array
from stereo_framework.core.errors import DataError, ParameterError, warn
from stereo_framework.core.frames import LARGEST_EXACT
from stereo_framework.core.pair import Pair, intensity_fault
from stereo_framework.core.parameters import check_kind, in_short
from stereo_framework.core.scene import SearchRange, intensities, intensity_scale_warning, read_only
from stereo_framework.core.search import are_ends
from stereo_framework.core.view import View, in_one_form, mapped
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask, Smoothness, status_of


def border(
    stage: str, data: Mapping[str, Any], named: Iterable[str], *, integer: bool
) -> dict[str, Any]:
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
        Arrays of other types than their kinds have, of different rows and columns, or with
        numbers that no stage can use: NaN or infinite intensities, costs and maps, infinite
        disparities.

    Warns
    -----
    ResultWarning
        Intensities from 0 to 1.
    """
    size: tuple[int, ...] = ()
    first = ""

    def taken(name: str, array: NDArray) -> NDArray:
        nonlocal size, first
        found = _in_form(f"{stage}: {name}", array, role_of(name))
        name = name.removesuffix(".costs")
        if role_of(name) != "rho":
            size, first = (size, first) if size else (found.shape[:2], _WORDS.get(name, name))
            if found.shape[:2] != size:
                raise DataError(f"{stage}: {name} has shape {array.shape}; {size} fits the {first}")
        return found

    found = {}
    for name, given in data.items():
        value = _meant(name, _with_arrays(f"{stage}: {name}", given))
        if value is not None and name in _KINDS:
            check_kind(stage, name, value, *_KINDS[name])
            value = mapped(name, value, taken)
        found[name] = value
    volumes = {name: value for name, value in found.items() if isinstance(value, CostVolume)}
    if volumes and "search" in named:
        found.setdefault("search", next(iter(volumes.values())).search)
    if "status" in named and "status" not in found and "disparity" in found:
        found["status"] = status_of(found["disparity"])
    smoothness = found.get("smoothness")
    for name, volume in volumes.items():
        search = found.get("search", volume.search)
        if not np.isfinite(volume.outside):
            raise DataError(f"{stage}: {name}.outside is {volume.outside}; expected a finite cost")
        if volume.search != search:
            raise ParameterError(
                f"{stage}: {name} is of the range {volume.search}, search is {search}; both must be the same"
            )
        rho = search.levels if smoothness is None else len(smoothness.rho)
        for what, levels in ((f"{name}.costs", volume.costs.shape[2]), ("smoothness.rho", rho)):
            if levels != search.levels:
                raise DataError(
                    f"{stage}: {what} has {levels} levels; {search.levels} fit the range {search}"
                )
        if not integer:
            found[name] = replace(volume, costs=read_only(volume.floats().costs))
    left, right = found.get("reference"), found.get("match")
    if (
        left is not None
        and right is not None
        and (left.shape, left.dtype) != (right.shape, right.dtype)
    ):
        raise DataError(
            f"{stage}: reference image {left.shape} {left.dtype} and match image {right.shape} {right.dtype} differ; "
            "both must have one size, one number of channels and one type"
        )
    return found


def _with_arrays(label: str, value: Any) -> Any:
    """Return a datum whose array-like parts, such as arrays of xarray, are arrays."""
    if isinstance(value, Mapping):
        return {key: as_array(item, f"{label}[{key!r}]") for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)([as_array(item, f"{label}[{i}]") for i, item in enumerate(value)])
    return as_array(value, label)


def _meant(name: str, value: Any) -> Any:
    """What a shorter form stands for: numbers for a range; an array of costs for those of the disparities from 0 on, whose cells out of view cost the
    most; a map for the view of an image of which nothing else is known.
    """
    if name == "search" and are_ends(value):
        return SearchRange.of(value)
    if (
        isinstance(value, np.ndarray)
        and _KINDS.get(name) is _VOLUME
        and value.ndim == 3
        and value.size
    ):
        return CostVolume(value, SearchRange(0, max(value.shape[2] - 1, 1)), float(value.max()))
    if isinstance(value, np.ndarray) and name == "other" and value.dtype.kind == "f":
        return View(value, status_of(value))
    return value


def _in_form(name: str, array: NDArray, role: str) -> NDArray:
    """Return an array in the one form of its role, or refuse it.

    Raises
    ------
    DataError
        The array is masked, is of another type or shape, or holds numbers that its role forbids.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array; give its numbers, with NaN where a map has no estimate, and masks in a SearchMask"
        )
    if role == "image":
        array = intensities(array)
    elif array.dtype.kind == "f" and role:
        array = array.astype(np.float32, copy=False)
    elif array.dtype.kind in "iu" and role in ("status", "costs", "map", "rho"):
        array = _exact(array, role)

    if wrong := fault(array, role):
        raise DataError(f"{name} is {wrong}{_remedy(array, role)}")
    if numbers := fault_of_numbers(array, role):
        raise DataError(f"{name} has {numbers}")
    if role == "image" and (doubt := intensity_scale_warning(array)):
        warn([f"{name} image: {doubt}"])
    return in_one_form(array)


def _exact(array: NDArray, role: str) -> NDArray:
    """Return whole numbers in the type of their role if it holds each of them exactly."""
    types = _ROLES[role][0]
    if not array.size or array.dtype in types:
        return array
    lowest = int(array.min())
    highest = int(array.max())
    if role == "status":
        fits = lowest >= 0 and highest <= np.iinfo(np.uint8).max
        return array.astype(np.uint8) if fits else array
    fits = lowest >= -LARGEST_EXACT and highest <= LARGEST_EXACT
    return array.astype(np.float32) if fits else array


def _remedy(array: NDArray, role: str) -> str:
    """Describe what to do about whole numbers that may be levels or disparities."""
    if role != "disparity" or array.dtype.kind not in "iu":
        return ""
    return (
        "; convert levels with SearchRange.disparity_of(levels), and whole disparities in pixels with .astype(numpy.float32), "
        "NaN = no estimate"
    )


_ROLES: Mapping[str, tuple[tuple[Any, ...], tuple[int, ...], str]] = {
    "image": (
        (np.uint8, np.float32),
        (2, 3),
        "(rows, columns) or (rows, columns, 3), intensities in 0..255",
    ),
    "map": ((np.float32,), (2,), "(rows, columns)"),
    "disparity": ((np.float32,), (2,), "(rows, columns)"),
    "status": ((np.uint8,), (2,), "(rows, columns)"),
    "levels": ((np.int16,), (2,), "(rows, columns)"),
    "costs": ((np.float32, *INTEGERS), (3,), "(rows, columns, levels)"),
    "rho": ((np.float32,), (1,), "(levels,)"),
}
"""What an array is that stands in some place: types, numbers of axes, and these in words."""

_PLACES = {
    "image": "image",
    "reference": "image",
    "match": "image",
    "corrected": "image",
    "levels": "levels",
}
_PLACES |= dict.fromkeys(("confidence", "right", "down"), "map")


def role_of(name: str) -> str:
    """The role of an array by the name of its place, such as ``other.confidence['margin']``; empty where any will do."""
    place = name.rpartition(".")[2].partition("[")[0]
    return _PLACES.get(place, place if place in _ROLES else "")


def fault(value: Any, role: str, shape: tuple[int, ...] | None = None) -> str:
    """Describe the fault of a value that should be an array of a role; empty without a fault.

    Parameters
    ----------
    value : object
    role : str
        ``image``, ``map``, ``disparity``, ``status``, ``levels``, ``costs`` or ``rho``; empty: any.
    shape : tuple of int, optional
        Shape that the array must have. The numbers are checked as well, except costs, because
        a search through whole volumes takes time. Default: any shape that fits the role, and
        any numbers; `fault_of_numbers` checks these.
    """
    if not role:
        return ""
    types, axes, form = _ROLES[role]
    fits = (
        isinstance(value, np.ndarray)
        and not isinstance(value, np.ma.MaskedArray)
        and value.dtype in types
    )
    if fits and shape:
        fits = value.shape == shape
    elif fits:
        channels = value.ndim < 3 or role == "costs" or value.shape[2] == 3
        fits = value.ndim in axes and 0 not in value.shape and channels
    if not fits:
        expected_types = " or ".join(np.dtype(kind).name for kind in types)
        return f"{in_short(value)}; expected {expected_types} {shape or form}"

    if shape and role != "costs" and _forbidden_numbers(value, role):
        expected = "finite numbers, NaN = no estimate" if role == "disparity" else "finite numbers"
        return f"values that are not finite; expected {expected}"
    return ""


def fault_of_numbers(array: NDArray, role: str) -> str:
    """Describe the numbers of an array that its role forbids; empty if there are none.

    Data from outside a pipeline are checked, because kernels spread NaN over the image or use
    it as an index.

    Parameters
    ----------
    array : ndarray
        Array of the type of its role.
    role : str
        As in `fault`.

    Returns
    -------
    str
        Noun phrase that continues "the array has", with the expected numbers and a remedy.
    """
    if role == "image":
        return intensity_fault(array)
    # Only arrays with a role have a rule; the limits of a SearchMask may be NaN, for instance.
    if not role:
        return ""
    count = _forbidden_numbers(array, role)
    if not count:
        return ""

    if role == "costs":
        return (
            f"NaN or infinite costs (values: {count}); expected finite costs: give cells that must not be chosen "
            "a large finite cost, or exclude pixels with a SearchMask"
        )
    if role == "disparity":
        return f"infinite disparities (values: {count}); expected finite disparities, or NaN for pixels without an estimate"
    return f"NaN or infinite numbers (values: {count}); expected finite numbers"


def _forbidden_numbers(array: NDArray, role: str) -> int:
    """Return the number of values that are infinite or, where the role forbids it, NaN."""
    if array.dtype.kind != "f":
        return 0
    if role == "disparity":
        return int(np.count_nonzero(np.isinf(array)))
    # The extremes are NaN if a value is, and need no array of truth values.
    if np.isfinite(array.min()) and np.isfinite(array.max()):
        return 0
    return int(np.count_nonzero(~np.isfinite(array)))


_WORDS = {"disparity": "disparities", "reference": "reference image"}
_IMAGE = np.ndarray, "an image: uint8 or float32 (rows, columns) or (rows, columns, 3)"
_VOLUME = (
    CostVolume,
    "a CostVolume, which a matching cost makes, or an array (rows, columns, levels)",
)
_KINDS: Mapping[str, tuple[type, str]] = {
    "image": _IMAGE,
    "reference": _IMAGE,
    "match": _IMAGE,
    "corrected": (tuple, "a tuple of two images"),
    "search": (SearchRange, "a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"),
    "volume": _VOLUME,
    "raw": _VOLUME,
    "partial": _VOLUME,
    "smoothness": (Smoothness, "a Smoothness, which a stage of smoothness makes"),
    "disparity": (np.ndarray, "an array, float32 (rows, columns)"),
    "status": (np.ndarray, "an array, uint8 (rows, columns)"),
    "other": (View, "the map or the View of the other image"),
    "mask": (SearchMask, "a SearchMask or None"),
    "alternatives": (Mapping, "a mapping of names to Views"),
    "confidence": (Mapping, "a mapping of names to maps"),
    "pair": (Pair, "a Pair, such as Pair(reference, match, SearchRange(0, 63))"),
}


def check_sizes(function: str, **arrays: NDArray) -> None:
    """Refuse arrays of different rows and columns on behalf of a function, whose kernels would read beyond the smaller ones, and masked ones.

    Raises
    ------
    DataError
        One of `arrays` has other rows and columns than the first, or a mask of its own.
    """
    if masked := [name for name, array in arrays.items() if isinstance(array, np.ma.MaskedArray)]:
        raise DataError(
            f"{function}: {masked[0]} is a masked array; give its numbers, with NaN where there is none"
        )
    (first, one), *others = arrays.items()
    for name, array in others:
        if array.shape[:2] != one.shape[:2]:
            raise DataError(
                f"{function}: {name} has shape {array.shape}; {one.shape[:2]} fits the {first}"
            )
