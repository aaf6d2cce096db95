"""Checks of images, maps and volumes that users pass to a function.

Compiled kernels do not check array shapes. A kernel would read memory beyond the end of
an array that is too small. Therefore the arrays of direct calls are checked here.
Pipelines pass only correct arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import as_array, describe_value
from stereo_framework.core.cost_of_pairs import CostOfPairs
from stereo_framework.core.errors import DataError, ParameterError, warn
from stereo_framework.core.frames import LARGEST_EXACT
from stereo_framework.core.other_frames import OtherFrame
from stereo_framework.core.pair import Pair, intensity_fault
from stereo_framework.core.parameters import check_kind, in_short
from stereo_framework.core.scene import SearchRange, intensities, intensity_scale_warning, read_only
from stereo_framework.core.search import are_ends
from stereo_framework.core.view import VOLUMES, DisparityMap, View, kernel_array, map_arrays
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask, Smoothness, status_of

# --- kinds of arrays ------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayKind:
    """Required number type and shape of an array, such as an image.

    Parameters
    ----------
    dtypes : tuple of type
        Allowed number types, such as ``np.float32``.
    dimensions : tuple of int
        Allowed numbers of array dimensions.
    description : str
        Allowed shapes in words, for error messages.
    takes_integers : bool
        Whether any other integer type is accepted and converted.
    allows_nan : bool
        Whether the array may contain NaN. Infinite numbers are never allowed.
    """

    dtypes: tuple[Any, ...]
    dimensions: tuple[int, ...]
    description: str
    takes_integers: bool = False
    allows_nan: bool = False


IMAGE = ArrayKind(
    (np.uint8, np.float32),
    (2, 3),
    "(rows, columns) or (rows, columns, 3), intensities in 0..255",
)
DISPARITY = ArrayKind((np.float32,), (2,), "(rows, columns)", allows_nan=True)
STATUS = ArrayKind((np.uint8,), (2,), "(rows, columns)", takes_integers=True)
LEVELS = ArrayKind((np.int16,), (2,), "(rows, columns)")
MAP = ArrayKind((np.float32,), (2,), "(rows, columns)", takes_integers=True)
COSTS = ArrayKind((np.float32, *INTEGERS), (3,), "(rows, columns, levels)", takes_integers=True)
PENALTIES = ArrayKind((np.float32,), (1,), "(levels,)", takes_integers=True)


def fault(value: Any, kind: ArrayKind, shape: tuple[int, ...] | None = None) -> str:
    """Describe a wrong type or shape of an array for an error message.

    Parameters
    ----------
    value : object
        Value that is checked.
    kind : ArrayKind
        Required type and shape.
    shape : tuple of int, optional
        Exact shape of the array. With a shape, the numbers are checked too, except in
        cost volumes. Default: any shape allowed by `kind`.

    Returns
    -------
    str
        Description such as "float64 (3, 4); expected float32 (rows, columns)". Empty if
        the array is correct.
    """
    if not _has_form(value, kind, shape):
        dtypes = " or ".join(np.dtype(dtype).name for dtype in kind.dtypes)
        return f"{in_short(value)}; expected {dtypes} {shape or kind.description}"
    if shape and kind is not COSTS and _forbidden_number_count(value, kind):
        expected = "finite numbers, NaN = no estimate" if kind.allows_nan else "finite numbers"
        return f"values that are not finite; expected {expected}"
    return ""


def _has_form(value: Any, kind: ArrayKind, shape: tuple[int, ...] | None) -> bool:
    """Return whether a value is an array with the required number type and shape."""
    is_array = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    if not is_array or value.dtype not in kind.dtypes:
        return False
    if shape:
        return bool(value.shape == shape)
    if value.ndim not in kind.dimensions or 0 in value.shape:
        return False
    has_channels = kind is IMAGE and value.ndim == 3
    return not has_channels or value.shape[2] == 3


def fault_of_numbers(array: NDArray, kind: ArrayKind) -> str:
    """Describe forbidden numbers in an array, such as NaN, for an error message.

    A kernel may use NaN as an array index and read from a wrong address.

    Parameters
    ----------
    array : ndarray
        Array of the required type and shape.
    kind : ArrayKind
        Kind of the array, such as `DISPARITY`.

    Returns
    -------
    str
        Description such as "NaN or infinite numbers (values: 2); expected finite
        numbers". Empty if all numbers are allowed.
    """
    if kind is IMAGE:
        return intensity_fault(array)
    count = _forbidden_number_count(array, kind)
    if not count:
        return ""

    if kind is COSTS:
        return (
            f"NaN or infinite costs (values: {count}); expected finite costs: "
            "give cells that must not be chosen a large finite cost, "
            "or exclude pixels with a SearchMask"
        )
    if kind.allows_nan:
        return (
            f"infinite disparities (values: {count}); expected finite disparities, "
            "or NaN for pixels without an estimate"
        )
    return f"NaN or infinite numbers (values: {count}); expected finite numbers"


def _forbidden_number_count(array: NDArray, kind: ArrayKind) -> int:
    """Count the infinite numbers and forbidden NaN values of an array."""
    if array.dtype.kind != "f":
        return 0
    if kind.allows_nan:
        return int(np.count_nonzero(np.isinf(array)))
    # The minimum of an array with NaN is NaN. Computing the minimum needs less memory
    # than np.isfinite(array).
    if np.isfinite(array.min()) and np.isfinite(array.max()):
        return 0
    return int(np.count_nonzero(~np.isfinite(array)))


def _as_kind(label: str, value: Any, kind: ArrayKind) -> NDArray:
    """Check an array and convert its numbers for the kernels.

    Parameters
    ----------
    label : str
        Function and argument in error messages, such as ``census: image``.
    value : object
        NumPy array or array-like object, such as a PyTorch tensor.
    kind : ArrayKind
        Required type and shape of the array.

    Raises
    ------
    ArgumentError
        The object cannot be converted to a NumPy array.
    DataError
        The array is masked, has a wrong type or shape, or contains forbidden numbers.
    """
    array = as_array(value, label)
    _refuse_masked_array(label, array)
    if isinstance(array, np.ndarray):
        array = _with_dtype_of_kind(array, kind)

    if form_fault := fault(array, kind):
        raise DataError(f"{label} is {form_fault}{_remedy(array, kind)}")
    if number_fault := fault_of_numbers(array, kind):
        raise DataError(f"{label} has {number_fault}")
    return kernel_array(array)


def _refuse_masked_array(label: str, array: Any) -> None:
    """Refuse a NumPy masked array, because kernels would ignore the mask."""
    if isinstance(array, np.ma.MaskedArray):
        message = (
            f"{label} is a masked array; give a plain array with NaN at pixels without an "
            "estimate, and give masks as a SearchMask"
        )
        raise DataError(message)


def _with_dtype_of_kind(array: NDArray, kind: ArrayKind) -> NDArray:
    """Convert an array to the required number type if no integer changes."""
    if kind is IMAGE:
        return intensities(array)
    if array.dtype.kind == "f":
        takes_floats = np.float32 in kind.dtypes
        return array.astype(np.float32, copy=False) if takes_floats else array
    is_other_integer = array.dtype.kind in "iu" and array.dtype not in kind.dtypes
    if is_other_integer and kind.takes_integers and array.size:
        return _with_exact_integers(array, kind)
    return array


def _with_exact_integers(array: NDArray, kind: ArrayKind) -> NDArray:
    """Convert integers to the required number type if the result is exact."""
    lowest = int(array.min())
    highest = int(array.max())
    if kind is STATUS:
        fits = lowest >= 0 and highest <= np.iinfo(np.uint8).max
        return array.astype(np.uint8) if fits else array
    fits = lowest >= -LARGEST_EXACT and highest <= LARGEST_EXACT
    return array.astype(np.float32) if fits else array


def _remedy(value: Any, kind: ArrayKind) -> str:
    """Return a hint if a disparity map contains integers.

    The hint explains how to convert level indices or whole disparities. For disparity
    maps of floats, the hint is empty.
    """
    is_integer_array = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
    if kind is not DISPARITY or not is_integer_array:
        return ""
    return (
        "; convert levels with SearchRange.disparity_of(levels), and whole disparities in "
        "pixels with .astype(numpy.float32), NaN = no estimate"
    )


# --- converters of data ---------------------------------------------------------------


def as_image(label: str, value: Any) -> NDArray:
    """Convert an image to uint8 or float32; warn if its intensities lie in 0..1."""
    _check_type(label, value, np.ndarray, _IMAGE_FORM)
    image = _as_kind(label, value, IMAGE)
    if doubt := intensity_scale_warning(image):
        warn([f"{label} image: {doubt}"])
    return image


def as_two_images(label: str, value: Any) -> tuple[NDArray, ...]:
    """Check and convert a tuple of reference image and match image."""
    _check_type(label, value, tuple, "a tuple of two images")
    images = []
    for i, item in enumerate(value):
        item_label = f"{label}[{i}]"
        images.append(as_image(item_label, as_array(item, item_label)))
    return tuple(images)


def as_search_range(label: str, value: Any) -> SearchRange:
    """Convert two or three numbers, such as (0, 63), to a search range.

    The numbers are the smallest disparity, the largest disparity and optionally the
    step. A `SearchRange` is returned unchanged.
    """
    if are_ends(value):
        return SearchRange.of(value)
    expected = "a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"
    _check_type(label, value, SearchRange, expected)
    search: SearchRange = value
    return search


def as_cost_volume(label: str, value: Any) -> CostVolume:
    """Check a cost volume, or convert an array of costs to a cost volume.

    The levels of an array are the disparities 0, 1, 2 and so on. Pixels outside the
    match image get the maximum cost.
    """
    if isinstance(value, np.ndarray) and value.ndim == 3 and value.size:
        search = SearchRange(0, max(value.shape[2] - 1, 1))
        value = CostVolume(value, search, float(value.max()))
    expected = "a CostVolume, as returned by a matching cost, or an array (rows, columns, levels)"
    _check_type(label, value, CostVolume, expected)
    costs = _as_kind(f"{label}.costs", value.costs, COSTS)
    if not np.isfinite(value.outside_cost):
        message = f"{label}.outside_cost is {value.outside_cost}; expected a finite cost"
        raise DataError(message)
    return value if costs is value.costs else replace(value, costs=costs)


def as_smoothness(label: str, value: Any) -> Smoothness:
    """Check a smoothness term, and convert its arrays to float32."""
    _check_type(label, value, Smoothness, "a Smoothness, as returned by a smoothness stage")
    return Smoothness(
        right=_as_kind(f"{label}.right", value.right, MAP),
        down=_as_kind(f"{label}.down", value.down, MAP),
        rho=_as_kind(f"{label}.rho", value.rho, PENALTIES),
    )


def as_disparity(label: str, value: Any) -> NDArray:
    """Check an array of disparities in pixels, and convert float64 to float32."""
    _check_type(label, value, np.ndarray, "an array, float32 (rows, columns)")
    return _as_kind(label, value, DISPARITY)


def as_status(label: str, value: Any) -> NDArray:
    """Check a status map (see `Status`), and convert its integers to uint8."""
    _check_type(label, value, np.ndarray, "an array, uint8 (rows, columns)")
    return _as_kind(label, value, STATUS)


def as_confidence(label: str, value: Any) -> dict[str, NDArray]:
    """Check confidence maps, and convert them to float32.

    The keys of the mapping are the names of the confidence measures.
    """
    _check_type(label, value, Mapping, "a mapping of names to maps")
    return {name: _as_kind(f"{label}[{name!r}]", map_, MAP) for name, map_ in value.items()}


def as_disparity_map(label: str, value: Any) -> DisparityMap:
    """Convert an array or a `View` to a checked `DisparityMap`."""
    if isinstance(value, View) and value.disparity_map is not None:
        value = value.disparity_map
    if isinstance(value, np.ndarray):
        disparity = as_disparity(label, value)
        return DisparityMap(disparity, status_of(disparity))
    expected = "a DisparityMap, such as DisparityMap(disparity, status, search), or an array"
    _check_type(label, value, DisparityMap, expected)
    return replace(
        value,
        disparity=as_disparity(f"{label}.disparity", value.disparity),
        status=as_status(f"{label}.status", value.status),
        confidence=as_confidence(f"{label}.confidence", value.confidence),
    )


def as_other_view(label: str, value: Any) -> View:
    """Check the data of the second image and convert them to a `View`.

    A disparity map becomes a view without cost volumes.
    """
    if isinstance(value, np.ndarray | DisparityMap):
        return View(disparity_map=as_disparity_map(label, value))
    _check_type(label, value, View, "a disparity map or a View of the other image")
    volumes = value.volumes
    return replace(
        value,
        disparity_map=value.disparity_map and as_disparity_map(label, value.disparity_map),
        volumes=replace(
            volumes,
            current=volumes.current and as_cost_volume(f"{label}.volume", volumes.current),
            raw=volumes.raw and as_cost_volume(f"{label}.raw", volumes.raw),
        ),
    )


def as_search_mask(label: str, value: Any) -> SearchMask:
    """Check a search mask and convert its arrays for the kernels."""
    _check_type(label, value, SearchMask, "a SearchMask or None")
    maps = {}
    for name, array in vars(value).items():
        if array is not None:
            _refuse_masked_array(f"{label}.{name}", array)
            maps[name] = kernel_array(array)
    return SearchMask(**maps)


def as_auxiliary_maps(label: str, value: Any) -> dict[str, DisparityMap]:
    """Check the disparity maps of auxiliary methods.

    The keys of the mapping are the names of the auxiliary methods.
    """
    _check_type(label, value, Mapping, "a mapping of names to disparity maps")
    return {name: as_disparity_map(f"{label}[{name!r}]", map_) for name, map_ in value.items()}


def as_pair(label: str, value: Any) -> Pair:
    """Check that a value is a `Pair`.

    The images are not checked again.
    """
    _check_type(label, value, Pair, "a Pair, such as Pair(reference, match, SearchRange(0, 63))")
    pair: Pair = value
    return pair


_IMAGE_FORM = "an image: uint8 or float32 (rows, columns) or (rows, columns, 3)"


def as_other_frames(label: str, frames: Any) -> tuple[OtherFrame, ...]:
    """Return further images of a scene as a tuple; refuse any other object."""
    is_sequence = isinstance(frames, tuple | list)
    if not is_sequence or not all(isinstance(frame, OtherFrame) for frame in frames):
        message = (
            f"{label} is {describe_value(frames)}; expected a tuple of OtherFrame, such as "
            "Pair.of(scene).frames"
        )
        raise ParameterError(message)
    return tuple(frames)


def as_cost_of_pairs(label: str, cost: Any) -> CostOfPairs:
    """Return a matching cost that is a function of pairs; refuse any other object."""
    _check_type(label, cost, CostOfPairs, "a CostOfPairs, such as method.cost_of_pairs(pair)")
    checked_cost: CostOfPairs = cost
    return checked_cost


CONVERTERS: Mapping[str, Callable[[str, Any], Any]] = {
    "image": as_image,
    "reference": as_image,
    "match": as_image,
    "corrected": as_two_images,
    "search": as_search_range,
    "volume": as_cost_volume,
    "raw": as_cost_volume,
    "partial": as_cost_volume,
    "smoothness": as_smoothness,
    "disparity": as_disparity,
    "status": as_status,
    "other": as_other_view,
    "mask": as_search_mask,
    "auxiliary": as_auxiliary_maps,
    "confidence": as_confidence,
    "pair": as_pair,
    "cost": as_cost_of_pairs,
    "frames": as_other_frames,
}
"""Functions that check and convert stage arguments, by argument name.

