"""The Middlebury sets; ETH3D, which has their folder layout; and single pairs that come with other programs.

Of the sets of few scenes, middlebury2001 and middlebury2003, and of the single pairs the files, search ranges and encodings are listed in ``listed.yaml`` beside
this file. Version 2 of the Middlebury benchmark is tsukuba, venus, teddy and cones of the first two with its own masks, nonocc, all and disc, which all scenes
of the two get where these are found. The masks leave out the border, so the benchmark's scenes have no border of their own.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import DataError
from stereo_framework.core.package_files import package_yaml
from stereo_framework.core.scene import Calibration, Disparity, Scene, SearchRange
from stereo_framework.datasets.registry import dataset, frames_of, truths_of
from stereo_framework.io import read_bytes, read_calibration, read_disparity, read_mask
from stereo_framework.io.numbers import parse_whole_number

_BENCHMARK = "middlebury-v2"
_MASKS = f"{_BENCHMARK}/masks"
"""Folder of the benchmark's masks below a data root. A mask pixel counts only when it is 255."""
_OF_BENCHMARK = {
    "cones": "middlebury2003",
    "teddy": "middlebury2003",
    "tsukuba": "middlebury2001",
    "venus": "middlebury2001",
}


@functools.cache
def _listed() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    found: dict[str, Any] = package_yaml("datasets/listed.yaml")
    return found


def _names(folder: Path) -> list[str]:
    """Names of the listed scenes that have a folder."""
    return [name for name in _listed()[folder.name] if _place(folder, name).is_dir()]


def _place(folder: Path, name: str) -> Path:
    return folder / _listed()[folder.name][name].get("folder", name)


@dataset("middlebury2001", names=_names)
@dataset("middlebury2003", names=_names)
@dataset("kitti", names=_names)
@dataset("motorcycle", names=_names)
def listed(folder: Path, name: str) -> Scene:
    """A scene by its name; its files are read on first use."""
    entry, place, masks = (
        dict(_listed()[folder.name][name]),
        _place(folder, name),
        folder.parent / _MASKS / name,
    )
    files, match, sparse = entry.pop("frames"), entry.pop("match"), entry.pop("sparse", False)
    truths, encoding = entry.pop("truths"), entry.pop("truth", {})
    entry.pop("folder", None)
    there = [
        i for i, file in enumerate(files) if not sparse or i in match or (place / file).is_file()
    ]
    entry["search"] = SearchRange(*entry["search"])
    if "calibration" in entry:
        entry["calibration"] = Calibration(*entry["calibration"])
    return Scene(
        name,
        frames_of(place, {i: files[i] for i in there}),
        reference_index=there.index(match[0]),
        match_index=there.index(match[1]),
        truths={
            (there.index(a), there.index(b)): partial(read_disparity, place / file, **encoding)
            for file, (a, b) in truths.items()
        },
        masks={
            m: partial(read_mask, masks / f"{m}.png")
            for m in ("nonocc", "all", "disc")
            if masks.is_dir()
        },
        **entry,
    )


def _of_benchmark(folder: Path) -> Iterator[str]:
    """Names of the scenes whose images and masks both exist."""
    for name, source in _OF_BENCHMARK.items():
        if (
            _place(folder.parent / source, name).is_dir()
            and (folder.parent / _MASKS / name).is_dir()
        ):
            yield name


@dataset(_BENCHMARK, names=_of_benchmark, protocol=_BENCHMARK)
def middlebury_v2(folder: Path, name: str) -> Scene:
    """A scene of the benchmark by its name; its files are read on first use."""
    return replace(listed(folder.parent / _OF_BENCHMARK[name], name), border=0)


# --- The sets of 2005 and 2006 ----------------------------------------------------------------------------------------

