"""The images, cost volumes and disparity map that a step passes to the next step.

Each step of a method receives a `View` and returns a new `View`. The disparity map is
None before the optimization. Most data arguments of stages are properties of the view.
For example, the argument ``volume`` is `View.volume`. Matching costs and matchers get
the two images of `View.corrected` as ``reference`` and ``match``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.former_names import report_attributes, report_attributes_of_module
from stereo_framework.core.other_frames import OtherFrame, changed_frames, exchanged_frames
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import brief
from stereo_framework.core.scene import Disparity, Image, Scene, SearchRange, read_only
from stereo_framework.core.volume import (
    ConfidenceMap,
    CostVolume,
    Labeling,
    SearchMask,
    Smoothness,
    Status,
    StatusMap,
    restore_outside_cost_inplace,
)

T = TypeVar("T")

VOLUMES = frozenset({"volume", "raw"})
"""Data arguments that are cost volumes of the whole image."""


@dataclass(frozen=True, eq=False)
class PreparedImages:
    """The two images of a pair after preprocessing.

    Parameters
    ----------
    reference, match : ndarray, (rows, columns) or (rows, columns, 3)
        Images after the preprocessing stages for single images.
    corrected : (ndarray, ndarray)
        Both images after all preprocessing stages, such as an alignment of rows.
        Matching costs read the corrected images. A correction may move pixels, so
        refinements read `reference` and `match`.
    frames : tuple of OtherFrame
        Further images of the scene, after the preprocessing stages for single images.
    """

    reference: Image
    match: Image
    corrected: tuple[Image, Image]
    frames: tuple[OtherFrame, ...] = ()

    @staticmethod
    def of(reference: Image, match: Image, frames: tuple[OtherFrame, ...] = ()) -> PreparedImages:
        """Create an object for two images without a correction of the pair."""
        images = kernel_array(reference), kernel_array(match)
        frames = changed_frames(frames, kernel_array)
        return PreparedImages(*images, corrected=images, frames=frames)

    def exchanged(self) -> PreparedImages:
        """Exchange the reference image and the match image."""
        frames = exchanged_frames(self.frames)
        return PreparedImages(self.match, self.reference, self.corrected[::-1], frames)


@dataclass(frozen=True, eq=False)
class Volumes:
    """The cost volumes of an image, and the smoothness term.

    A pipeline removes cost volumes that no later step reads.

    Parameters
    ----------
    current : CostVolume or None
        Latest cost volume, from the matching cost, an aggregation or the optimizer. A
        stage reads this volume by the argument ``volume``.
    raw : CostVolume or None
        Cost volume before aggregation.
    partial : CostVolume or None
        Result of the next aggregation after fewer iterations. The aggregation continues
        this computation.
    smoothness : Smoothness or None
    is_shared : bool
        True if another view contains the same current volume. A shared volume must not
        be changed.
    is_restored : bool
        True if `View.with_restored_cells` was called after the last aggregation.
    """

    current: CostVolume | None = None
    raw: CostVolume | None = None
    partial: CostVolume | None = None
    smoothness: Smoothness | None = None
    is_shared: bool = False
    is_restored: bool = False

    def by_name(self) -> dict[str, CostVolume]:
        """Return all existing cost volumes by name, such as ``raw``."""
        volumes = {"volume": self.current, "raw": self.raw, "partial": self.partial}
        return {name: volume for name, volume in volumes.items() if volume is not None}

    def keeping(self, names: Collection[str]) -> Volumes:
        """Keep only the cost volumes with the given names."""
        return replace(
            self,
            current=self.current if "volume" in names else None,
            raw=self.raw if "raw" in names else None,
            partial=self.partial if "partial" in names else None,
        )

    def floats(self, names: Collection[str], *, has_mask: bool) -> Volumes:
        """Convert the costs of the volumes with the given names to float32.

        Parameters
        ----------
        names : collection of str
            Names of the volumes, such as ``volume``.
        has_mask : bool
            True if the pair has a mask. The restored current volume then marks excluded
            cells, and the marks are converted to those of float32 costs.
        """
        # The current volume and the raw volume may share one array. The converted array
        # is shared, too.
        converted: dict[int, CostVolume] = {}
        for name, volume in self.by_name().items():
            if name in names and id(volume.costs) not in converted:
                is_marked = has_mask and self.is_restored and volume is self.current
                converted[id(volume.costs)] = volume.floats(is_marked=is_marked)

        def in_floats(volume: CostVolume | None) -> CostVolume | None:
            return None if volume is None else converted.get(id(volume.costs), volume)

        return replace(
            self,
            current=in_floats(self.current),
            raw=in_floats(self.raw),
            partial=in_floats(self.partial),
        )


@brief
@dataclass(frozen=True, eq=False)
class DisparityMap:
    """A disparity map with the status and the confidence of its pixels.

    The argument ``auxiliary`` of a stage has a `DisparityMap` for each auxiliary
    method.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN means no estimate.
    status : ndarray, uint8, (rows, columns)
        Status of each pixel, such as `Status.MATCHED`.
    search : SearchRange, optional
        Search range of the disparity map. The direction is 1 for the left image and -1
        for the right image.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Confidence maps by the name of the measure. Higher values mean more certain
        disparities.
    labeling : Labeling, optional
        Levels and data costs from the optimizer.
    """

    disparity: Disparity
    status: StatusMap
    search: SearchRange | None = None
    confidence: Mapping[str, ConfidenceMap] = field(default_factory=dict)
    labeling: Labeling | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the disparity map."""
        rows, columns = self.disparity.shape
        return rows, columns