A call has the form ``converter(label, value)``. Unlisted arguments, such as ``scene``,
are passed to the stage unchanged.
"""


def _check_type(label: str, value: Any, expected_type: Any, expected: str) -> None:
    """Refuse a value that has a wrong type.

    Parameters
    ----------
    label : str
        Function and argument in error messages, such as ``census: image``.
    value : object
        Value that is checked.
    expected_type : type
        Required class of the value.
    expected : str
        Description of the allowed values, for the error message.
    """
    function, _, name = label.partition(": ")
    check_kind(function, name, value, expected_type, expected)


# --- all data of a call ---------------------------------------------------------------


def convert_data(
    stage: str, data: Mapping[str, Any], names: Iterable[str], *, integer: bool
) -> dict[str, Any]:
    """Check and convert the arguments of a stage that a user calls directly.

    Parameters
    ----------
    stage : str
        Name of the stage in error messages.
    data : mapping of str to object
        Images, maps and volumes, by argument name such as ``reference``. All arrays
        must have the same numbers of rows and columns.
    names : iterable of str
        Names of all arguments of the stage. A missing ``search`` is taken from the cost
        volume. A missing ``status`` is MATCHED at pixels with a disparity.
    integer : bool
        Whether the stage supports integer costs. Otherwise costs become float32.

    Returns
    -------
    dict of str to object
        Converted arguments. Images are uint8 or float32. Disparity maps and confidence
        maps are float32. All arrays are read-only and in C order.

    Raises
    ------
    ParameterError
        An argument has a wrong class, or the search ranges differ.
    DataError
        An array has a wrong type or shape, or contains forbidden numbers.

    Warns
    -----
    ResultWarning
        The intensities of an image lie in 0..1 instead of 0..255.
    """
    checked: dict[str, Any] = {}
    sizes = _EqualSizes(stage)
    for name, value in data.items():
        label = f"{stage}: {name}"
        checked[name] = as_array(value, label)
        if checked[name] is not None and name in CONVERTERS:
            checked[name] = CONVERTERS[name](label, checked[name])
            sizes.check(name, checked[name])

    checked |= _missing_data(checked, set(names))
    _check_levels(stage, checked)
    _check_equal_images(stage, checked.get("reference"), checked.get("match"))
    return checked if integer else _with_float_costs(checked)


def _missing_data(data: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Derive a missing search range and a missing status map from other arguments.

    The search range is taken from a cost volume. The status map marks pixels with a
    disparity as matched.
    """
    missing: dict[str, Any] = {}
    volumes = _volumes(data)
    if volumes and "search" in names and "search" not in data:
        first_volume = next(iter(volumes.values()))
        missing["search"] = first_volume.search
    if "status" in names and "status" not in data and "disparity" in data:
        missing["status"] = status_of(data["disparity"])
    return missing


