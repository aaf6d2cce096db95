"""Everything that is known about one image of a pair at some point of a method.

A step of a method receives a `View` and returns a new one. The parts of a view that do
not exist yet are None. A stage gets the data that it names from its view: for example,
the data ``volume`` is `View.volume`.
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
"""Names of the data that are complete cost volumes."""


@dataclass(frozen=True, eq=False)
class PreparedImages:
    """The two images of a view after preprocessing.

    Parameters
    ----------
    reference, match : ndarray, (rows, columns) or (rows, columns, 3)
        Images after the stages that change each image alone.
    corrected : (ndarray, ndarray)
        Both images, reference first, after the stages that change the two images of a
        pair together as well, such as an alignment of rows. Matching costs get these
        images. A correction may move pixels, so refinements, which compare an image
        with the disparity map, get the images without it.
    """

    reference: Image
    match: Image
    corrected: tuple[Image, Image]

    @staticmethod
    def of(reference: Image, match: Image) -> PreparedImages:
        """Return images without a correction of the pair."""
        images = kernel_array(reference), kernel_array(match)
        return PreparedImages(*images, corrected=images)

    def exchanged(self) -> PreparedImages:
        """Return the images of the other view."""
        return PreparedImages(self.match, self.reference, self.corrected[::-1])


@dataclass(frozen=True, eq=False)
class Volumes:
    """The cost volumes of a view, and the smoothness term of its optimizer.

    A pipeline removes a volume as soon as no later step reads it.

    Parameters
    ----------
    current : CostVolume or None
        Volume that the last stage returned. After the optimizer, it is the volume that
        the optimizer received or returned. Stages name it ``volume``.
    raw : CostVolume or None
        Volume of the matching cost, before aggregation.
    partial : CostVolume or None
        Volume that the next stage computed with fewer iterations.
    smoothness : Smoothness or None
    is_shared : bool
        True if another view has the current volume too. Then no step writes into it.
    is_restored : bool
        True if excluded cells and cells outside the image were reset after the last
        aggregation.
    """

    current: CostVolume | None = None
    raw: CostVolume | None = None
    partial: CostVolume | None = None
    smoothness: Smoothness | None = None
    is_shared: bool = False
    is_restored: bool = False

    def by_name(self) -> dict[str, CostVolume]:
        """Return the existing volumes by the names that stages use."""
        volumes = {"volume": self.current, "raw": self.raw, "partial": self.partial}
        return {name: volume for name, volume in volumes.items() if volume is not None}

    def keeping(self, names: Collection[str]) -> Volumes:
        """Return the volumes with these names, without the others."""
        return replace(
            self,
            current=self.current if "volume" in names else None,
            raw=self.raw if "raw" in names else None,
            partial=self.partial if "partial" in names else None,
        )

    def floats(self, names: Collection[str]) -> Volumes:
        """Return the volumes with float32 costs in those with these names."""
        # The current and the raw volume may have the same costs. They are converted
        # once and remain the same array.
        converted: dict[int, CostVolume] = {}
        for name, volume in self.by_name().items():
            if name in names and id(volume.costs) not in converted:
                converted[id(volume.costs)] = volume.floats()

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
    """A disparity map with everything that is known about its pixels.

    Stages get such an object for each auxiliary method.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels. NaN means that a pixel has no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    search : SearchRange, optional
        Search range of the map. Its direction is 1 if the map belongs to the left
        image, and -1 if it belongs to the right image.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Confidence maps by the name of the measure; higher values are more certain.
    labeling : Labeling, optional
        Levels that the optimizer chose, and their data costs.
    """

    disparity: Disparity
    status: StatusMap
    search: SearchRange | None = None
    confidence: Mapping[str, ConfidenceMap] = field(default_factory=dict)
    labeling: Labeling | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.disparity.shape
        return rows, columns


@report_attributes
@brief
@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """Everything that is known about one image of a pair at some point of a method.

    A stage that names the data ``other`` gets the view of the other image of the pair.
    It may read the properties `disparity`, `status`, `search` and `confidence`, and the
    volumes that it declares with ``other_needs``.

    Parameters
    ----------
    pair : Pair or None
        The matching problem as seen from this image. None if only a disparity map is
        known, for example in a direct call of a stage.
    prepared : PreparedImages or None
    volumes : Volumes
    disparity_map : DisparityMap or None
        None before the optimizer or the matcher.
    auxiliary : mapping of str to tuple of DisparityMap
        Disparity maps of the auxiliary methods by name: that of this image and, if a
        later step reads it, that of the other image.
    estimate : Estimate or None
        Estimate that a scheme returned. It is complete, so the other parts are not
        read.
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
        """Return the view of a pair's reference image before anything is matched.

        Parameters
        ----------
        pair : Pair
        prepared : PreparedImages, optional
            Default: the images of the pair without preprocessing.
        auxiliary : mapping of str to tuple of DisparityMap, optional
        """
        if prepared is None:
            prepared = PreparedImages.of(pair.reference, pair.match)
        return View(pair=pair, prepared=prepared, auxiliary=auxiliary or {})

    def exchanged(self) -> View:
        """Return the view of the other image before anything is matched."""
        auxiliary = {name: maps[::-1] for name, maps in self.auxiliary.items()}
        return View.of(
            self.require_pair().exchanged(), self.require_images().exchanged(), auxiliary
        )

    # --- data of stages ---------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        if self.disparity_map is not None:
            return self.disparity_map.shape
        return self.require_pair().shape

    @property
    def reference(self) -> Image:
        """The image of this view, after preprocessing of each image alone."""
        return self.require_images().reference

    @property
    def match(self) -> Image:
        """The other image, after preprocessing of each image alone."""
        return self.require_images().match

    @property
    def corrected(self) -> tuple[Image, Image]:
        """Both images, after preprocessing of the pair as well."""
        return self.require_images().corrected

    @property
    def search(self) -> SearchRange:
        """The search range of this view."""
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
        """The pixels and disparities that take part; None if all do."""
        return self.require_pair().mask

    @property
    def scene(self) -> Scene | None:
        """The scene of the pair."""
        return self.require_pair().scene

    @property
    def volume(self) -> CostVolume:
        """The current volume; after the optimizer, that of the optimizer."""
        return self._require_volume("volume", self.volumes.current)

    @property
    def raw(self) -> CostVolume:
        """The volume before aggregation."""
        return self._require_volume("raw", self.volumes.raw)

    @property
    def partial(self) -> CostVolume | None:
        """The volume that the next stage computed with fewer iterations."""
        return self.volumes.partial

    @property
    def smoothness(self) -> Smoothness | None:
        """The smoothness term of the method."""
        return self.volumes.smoothness

    @property
    def disparity(self) -> Disparity:
        """The disparities in pixels; NaN means that a pixel has no estimate."""
        return self.require_map().disparity

    @property
    def status(self) -> StatusMap:
        """The values of `Status` of all pixels."""
        return self.require_map().status

    @property
    def confidence(self) -> Mapping[str, ConfidenceMap]:
        """The confidence maps by the name of the measure."""
        return self.require_map().confidence

    def require_pair(self) -> Pair:
        """Return the pair, or raise an error if only a disparity map is known."""
        if self.pair is None:
            raise StereoFrameworkError("the view has no pair, because only its map is known")
        return self.pair

    def require_images(self) -> PreparedImages:
        """Return the images, or raise an error if only a disparity map is known."""
        if self.prepared is None:
            raise StereoFrameworkError("the view has no images, because only its map is known")
        return self.prepared

    def require_map(self) -> DisparityMap:
        """Return the disparity map, or raise an error if there is none yet."""
        if self.disparity_map is None:
            raise StereoFrameworkError("the view has no disparity map yet")
        return self.disparity_map

    def _require_volume(self, name: str, volume: CostVolume | None) -> CostVolume:
        if volume is None:
            message = (
                f"the other view's {name} was not kept; "
                f"declare it: @stage(..., other_needs={{{name!r}}})"
            )
            raise StereoFrameworkError(message)
        return volume

    # --- changes ----------------------------------------------------------------------

    def prepared_pair(self) -> Pair:
        """Return the pair with the images after preprocessing of each image alone."""
        pair = self.require_pair()
        return Pair(self.reference, self.match, pair.search, pair.mask, pair.scene)

    def keeping(self, names: Collection[str]) -> View:
        """Return the view without the volumes that have other names."""
        if self.volumes.by_name().keys() <= set(names):
            return self
        return replace(self, volumes=self.volumes.keeping(names))

    def floats(self, names: Collection[str]) -> View:
        """Return the view with float32 costs in the volumes with these names.

        The volumes remain float32, because the next stage would convert them again.
        """
        volumes = self.volumes.by_name()
        dtypes = {volume.costs.dtype for name, volume in volumes.items() if name in names}
        if dtypes <= {np.dtype(np.float32)}:
            return self
        return replace(self, volumes=self.volumes.floats(names))

    def with_map(self, disparity_map: DisparityMap) -> View:
        """Return the view with a disparity map.

        Pixels without an allowed cell have no estimate and the status INVALID, whatever
        the map contains.
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
        """Return the view with all cells reset that take no part in the optimization.

        Parameters
        ----------
        outside_image : bool
            If True, the cells whose match lies outside the image get the outside cost
            again, with which an aggregation has mixed other costs. Excluded cells are
            reset in any case.

        Raises
        ------
        DataError
            There is a mask, and a cost is as large as the marker of excluded cells.
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

        # A copy is not shared with another view.
        is_shared = self.volumes.is_shared and volume is self.volume
        volumes = replace(self.volumes, current=volume, is_shared=is_shared, is_restored=True)
        return replace(self, volumes=volumes)

    def _writeable_volume(self, *, changes_costs: bool) -> CostVolume:
        """Return the current volume, or a copy of it if its costs must not change."""
        volume = self.volume
        if self.mask is not None and volume.costs.dtype == np.uint8:
            # No value of uint8 is free to mark excluded cells.
            return replace(volume, costs=volume.costs.astype(np.uint16))
        raw = self.volumes.raw
        is_raw = raw is not None and raw.costs is volume.costs
        must_stay = self.volumes.is_shared or not volume.costs.flags.writeable or is_raw
        if changes_costs and must_stay:
            return replace(volume, costs=volume.costs.copy())
        return volume

    def rows(self, top: int, bottom: int) -> View:
        """Return the rows `top` to `bottom` - 1 of all arrays of the view."""
        if (top, bottom) == (0, self.shape[0]):
            return self

        def cut(path: str, array: NDArray) -> NDArray:
            return array if is_table(path) else array[top:bottom]

        strip = map_arrays(self, cut)
        pair = None if self.pair is None else self.pair.rows(top, bottom)
        return replace(strip, pair=pair)