@report_attributes
@brief
@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """The data of one image between two steps, such as cost volumes.

    The argument ``other`` of a stage is the view of the second image. Stages may read
    its properties `disparity`, `status`, `search` and `confidence`. The option
    ``other_needs`` also permits cost volumes.

    Parameters
    ----------
    pair : Pair or None
        Pair with the image of this view as the reference image. None if a user calls a
        stage with only a disparity map.
    prepared : PreparedImages or None
    volumes : Volumes
    disparity_map : DisparityMap or None
        Disparity map of the image. None before the optimizer or the matcher.
    auxiliary : mapping of str to tuple of DisparityMap
        Disparity maps of the auxiliary methods by the name of the method. The first map
        belongs to this image. An optional second map belongs to the other image.
    estimate : Estimate or None
        Complete result of a scheme. All other parts of the view are then ignored.
    """

    pair: Pair | None = None
    prepared: PreparedImages | None = None
    volumes: Volumes = field(default_factory=Volumes)
    disparity_map: DisparityMap | None = None
    auxiliary: Mapping[str, tuple[DisparityMap, ...]] = field(default_factory=dict)
    estimate: Estimate | None = None

    @staticmethod
    def of(
        pair: Pair,
        prepared: PreparedImages | None = None,
        auxiliary: Mapping[str, tuple[DisparityMap, ...]] | None = None,
    ) -> View:
        """Create the view of a reference image without volumes and disparity map.

        Parameters
        ----------
        pair : Pair
        prepared : PreparedImages, optional
            Images after preprocessing. Default: the images of the pair.
        auxiliary : mapping of str to tuple of DisparityMap, optional
        """
        if prepared is None:
            prepared = PreparedImages.of(pair.reference, pair.match, pair.frames)
        return View(pair=pair, prepared=prepared, auxiliary=auxiliary or {})

    def exchanged(self) -> View:
        """Create the view of the match image without volumes and disparity map.

        The images stay preprocessed, and the auxiliary disparity maps are exchanged.
        """
        auxiliary = {name: maps[::-1] for name, maps in self.auxiliary.items()}
        return View.of(
            self.require_pair().exchanged(), self.require_images().exchanged(), auxiliary
        )

    # --- data of stages ---------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the image."""
        if self.disparity_map is not None:
            return self.disparity_map.shape
        return self.require_pair().shape

    @property
    def reference(self) -> Image:
        """The image of this view after preprocessing of single images."""
        return self.require_images().reference

    @property
    def match(self) -> Image:
        """The second image of the pair after preprocessing of single images."""
        return self.require_images().match

    @property
    def frames(self) -> tuple[OtherFrame, ...]:
        """Further images of the scene, after preprocessing of single images."""
        return self.require_images().frames

    @property
    def corrected(self) -> tuple[Image, Image]:
        """Both images after all preprocessing stages."""
        return self.require_images().corrected

    @property
    def search(self) -> SearchRange:
        """The search range for the image of this view."""
        if self.pair is not None:
            return self.pair.search
        search = self.require_map().search
        if search is None:
            raise StereoFrameworkError(
                "the search range of the other disparity map is not known; "
                "give DisparityMap(disparity, status, search)"
            )
        return search

    @property
    def mask(self) -> SearchMask | None:
        """The mask of the allowed pixels and disparities; None: all."""
        return self.require_pair().mask

    @property
    def scene(self) -> Scene | None:
        """The scene of the images, or None."""
        return self.require_pair().scene

    @property
    def volume(self) -> CostVolume:
        """The latest cost volume, for example after aggregation."""
        return self._require_volume("volume", self.volumes.current)

    @property
    def raw(self) -> CostVolume:
        """The cost volume before aggregation."""
        return self._require_volume("raw", self.volumes.raw)

    @property
    def partial(self) -> CostVolume | None:
        """The result of the next aggregation after fewer iterations, or None."""
        return self.volumes.partial

    @property
    def smoothness(self) -> Smoothness | None:
        """The smoothness term of the method, or None."""
        return self.volumes.smoothness

    @property
    def labeling(self) -> Labeling | None:
        """Return the labeling of the optimizer; None without a labeling."""
        if self.disparity_map is None:
            return None
        return self.disparity_map.labeling

    @property
    def disparity(self) -> Disparity:
        """The disparities in pixels; NaN means no estimate."""
        return self.require_map().disparity

    @property
    def status(self) -> StatusMap:
        """The status of each pixel, such as `Status.MATCHED`."""
        return self.require_map().status

    @property
    def confidence(self) -> Mapping[str, ConfidenceMap]:
        """The confidence maps by the name of the confidence measure."""
        return self.require_map().confidence

    def require_pair(self) -> Pair:
        """Return the pair; raise an error if only a disparity map is known."""
        if self.pair is None:
            message = "the view has no pair, because only its disparity map is known"
            raise StereoFrameworkError(message)
        return self.pair

    def require_images(self) -> PreparedImages:
        """Return the preprocessed images; raise an error if there are none."""
        if self.prepared is None:
            message = "the view has no images, because only its disparity map is known"
            raise StereoFrameworkError(message)
        return self.prepared

    def require_map(self) -> DisparityMap:
        """Return the disparity map; raise an error if it is not computed yet."""
        if self.disparity_map is None:
            raise StereoFrameworkError("the view has no disparity map yet")
        return self.disparity_map

    def _require_volume(self, name: str, volume: CostVolume | None) -> CostVolume:
        if volume is None:
            message = (
                f"the cost volume {name!r} of the other image was not kept; "
                f"declare that the stage reads it: @stage(..., other_needs={{{name!r}}})"
            )
            raise StereoFrameworkError(message)
        return volume

    # --- changes ----------------------------------------------------------------------

    def prepared_pair(self) -> Pair:
        """Return the pair after preprocessing of single images."""
        pair = self.require_pair()
        images = self.require_images()
        return Pair(
            images.reference, images.match, pair.search, pair.mask, pair.scene, images.frames
        )

    def keeping(self, names: Collection[str]) -> View:
        """Keep only the cost volumes with the given names, to save memory."""
        if self.volumes.by_name().keys() <= set(names):
            return self
        return replace(self, volumes=self.volumes.keeping(names))

    def floats(self, names: Collection[str]) -> View:
        """Convert the costs of the cost volumes with the given names to float32.

        The converted volumes stay in the view for the next stages.
        """
        volumes = self.volumes.by_name()
        dtypes = {volume.costs.dtype for name, volume in volumes.items() if name in names}
        if dtypes <= {np.dtype(np.float32)}:
            return self
        has_mask = self.pair is not None and self.mask is not None
        return replace(self, volumes=self.volumes.floats(names, has_mask=has_mask))

    def with_map(self, disparity_map: DisparityMap) -> View:
        """Return the view with a new disparity map.

        Pixels without an allowed disparity get the disparity NaN and the status
        INVALID.
        """
        invalid = self.require_pair().invalid
        if invalid is not None and invalid.any():
            disparity_map = replace(
                disparity_map,
                disparity=np.where(invalid, np.float32(np.nan), disparity_map.disparity),
                status=np.where(invalid, np.uint8(Status.INVALID), disparity_map.status),
            )
        return replace(self, disparity_map=disparity_map)

    def with_restored_cells(self, *, outside_image: bool) -> View:
        """Reset the costs of excluded cells and of cells outside the image.

        Parameters
        ----------
        outside_image : bool
            Whether to reset the costs of cells whose match lies outside the image.
            Excluded cells are always reset.

        Raises
        ------
        DataError
            The pair has a mask, and a cost is as large as the mark of excluded cells.
        """
        mask = self.mask
        volume = self.volume
        if mask is not None:
            _check_costs_below_marker(volume)
        volume = self._writeable_volume(changes_costs=mask is not None or outside_image)
        if outside_image:
            restore_outside_cost_inplace(volume)
        if mask is not None:
            mask.exclude(volume, volume.excluded_cost)
            volume.costs[self.require_pair().invalid] = 0

        # If the volume was copied, no other view shares the copy.
        is_shared = self.volumes.is_shared and volume is self.volume
        volumes = replace(self.volumes, current=volume, is_shared=is_shared, is_restored=True)
        return replace(self, volumes=volumes)

    def _writeable_volume(self, *, changes_costs: bool) -> CostVolume:
        """Return the current volume, or a copy if its array must stay unchanged."""
        volume = self.volume
        if self.mask is not None and volume.costs.dtype == np.uint8:
            # Costs of type uint8 use every value from 0 to 255. In uint16, a free value
            # marks excluded cells.
            return replace(volume, costs=volume.costs.astype(np.uint16))
        raw = self.volumes.raw
        is_raw = raw is not None and raw.costs is volume.costs
        must_stay = self.volumes.is_shared or not volume.costs.flags.writeable or is_raw
        if changes_costs and must_stay:
            return replace(volume, costs=volume.costs.copy())
        return volume

    def rows(self, top: int, bottom: int) -> View:
        """Return a view of the rows `top` to `bottom` - 1."""
        if (top, bottom) == (0, self.shape[0]):
            return self

        def cut(path: str, array: NDArray) -> NDArray:
            return array if is_table(path) else array[top:bottom]

        strip = map_arrays(self, cut)
        pair = None if self.pair is None else self.pair.rows(top, bottom)
        prepared = strip.prepared
        if prepared is not None and prepared.frames:
            frames = changed_frames(prepared.frames, lambda image: image[top:bottom])
            prepared = replace(prepared, frames=frames)
        return replace(strip, pair=pair, prepared=prepared)