def _volumes(data: Mapping[str, Any]) -> dict[str, CostVolume]:
    """Return the cost volumes among the arguments, by argument name."""
    return {name: value for name, value in data.items() if isinstance(value, CostVolume)}


def _with_float_costs(data: dict[str, Any]) -> dict[str, Any]:
    """Convert the costs of both views to float32."""
    converted = dict(data)
    has_mask = data.get("mask") is not None
    for name, volume in _volumes(data).items():
        # Only the cost volume that an optimizer decides on contains marks.
        is_marked = has_mask and name == "volume"
        converted[name] = replace(volume, costs=read_only(volume.floats(is_marked=is_marked).costs))
    if data.get("other") is not None:
        other = data["other"].floats(VOLUMES)
        # New arrays are writeable, and a kernel would be compiled again for them.
        converted["other"] = map_arrays(other, lambda _, array: kernel_array(array))
    return converted


class _EqualSizes:
    """Comparison of the sizes of all arrays in the call of a stage.

    All arrays must have the same numbers of rows and columns.

    Parameters
    ----------
    stage : str
        Name of the stage in error messages.
    """

    def __init__(self, stage: str):
        self.stage = stage
        self.size: tuple[int, ...] = ()
        """Number of rows and columns of the first checked array."""
        self.first = ""
        """Name of the first checked array, for error messages."""

    def check(self, name: str, value: Any) -> None:
        """Compare the size of an argument with the size of the first argument."""
        for array_name, array in _arrays_with_rows(name, value):
            if not self.size:
                self.size = array.shape[:2]
                self.first = _NOUNS.get(array_name, array_name)
            if array.shape[:2] != self.size:
                message = (
                    f"{self.stage}: {array_name} has shape {array.shape}; "
                    f"expected {self.size}, the size of the {self.first}"
                )
                raise DataError(message)