def _check_costs_below_marker(volume: CostVolume) -> None:
    """Refuse float32 costs that are as large as the marker of excluded cells."""
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
    """The results that a stage returns for both images of a pair at once.

    Each result is a disparity map, (disparity, status) or (disparity, status,
    confidence).

    Parameters
    ----------
    reference, match : object
        Result for the reference image, and result for the other image.
    """

    reference: Any
    match: Any


def kernel_array(array: NDArray) -> NDArray:
    """Return an array in the form that kernels take: in C order and read-only.

    A kernel is compiled for each form in which it gets an array, so all arrays have one
    form. The result is the array itself or shares its memory if the array is in C
    order.
    """
    ordered = np.ascontiguousarray(array)
    return read_only(ordered) if ordered.flags.writeable else ordered


def map_arrays(value: T, change: Callable[[str, NDArray], NDArray]) -> T:
    """Return a datum of a stage with a function applied to all its arrays.

    Parameters
    ----------
    value : object
        An array, a view or another object with arrays, or a mapping or tuple of these.
        Any other object is returned as it is.
    change : callable
        Takes the path of an array in the datum, such as ``.volumes.current.costs``, and
        the array. An array that occurs several times is changed once, so that the
        result shares it as well.
    """
    changed: dict[int, NDArray] = {}

    def once(path: str, array: NDArray) -> NDArray:
        if id(array) not in changed:
            changed[id(array)] = change(path, array)
        return changed[id(array)]

    result: T = _map_parts("", value, once)
    return result


def arrays_by_path(value: Any) -> dict[str, NDArray]:
    """Return all arrays of a datum by the paths that `map_arrays` uses."""
    arrays: dict[str, NDArray] = {}

    def record(path: str, array: NDArray) -> NDArray:
        arrays[path] = array
        return array

    _map_parts("", value, record)
    return arrays


def is_table(path: str) -> bool:
    """Return whether the array at a path is a table, without rows of an image."""
    return path.endswith(".rho")


_WITH_ARRAYS = (
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
    """Apply `change` to the arrays of a value, whose path in the datum is given."""
    if isinstance(value, np.ndarray):
        return change(path, value)
    if isinstance(value, _WITH_ARRAYS):
        changes = {}
        for name, part in vars(value).items():
            new_part = _map_parts(f"{path}.{name}", part, change)
            if new_part is not part:
                changes[name] = new_part
        return replace(value, **changes) if changes else value
    if isinstance(value, Mapping):
        return {key: _map_parts(f"{path}[{key!r}]", item, change) for key, item in value.items()}
    if type(value) is tuple:
        return tuple([_map_parts(f"{path}[{i}]", item, change) for i, item in enumerate(value)])
    return value


report_attributes_of_module(__name__)