def _check_costs_below_marker(volume: CostVolume) -> None:
    """Raise an error if a float32 cost is as large as the mark of excluded cells."""
    if volume.costs.dtype != np.float32:
        return
    largest = volume.costs.max(initial=0)
    if largest >= volume.excluded_cost:
        message = (
            f"the largest cost is {largest:g}; expected costs below {volume.excluded_cost:g}, "
            "because this value marks excluded cells if a pair has a mask"
        )
        raise DataError(message)


class BothSides(NamedTuple):
    """The results of a stage for both images of a pair.

    A result is a disparity map, (disparity, status) or (disparity, status, confidence).

    Parameters
    ----------
    reference, match : object
        Results for the reference image and the match image.
    """

    reference: Any
    match: Any


def kernel_array(array: NDArray) -> NDArray:
    """Return a read-only array in C order for compiled kernels.

    Numba compiles a kernel again for each memory layout of its arguments. Therefore,
    all arrays get the same layout. Only arrays in another order are copied.
    """
    ordered = np.ascontiguousarray(array)
    return read_only(ordered) if ordered.flags.writeable else ordered


def map_arrays(value: T, change: Callable[[str, NDArray], NDArray]) -> T:
    """Return an object in which a function has changed every array.

    Parameters
    ----------
    value : object
        Object with arrays, such as a view, a mapping or a tuple. Mappings are copied,
        so that a stage cannot change the mapping of a view.
    change : callable
        Function that takes a path and an array, and returns the new array. An example
        of a path is ``.volumes.current.costs``. An array at several paths is changed
        only once.
    """
    changed: dict[int, NDArray] = {}

    def once(path: str, array: NDArray) -> NDArray:
        if id(array) not in changed:
            changed[id(array)] = change(path, array)
        return changed[id(array)]

    result: T = _map_parts("", value, once)
    return result