_NOUNS = {"disparity": "disparities", "reference": "reference image"}


def _arrays_with_rows(name: str, value: Any) -> Iterator[tuple[str, NDArray]]:
    """Yield the names and values of all image-sized arrays in an argument.

    For example, a `DisparityMap` contains disparities and status values. The names,
    such as ``other.status``, are used in error messages.
    """
    match value:
        case np.ndarray():
            yield name, value
        case CostVolume():
            yield name, value.costs
        case Smoothness():
            yield f"{name}.right", value.right
            yield f"{name}.down", value.down
        case SearchMask():
            parts = vars(value).items()
            yield from ((f"{name}.{part}", array) for part, array in parts if array is not None)
        case DisparityMap():
            yield f"{name}.disparity", value.disparity
            yield f"{name}.status", value.status
            yield from _arrays_with_rows(f"{name}.confidence", value.confidence)
        case View():
            if value.disparity_map is not None:
                yield from _arrays_with_rows(name, value.disparity_map)
            for part, volume in value.volumes.by_name().items():
                yield f"{name}.{part}", volume.costs
        case tuple() | Mapping():
            items = value.items() if isinstance(value, Mapping) else enumerate(value)
            for key, item in items:
                yield from _arrays_with_rows(f"{name}[{key!r}]", item)


