"""Checks of the data that stages and functions of the evaluator receive.

Kernels trust the shapes and types of their arrays. An array that is too small would let
them read beyond it. The data of a pipeline are correct by construction. The data of a
direct call are checked here once: each datum is converted to the form that stages take,
or an error in one line refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from stereo_framework.core.view import VOLUMES, DisparityMap, View, kernel_array
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask, Smoothness, status_of

# --- kinds of arrays ------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayKind:
    """What the arrays of one kind have in common.

    Parameters
    ----------
    dtypes : tuple of type
        Allowed types of the values.
    dimensions : tuple of int
        Allowed numbers of axes.
    description : str
        The allowed shapes, for messages.
    takes_integers : bool
        Whether integers are converted to the type of the values, if this is exact.
    allows_nan : bool
        Whether NaN is allowed. Infinite values never are.
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
    """Describe why a value is no array of a kind; empty if it is one.

    Parameters
    ----------
    value : object
    kind : ArrayKind
    shape : tuple of int, optional
        Shape that the array must have. Then the numbers are checked as well, except
        those of costs, because a search through whole volumes takes time. Default: any
        shape of the kind, and any numbers; `fault_of_numbers` checks these.

    Returns
    -------
    str
        Noun phrase that continues "the array is", with the expected form.
    """
    if not _has_form(value, kind, shape):
        dtypes = " or ".join(np.dtype(dtype).name for dtype in kind.dtypes)
        return f"{in_short(value)}; expected {dtypes} {shape or kind.description}"
    if shape and kind is not COSTS and _forbidden_number_count(value, kind):
        expected = "finite numbers, NaN = no estimate" if kind.allows_nan else "finite numbers"
        return f"values that are not finite; expected {expected}"
    return ""


def _has_form(value: Any, kind: ArrayKind, shape: tuple[int, ...] | None) -> bool:
    """Return whether a value is an array with the type and the shape of a kind."""
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
    """Describe the numbers of an array that its kind forbids; empty if there are none.

    Kernels spread NaN over the whole image, or use it as an index.

    Parameters
    ----------
    array : ndarray
        Array with the type of its kind.
    kind : ArrayKind

    Returns
    -------
    str
        Noun phrase that continues "the array has", with the expected numbers and a
        remedy.
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
    """Return the number of values that are infinite or, if the kind forbids it, NaN."""
    if array.dtype.kind != "f":
        return 0
    if kind.allows_nan:
        return int(np.count_nonzero(np.isinf(array)))
    # The smallest and largest value are NaN if any value is. Computing them needs less
    # memory than an array of truth values.
    if np.isfinite(array.min()) and np.isfinite(array.max()):
        return 0
    return int(np.count_nonzero(~np.isfinite(array)))


def _as_kind(label: str, value: Any, kind: ArrayKind) -> NDArray:
    """Return an array in the form that kernels take.

    Parameters
    ----------
    label : str
        Function and name of the value, for messages.
    value : object
    kind : ArrayKind

    Raises
    ------
    ParameterError
        The value is no array.
    DataError
        The array is masked, has another type or shape, or contains numbers that the
        kind forbids.
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
    """Refuse a masked array, because kernels do not see its mask."""
    if isinstance(array, np.ma.MaskedArray):
        message = (
            f"{label} is a masked array; give its numbers, with NaN where a map has no "
            "estimate, and masks in a SearchMask"
        )
        raise DataError(message)


def _with_dtype_of_kind(array: NDArray, kind: ArrayKind) -> NDArray:
    """Return an array with the type of its kind, if the conversion is exact."""
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
    """Return whole numbers in the type of a kind, if it holds each of them exactly."""
    lowest = int(array.min())
    highest = int(array.max())
    if kind is STATUS:
        fits = lowest >= 0 and highest <= np.iinfo(np.uint8).max
        return array.astype(np.uint8) if fits else array
    fits = lowest >= -LARGEST_EXACT and highest <= LARGEST_EXACT
    return array.astype(np.float32) if fits else array


def _remedy(value: Any, kind: ArrayKind) -> str:
    """Describe what to do with whole numbers that may be levels or disparities."""
    is_integer_array = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
    if kind is not DISPARITY or not is_integer_array:
        return ""
    return (
        "; convert levels with SearchRange.disparity_of(levels), and whole disparities in "
        "pixels with .astype(numpy.float32), NaN = no estimate"
    )


# --- converters of data ---------------------------------------------------------------


def as_image(label: str, value: Any) -> NDArray:
    """Return an image as uint8 or float32; warn of intensities from 0 to 1."""
    _check_type(label, value, np.ndarray, _IMAGE_FORM)
    image = _as_kind(label, value, IMAGE)
    if doubt := intensity_scale_warning(image):
        warn([f"{label} image: {doubt}"])
    return image


