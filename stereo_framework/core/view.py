"""One view of a pair as it stands between two stages: what stages see of the other view and of auxiliary methods; and views put together from strips."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError, nearest
from stereo_framework.core.former_names import report_attributes
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import brief
from stereo_framework.core.scene import Image, Mask, Scene, SearchRange, read_only
from stereo_framework.core.volume import (
    CostVolume,
    Labeling,
    SearchMask,
    Smoothness,
    Status,
    restore_outside_cost_inplace,
)
from stereo_framework.kernels.threads import over_rows


@report_attributes
@brief
@dataclass(frozen=True, eq=False)
class View:
    """All that is known of one side of a pair so far. A step makes a new view of it; None = not known yet.

    Stages see the first five fields of the other view and of auxiliary methods' views; who calls a stage that names ``other`` makes one of the first three.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    search : SearchRange
        Of this view; its direction is the opposite of the other's.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        Higher = surer.
    volumes : mapping of str to CostVolume
        ``volume``, the present one, and ``raw``, that before aggregation, as long as a later step needs them; ``partial``, what the next stage made with
        fewer iterations.
    reference, match : ndarray
        The images, as preprocessing left them image by image.
    corrected : (ndarray, ndarray)
        The same two, as preprocessing of the pair left them.
    mask : SearchMask or None
    scene : Scene or None
    auxiliary : mapping of str to tuple of View
        Views by the auxiliary methods of this side and, where somebody needs it, of the other one.
    invalid : ndarray, bool, (rows, columns), or None
        Pixels without an open cell.
    smoothness : Smoothness or None
    levels : ndarray, int16, (rows, columns)
        Levels, -1 = none.
    data_costs : ndarray, (rows, columns)
        The costs of the levels.
    labelings : tuple of Labeling
        What the optimizer told, strip by strip.
    matched : object
        The match that a scheme put together.
    shared : bool
        Others hold the same volume, so that nobody writes into it.
    restored : bool
        Closed cells and those out of view were set after the last aggregation.
    """

    disparity: Any = None
    status: Any = None
    search: Any = None
    confidence: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    volumes: Mapping[str, CostVolume] = field(default_factory=dict)
    reference: Any = None
    match: Any = None
    corrected: Any = None
    mask: SearchMask | None = None
    scene: Scene | None = None
    auxiliary: Mapping[str, tuple[View, ...]] = field(default_factory=dict)
    invalid: Mask | None = None
    smoothness: Smoothness | None = None
    levels: Any = None
    data_costs: Any = None
    labelings: tuple[Labeling, ...] = ()
    matched: Any = None
    shared: bool = False
    restored: bool = False

    @staticmethod
    def of(
        pair: Pair,
        corrected: tuple[Image, Image] | None = None,
        auxiliary: Mapping[str, tuple[View, ...]] | None = None,
    ) -> View:
        """The view of a pair's reference image before anything was matched."""
        mask, search = pair.mask, pair.search
        invalid = None if mask is None else mask.invalid(search, pair.shape)
        images = [in_one_form(image) for image in (pair.reference, pair.match)]
        return View(
            search=search,
            reference=images[0],
            match=images[1],
            corrected=corrected or tuple(images),
            mask=mask,
            scene=pair.scene,
            auxiliary=auxiliary or {},
            invalid=invalid,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = (self.reference if self.disparity is None else self.disparity).shape[:2]
        return rows, columns

    @property
    def pair(self) -> Pair:
        """The images and where to search."""
        return Pair(self.reference, self.match, self.search, self.mask, self.scene)

    def exchanged(self) -> View:
        """The other view before anything was matched."""
        auxiliary = {name: views[::-1] for name, views in self.auxiliary.items()}
        return View.of(self.pair.exchanged(), self.corrected[::-1], auxiliary)

    @property
    def volume(self) -> CostVolume:
        """The present volume; after the optimizer that which it decided on."""
        return self._kept("volume")

    @property
    def raw(self) -> CostVolume:
        """The volume before aggregation."""
        return self._kept("raw")

    @property
    def partial(self) -> CostVolume | None:
        """What the next stage made with fewer iterations."""
        return self.volumes.get("partial")

    def _kept(self, name: str) -> CostVolume:
        if name not in self.volumes:
            raise StereoFrameworkError(
                f"the other view's {name} was not kept; declare it: @stage(..., other_needs={{{name!r}}})"
            )
        return self.volumes[name]

    def keeping(self, names: Collection[str]) -> View:
        """The same with those of its volumes alone."""
        if self.volumes.keys() <= set(names):
            return self
        return replace(
            self, volumes={name: volume for name, volume in self.volumes.items() if name in names}
        )

    def floats(self, names: Collection[str]) -> View:
        """The same with volumes of float32 costs. What is converted stays so: the next stage would convert it again."""
        # The raw costs may be the present ones.
        made = {
            id(volume.costs): volume.floats()
            for name, volume in self.volumes.items()
            if name in names
        }
        if all(
            volume.costs.dtype == np.float32
            for name, volume in self.volumes.items()
            if name in names
        ):
            return self
        return replace(
            self,
            volumes={
                name: made.get(id(volume.costs), volume) for name, volume in self.volumes.items()
            },
        )

    def known(self, disparity: Any, status: Any) -> View:
        """The same with a map. Pixels without an open cell stay without an estimate."""
        if self.invalid is not None and self.invalid.any():
            disparity = np.where(self.invalid, np.float32(np.nan), disparity)
            status = np.where(self.invalid, np.uint8(Status.INVALID), status)
        return replace(self, disparity=disparity, status=status)

    def restored_cells(self, *, out_of_view: bool) -> View:
        """The same with the cells set that take no part: closed ones and, after an aggregation has mixed them with others, those out of view."""
        volume, mask = self.volume, self.mask
        if (
            mask is not None
            and volume.costs.dtype == np.float32
            and (most := volume.costs.max(initial=0)) >= volume.closed
        ):
            raise DataError(
                f"costs up to {most:g}; beside masks costs stay below {volume.closed:g}, which marks closed cells"
            )
        if mask is not None and volume.costs.dtype == np.uint8:
            volume = replace(volume, costs=volume.costs.astype(np.uint16))
        elif (mask is not None or out_of_view) and (
            self.shared
            or not volume.costs.flags.writeable
            or ("raw" in self.volumes and self.raw.costs is volume.costs)
        ):
            volume = replace(volume, costs=volume.costs.copy())
        if out_of_view:
            restore_outside_cost_inplace(volume)
        if mask is not None:
            mask.close(volume, volume.closed)
            volume.costs[self.invalid] = 0
        # What was written into is no longer anybody else's.
        shared = self.shared and volume is self.volume
        return replace(
            self, volumes={**self.volumes, "volume": volume}, shared=shared, restored=True
        )

    def rows(self, top: int, bottom: int) -> View:
        """Some rows of all that is known."""
        if (top, bottom) == (0, self.shape[0]):
            return self
        known: dict[int, NDArray] = {}

        def cut(name: str, array: NDArray) -> NDArray:
            # The raw costs may be the present ones.
            return (
                array if name.endswith(".rho") else known.setdefault(id(array), array[top:bottom])
            )

        found: View = mapped("", self, cut)
        return found


def in_one_form(array: NDArray) -> NDArray:
    """An array as kernels get it, so that each compiles for one kind: in C order and read-only; itself, or a view where it is in C order."""
    found = np.ascontiguousarray(array)
    return read_only(found) if found.flags.writeable else found


def mapped(name: str, value: Any, change: Callable[[str, NDArray], NDArray]) -> Any:
    """A datum of a stage with all its arrays changed.

    Parameters
    ----------
    name : str
    value : object
        An array, what consists of some, or anything else, which stays as it is.
    change : callable
        Takes the name of an array's place, ``other.confidence['margin']``, and the array.
    """
    if isinstance(value, np.ndarray):
        return change(name, value)
    if isinstance(value, View | CostVolume | Smoothness | SearchMask):
        parts = {part: mapped(f"{name}.{part}", item, change) for part, item in vars(value).items()}
        return replace(
            value,
            **{part: item for part, item in parts.items() if item is not getattr(value, part)},
        )
    if isinstance(value, Mapping):
        return {key: mapped(f"{name}[{key!r}]", item, change) for key, item in value.items()}
    if type(value) is tuple and value:
        return tuple([mapped(f"{name}[{i}]", item, change) for i, item in enumerate(value)])
    return value


class Strips:
    """A view that is put together from those of its strips.

    Parameters
    ----------
    before : View
        That which the strips are made of.

    Attributes
    ----------
    view : View
        What is known so far.
    """

    def __init__(self, before: View):
        self.before, self.view = before, before
        self._old: dict[str, NDArray] = {}
        mapped("", before, self._old.setdefault)
        self._whole = dict(self._old)

    def add(self, strip: View, start: int) -> None:
        """Write what was made of a strip, from its first row on, into whole arrays; where nothing was changed, into those from before."""
        if strip.shape == self.before.shape:
            self.view = strip
            return
        known: dict[int, NDArray] = {}

        def joined(name: str, part: NDArray) -> NDArray:
            # The raw costs may be the present ones.
            if not name.endswith(".rho") and id(part) not in known:
                known[id(part)] = self._whole[name] = self._joined(name, part, start)
            return known.get(id(part), part)

        labelings = self.before.labelings or (*self.view.labelings, *strip.labelings)
        self.view = replace(mapped("", strip, joined), labelings=labelings)

    def _joined(self, name: str, part: NDArray, start: int) -> NDArray:
        """The whole array of a name, with the part in its place."""
        whole, place = self._whole.get(name), slice(start, start + len(part))
        # The same view of the same memory.
        if whole is not None and part.__array_interface__ == whole[place].__array_interface__:
            return whole
        if whole is None or whole is self._old.get(name):
            before, whole = whole, np.empty((self.before.shape[0], *part.shape[1:]), part.dtype)
            if before is not None and start:
                whole[:start] = before[:start]
        whole[place] = part
        return whole


def one_of(parameter: str, auxiliary: Mapping[str, View], name: str | None) -> View:
    """Return the view of an auxiliary method: of the named one, or of the only one.

    Parameters
    ----------
    parameter : str
        As messages name it, ``radiometric_field.initial``.
    auxiliary : mapping of str to View
    name : str or None

    Raises
    ------
    ParameterError
        There is no such auxiliary method, or `name` is None and there are several.
    """
    if name is None and len(auxiliary) == 1:
        return next(iter(auxiliary.values()))
    if name is None:
        raise ParameterError(
            f"{parameter}: names no auxiliary method, and there are several; allowed: {', '.join(sorted(auxiliary))}"
        )
    if name not in auxiliary:
        raise ParameterError(
            f"{parameter}: no auxiliary method {name!r}; {nearest(name, auxiliary, kind='auxiliary methods')}"
        )
    return auxiliary[name]


def differences(
    reference: Image, match: Image, search: SearchRange, initial: View
) -> tuple[Mask, NDArray[np.float32]]:
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
        matched = ~np.isnan(initial.disparity[some]) & (initial.status[some] == Status.MATCHED)
        places = columns - search.direction * np.rint(
            np.where(matched, initial.disparity[some], 0)
        ).astype(np.int64)
        known[some] = matched & (places >= 0) & (places < width)
        places = np.clip(places, 0, width - 1) + np.arange(stop - start)[:, None] * width
        met = (
            right[some]
            .reshape(places.size, -1)
            .take(places.reshape(-1), axis=0)
            .reshape(left[some].shape)
        )
        np.subtract(left[some], met, dtype=np.float32, out=found[some])

    over_rows(run, rows, 8 * left.size)
    return known, found


class Views(NamedTuple):
    """What a matcher returns that matches both views at once; each is a disparity map, (disparity, status) or (disparity, status, confidence)."""

    reference: Any
    match: Any