_SIZES = {"": 3, "ThirdSize/": 3, "HalfSize/": 2, "FullSize/": 1}
"""How many times smaller than full size a scene is, by the folder in which it lies."""
_FULL_ROWS = 1110
_FULL_SEARCH = 240
"""Number of disparities searched, in full-size pixels; it corresponds to the 80 that studies on these sets use in third size."""


def _names_of_sizes(folder: Path) -> list[str]:
    """Names of the scenes, ``Art`` or ``HalfSize/Art``."""
    return [f"{size}{name}" for size in _SIZES for name in _in_one_size(folder / size)]


@dataset("middlebury2005", names=_names_of_sizes)
@dataset("middlebury2006", names=_names_of_sizes)
def structured_light(folder: Path, name: str) -> Scene:
    """A scene by its name; its files are read on first use.

    2005: Art, Books, Dolls, Laundry, Moebius and Reindeer; without truth: Computer, Drumsticks and Dwarves. 2006: Aloe, Baby1 .. 3, Bowling1 and 2,
    Cloth1 .. 4 and eleven more. Cite Scharstein & Pal 2007; Hirschmueller & Scharstein 2007.

    There are seven views, view0.png .. view6.png, in steps of 40 mm; the reference is view1, the match view5, and both have a truth.
    There are three sizes: full (1110 rows), half and a third; a scene directly below the data set's folder is of third size,
    as are those below ``ThirdSize``; ``HalfSize`` and ``FullSize`` hold the others, as on the publisher's site.
    Where a download holds all illuminations and exposures, each is a scene of its own: ``Aloe/Illum1/Exp0``.

    Grey values of the truth are full-size pixels, so disparities are grey / 3, / 2 and / 1; 0 = unknown. They fit the images as
    they are. ``dmin.txt`` holds, in full-size pixels, how much the cropping of the images reduced every disparity: it is only needed for
    depths (`doffs`). Focal length, 3740 full-size pixels, and baseline, 160 mm, are those of the publisher's page; the
    calibration of the scene ArtL of the third benchmark, the same images, agrees.
    """
    reduction = _SIZES.get(name.partition("/")[0] + "/", 3)
    images = folder / name
    scene = images.parents[1] if images.parent.name.startswith("Illum") else images
    views = [i for i in range(7) if i in (1, 5) or (images / f"view{i}.png").is_file()]
    reference, match = views.index(1), views.index(5)
    truths = {(reference, match): scene / "disp1.png", (match, reference): scene / "disp5.png"}
    return Scene(
        name,
        frames_of(images, {i: f"view{i}.png" for i in views}),
        reference,
        match,
        SearchRange(0, _FULL_SEARCH // reduction - 1),
        truths_of(truths, partial(_truth, reduction=reduction)),
        calibration=_calibration(scene / "dmin.txt", reduction),
        reduction=reduction,
        grey_levels=reduction,
    )


def _in_one_size(folder: Path) -> list[str]:
    views = [*folder.glob("*/view1.png"), *folder.glob("*/Illum*/Exp*/view1.png")]
    return sorted(view.parent.relative_to(folder).as_posix() for view in views)


def _truth(file: Path, reduction: int) -> Disparity:
    truth = read_disparity(file, scale=reduction)
    # In the folder of another size every disparity would be wrong by a factor, without any other sign of it.
    if len(truth) != _FULL_ROWS // reduction:
        raise DataError(
            f"{file}: has {len(truth)} rows; expected {_FULL_ROWS // reduction} in this folder, for the third size has 370 rows, "
            "HalfSize 555, FullSize 1110"
        )
    return truth


def _calibration(file: Path, reduction: int) -> Calibration | None:
    if not file.is_file():
        return None
    text = read_bytes(file)[:40].decode("latin-1").strip()
    try:
        dmin = parse_whole_number(text)
    except ValueError:
        raise DataError(f"{file}: {text!r} is not a whole number of pixels") from None
    return Calibration(3740 / reduction, 160.0, dmin / reduction)


# --- Version 3 of the benchmark, and ETH3D ----------------------------------------------------------------------------

_REDUCTIONS = {"Q": 4, "H": 2, "F": 1}
_HALF_WEIGHT = (
    *("PianoL", "Playroom", "Playtable", "Shelves", "Vintage"),
    *("ClassE", "DjembL", "Hoops", "Livgrm", "Nkuba", "Stairs"),
)
"""The scenes that count half in the averages of Middlebury's benchmark, training and test."""

_LEVELS = 64
"""Disparities searched in ETH3D."""


def _names_of_folders(*folders: str) -> Callable[[Path], list[str]]:
    """A function that lists the scenes in some folders of a data set: folder by folder, sorted."""
    return lambda root: [
        f"{folder}/{image.parent.name}"
        for folder in folders
        for image in sorted((root / folder).glob("*/im0.png"))
    ]


@dataset(
    "middlebury-v3",
    names=_names_of_folders(
        *(f"{part}{size}" for part in ("training", "test") for size in _REDUCTIONS)
    ),
    protocol="middlebury-v3",
)
def middlebury_v3(folder: Path, name: str) -> Scene:
    """A scene of version 3 (Scharstein et al. 2014) by its name: 15 training scenes with truth and 15 test scenes, in three sizes.

    The folders are those of the publisher's archives: ``trainingQ/Pipes`` and ``testQ/Hoops`` in quarter size, H for half, F for full size. Other
    illuminations and exposures are scenes of their own (ArtL, MotorcycleE). The search range is 0..ndisp-1 of calib.txt.
    """
    part, _, scene = name.partition("/")
    weight = 0.5 if scene in _HALF_WEIGHT else 1.0
    return replace(_calibrated(folder / name), reduction=_REDUCTIONS[part[-1]], weight=weight)


@dataset(
    "eth3d",
    names=_names_of_folders("two_view_training", "two_view_test", "two_view_testing"),
    protocol="eth3d",
)
def eth3d(folder: Path, name: str) -> Scene:
    """A scene of ETH3D (Schoeps et al. 2017) by its name: 27 training pairs with truth and 20 test pairs, grey.

    The folders are those of the publisher's archives, ``two_view_training/delivery_area_1l`` and ``two_view_test/...``; the truth lies with
    the images or below ``two_view_training_gt``, from an archive of its own. The ndisp of these calib.txt files is just the image width, which is no
    useful bound; 0..63 pixels are searched, as in studies on this set.
    """
    part, _, scene = name.partition("/")
    found = _calibrated(folder / name, folder / f"{part}_gt" / scene)
    return replace(
        found, search=SearchRange(0, min(int(found.largest_disparity or _LEVELS), _LEVELS) - 1)
    )


def _calibrated(folder: Path, *others: Path) -> Scene:
    """The scene in a folder; truth and mask are looked for in others, too.

    A folder holds im0.png, im1.png and calib.txt, and, where known, disp0GT.pfm and mask0nocc.png, in which 255 marks pixels that count. The truth of
    im1 is disp1GT.pfm; other downloads of the same scenes call the truths disp0.pfm and disp1.pfm. The calib.txt is read at once, everything else on first use.
    """

    def first(*names: str) -> Path | None:
        files = (place / name for place in (folder, *others) for name in names)
        return next((file for file in files if file.is_file()), None)

    calibration, ndisp, whole = read_calibration(folder / "calib.txt")
    mask = first("mask0nocc.png")
    return Scene(
        folder.name,
        frames_of(folder, {0: "im0.png", 1: "im1.png"}, calibration),
        search=SearchRange(0, ndisp - 1),
        truths=truths_of(
            {(0, 1): first("disp0GT.pfm", "disp0.pfm"), (1, 0): first("disp1GT.pfm", "disp1.pfm")}
        ),
        masks={"nonocc": partial(read_mask, mask)} if mask else {},
        calibration=calibration,
        largest_disparity=ndisp,
        whole_truth=whole,
    )