def as_two_images(label: str, value: Any) -> tuple[NDArray, ...]:
    """Return the two images of a pair, reference first."""
    _check_type(label, value, tuple, "a tuple of two images")
    images = []
    for i, item in enumerate(value):
        item_label = f"{label}[{i}]"
        images.append(as_image(item_label, as_array(item, item_label)))
    return tuple(images)


def as_search_range(label: str, value: Any) -> SearchRange:
    """Return a search range; two or three numbers are its ends and its step."""
    if are_ends(value):
        return SearchRange.of(value)
    expected = "a SearchRange, such as SearchRange(0, 63), or its two ends, (0, 63)"
    _check_type(label, value, SearchRange, expected)
    search: SearchRange = value
    return search


def as_cost_volume(label: str, value: Any) -> CostVolume:
    """Return a cost volume; an array contains the costs of disparities from 0 on.

    Cells of an array whose match lies outside the other image get the largest cost.
    """
    if isinstance(value, np.ndarray) and value.ndim == 3 and value.size:
        search = SearchRange(0, max(value.shape[2] - 1, 1))
        value = CostVolume(value, search, float(value.max()))
    expected = "a CostVolume, which a matching cost makes, or an array (rows, columns, levels)"
    _check_type(label, value, CostVolume, expected)
    costs = _as_kind(f"{label}.costs", value.costs, COSTS)
    if not np.isfinite(value.outside_cost):
        message = f"{label}.outside_cost is {value.outside_cost}; expected a finite cost"
        raise DataError(message)
    return value if costs is value.costs else replace(value, costs=costs)


def as_smoothness(label: str, value: Any) -> Smoothness:
    """Return a smoothness term with arrays in the form that kernels take."""
    _check_type(label, value, Smoothness, "a Smoothness, which a stage of smoothness makes")
    return Smoothness(
        right=_as_kind(f"{label}.right", value.right, MAP),
        down=_as_kind(f"{label}.down", value.down, MAP),
        rho=_as_kind(f"{label}.rho", value.rho, PENALTIES),
    )


def as_disparity(label: str, value: Any) -> NDArray:
    """Return an array of disparities."""
    _check_type(label, value, np.ndarray, "an array, float32 (rows, columns)")
    return _as_kind(label, value, DISPARITY)


def as_status(label: str, value: Any) -> NDArray:
    """Return a status map."""
    _check_type(label, value, np.ndarray, "an array, uint8 (rows, columns)")
    return _as_kind(label, value, STATUS)


def as_confidence(label: str, value: Any) -> dict[str, NDArray]:
    """Return confidence maps by the name of the measure."""
    _check_type(label, value, Mapping, "a mapping of names to maps")
    return {name: _as_kind(f"{label}[{name!r}]", map_, MAP) for name, map_ in value.items()}


def as_disparity_map(label: str, value: Any) -> DisparityMap:
    """Return a disparity map; an array contains its disparities, and a view its map."""
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
    """Return the view of the other image; a disparity map or an array is its map."""
    if isinstance(value, np.ndarray | DisparityMap):
        return View(disparity_map=as_disparity_map(label, value))
    _check_type(label, value, View, "the map or the View of the other image")
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
    """Return a mask with arrays in the form that kernels take."""
    _check_type(label, value, SearchMask, "a SearchMask or None")
    maps = {}
    for name, array in vars(value).items():
        if array is not None:
            _refuse_masked_array(f"{label}.{name}", array)
            maps[name] = kernel_array(array)
    return SearchMask(**maps)


def as_auxiliary_maps(label: str, value: Any) -> dict[str, DisparityMap]:
    """Return the disparity maps of auxiliary methods by name."""
    _check_type(label, value, Mapping, "a mapping of names to disparity maps")
    return {name: as_disparity_map(f"{label}[{name!r}]", map_) for name, map_ in value.items()}


def as_pair(label: str, value: Any) -> Pair:
    """Return a pair, whose constructor has checked its images."""
    _check_type(label, value, Pair, "a Pair, such as Pair(reference, match, SearchRange(0, 63))")
    pair: Pair = value
    return pair


_IMAGE_FORM = "an image: uint8 or float32 (rows, columns) or (rows, columns, 3)"

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
}
"""Functions ``converter(label, value)`` by the name of the data that they convert.

The label is the name of the value in messages. Data without a converter, such as
``scene``, are passed on as they are.
"""


def _check_type(label: str, value: Any, expected_type: Any, expected: str) -> None:
    """Refuse a value of another type; `expected` describes the allowed values."""
    function, _, name = label.partition(": ")
    check_kind(function, name, value, expected_type, expected)


# --- all data of a call ---------------------------------------------------------------