def _check_levels(stage: str, data: Mapping[str, Any]) -> None:
    """Check that cost volumes and penalties fit the search range."""
    smoothness = data.get("smoothness")
    for name, volume in _volumes(data).items():
        search = data.get("search", volume.search)
        if volume.search != search:
            message = (
                f"{stage}: {name} has the search range {volume.search}, but search is {search}; "
                "both must be equal"
            )
            raise ParameterError(message)
        _check_level_count(stage, f"{name}.costs", volume.costs.shape[2], search)
        if smoothness is not None:
            _check_level_count(stage, "smoothness.rho", len(smoothness.rho), search)


def _check_level_count(stage: str, name: str, count: int, search: SearchRange) -> None:
    """Compare the number of levels of an array with the search range."""
    if count != search.levels:
        message = (
            f"{stage}: {name} has {count} levels; "
            f"expected {search.levels} levels for the search range {search}"
        )
        raise DataError(message)


def _check_equal_images(stage: str, reference: NDArray | None, match: NDArray | None) -> None:
    """Check that both images have the same shape and type."""
    if reference is None or match is None:
        return
    if (reference.shape, reference.dtype) != (match.shape, match.dtype):
        message = (
            f"{stage}: reference image {reference.shape} {reference.dtype} and match image "
            f"{match.shape} {match.dtype} differ; "
            "both must have one size, one number of channels and one type"
        )
        raise DataError(message)


def check_sizes(function: str, **arrays: NDArray) -> None:
    """Check that arrays have equal sizes and are not masked.

    A kernel would read memory beyond the end of a smaller array.

    Parameters
    ----------
    function : str
        Name of the checked function in error messages.
    **arrays
        Arrays, by argument name. All sizes are compared with the first array.

    Raises
    ------
    DataError
        The sizes differ, or an array is a NumPy masked array.
    """
    sizes = {array.shape[:2] for array in arrays.values()}
    if len(sizes) == 1 and all(type(array) is np.ndarray for array in arrays.values()):
        return
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray):
            message = (
                f"{function}: {name} is a masked array; "
                "give a plain array, with NaN where a number is missing"
            )
            raise DataError(message)
    first_name = next(iter(arrays))
    size = arrays[first_name].shape[:2]
    for name, array in arrays.items():
        if array.shape[:2] != size:
            message = (
                f"{function}: {name} has shape {array.shape}; "
                f"expected {size}, the size of {first_name}"
            )
            raise DataError(message)