def arrays_by_path(value: Any) -> dict[str, NDArray]:
    """Return all arrays in an object, such as a view, by their paths.

    A path consists of attributes, keys and indices. For example, the array
    ``view.volumes.current.costs`` has the path ``.volumes.current.costs``.

    Examples
    --------
    >>> costs = np.zeros((2, 3, 4), np.float32)
    >>> volumes = Volumes(current=CostVolume(costs, SearchRange(0, 3), 0))
    >>> list(arrays_by_path(volumes))
    ['.current.costs']
    >>> list(arrays_by_path((volumes, {"weights": np.zeros(5)})))
    ['[0].current.costs', "[1]['weights']"]
    """
    arrays: dict[str, NDArray] = {}

    def record(path: str, array: NDArray) -> NDArray:
        arrays[path] = array
        return array  # The object stays unchanged.

    _map_parts("", value, record)
    return arrays


def is_table(path: str) -> bool:
    """Return whether an array has no image rows, such as a table of penalties."""
    return path.endswith(".rho")


_CLASSES_WITH_ARRAYS = (
    View,
    PreparedImages,
    Volumes,
    DisparityMap,
    CostVolume,
    Labeling,
    Smoothness,
    SearchMask,
)


def _map_parts(path: str, value: Any, change: Callable[[str, NDArray], NDArray]) -> Any:
    """Apply `change` to all arrays in a part of an object."""
    if isinstance(value, np.ndarray):
        return change(path, value)
    if isinstance(value, _CLASSES_WITH_ARRAYS):
        changes = {}
        for name, part in vars(value).items():
            new_part = _map_parts(f"{path}.{name}", part, change)
            if new_part is not part:
                changes[name] = new_part
        return _with_parts(value, changes) if changes else value
    if isinstance(value, Mapping):
        return {key: _map_parts(f"{path}[{key!r}]", item, change) for key, item in value.items()}
    if type(value) is tuple:
        return tuple([_map_parts(f"{path}[{i}]", item, change) for i, item in enumerate(value)])
    return value


def _with_parts(value: T, parts: Mapping[str, Any]) -> T:
    """Return a copy of an object with other parts, which are not checked again.

    A sweep over small images would otherwise spend much of its time on these checks.

    Parameters
    ----------
    value : object
        Instance of a class in `_CLASSES_WITH_ARRAYS`.
    parts : mapping of str to object
        New values of attributes, by name.
    """
    if hasattr(value, "__post_init__"):
        changed: T = replace(value, **parts)  # type: ignore[type-var]
        return changed
    copied: T = object.__new__(type(value))
    vars(copied).update(vars(value), **parts)
    return copied


report_attributes_of_module(__name__)