def convert_data(
    stage: str, data: Mapping[str, Any], names: Iterable[str], *, integer: bool
) -> dict[str, Any]:
    """Return the data of a direct call of a stage in the form that the stage takes.

    Parameters
    ----------
    stage : str
        Name of the stage in messages.
    data : mapping of str to object
        The data by the names that stages use. The first one determines the rows and
        columns of the others.
    names : iterable of str
        Names of all data that the stage takes. If ``search`` is missing, it is that of
        the volume. If ``status`` is missing, pixels with a disparity are matched.
    integer : bool
        Whether the stage takes integer costs. Otherwise costs become float32.

    Returns
    -------
    dict of str to object
        Images are uint8 or float32; maps and costs are float32. All arrays are in C
        order and read-only. Intensities of 16 bits are divided by 257.

    Raises
    ------
    ParameterError
        A datum has another type than its name requires, or a volume and ``search``
        have different levels.
    DataError
        An array has another type, or other rows and columns than the first one, or
        numbers that no stage can use: NaN or infinite intensities, costs and maps, or
        infinite disparities.

    Warns
    -----
    ResultWarning
        Intensities range from 0 to 1.
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
    """Return the search range and the status map, if only other data contain them."""
    missing: dict[str, Any] = {}
    volumes = _volumes(data)
    if volumes and "search" in names and "search" not in data:
        first_volume = next(iter(volumes.values()))
        missing["search"] = first_volume.search
    if "status" in names and "status" not in data and "disparity" in data:
        missing["status"] = status_of(data["disparity"])
    return missing


def _volumes(data: Mapping[str, Any]) -> dict[str, CostVolume]:
    """Return the cost volumes among the data, by name."""
    return {name: value for name, value in data.items() if isinstance(value, CostVolume)}


def _with_float_costs(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with float32 costs in all volumes."""
    converted = dict(data)
    for name, volume in _volumes(data).items():
        converted[name] = replace(volume, costs=read_only(volume.floats().costs))
    if data.get("other") is not None:
        converted["other"] = data["other"].floats(VOLUMES)
    return converted


class _EqualSizes:
    """The check that all arrays of a call have equal numbers of rows and columns.

    Parameters
    ----------
    stage : str
        Name of the stage in messages.
    """

    def __init__(self, stage: str):
        self.stage = stage
        self.size: tuple[int, ...] = ()
        """Rows and columns of the first array."""
        self.first = ""
        """Name of the first array in messages."""

    def check(self, name: str, value: Any) -> None:
        """Refuse a datum with an array of another size than the first array has."""
        for array_name, array in _arrays_with_rows(name, value):
            if not self.size:
                self.size = array.shape[:2]
                self.first = _NOUNS.get(array_name, array_name)
            if array.shape[:2] != self.size:
                message = (
                    f"{self.stage}: {array_name} has shape {array.shape}; "
                    f"{self.size} fits the {self.first}"
                )
                raise DataError(message)


_NOUNS = {"disparity": "disparities", "reference": "reference image"}


def _arrays_with_rows(name: str, value: Any) -> Iterator[tuple[str, NDArray]]:
    """Yield the names and arrays of a converted datum that have rows of the image."""
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
    """Refuse volumes and penalties whose levels are not those of the search range."""
    smoothness = data.get("smoothness")
    for name, volume in _volumes(data).items():
        search = data.get("search", volume.search)
        if volume.search != search:
            message = (
                f"{stage}: {name} is of the range {volume.search}, search is {search}; "
                "both must be the same"
            )
            raise ParameterError(message)
        _check_level_count(stage, f"{name}.costs", volume.costs.shape[2], search)
        if smoothness is not None:
            _check_level_count(stage, "smoothness.rho", len(smoothness.rho), search)


def _check_level_count(stage: str, name: str, count: int, search: SearchRange) -> None:
    """Refuse an array with another number of levels than the search range has."""
    if count != search.levels:
        message = f"{stage}: {name} has {count} levels; {search.levels} fit the range {search}"
        raise DataError(message)


def _check_equal_images(stage: str, reference: NDArray | None, match: NDArray | None) -> None:
    """Refuse two images of different shapes or types."""
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
    """Refuse arrays of different rows and columns, and masked arrays.

    The kernels of the function would read beyond the smaller arrays.

    Parameters
    ----------
    function : str
        Name of the function in messages.
    **arrays
        The arrays by the names of the arguments. The first one determines the size.

    Raises
    ------
    DataError
        An array has other rows and columns than the first one, or is masked.
    """
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray):
            message = (
                f"{function}: {name} is a masked array; "
                "give its numbers, with NaN where there is none"
            )
            raise DataError(message)
    first_name = next(iter(arrays))
    size = arrays[first_name].shape[:2]
    for name, array in arrays.items():
        if array.shape[:2] != size:
            message = f"{function}: {name} has shape {array.shape}; {size} fits the {first_name}"
            raise DataError(message)
