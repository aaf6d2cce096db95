"""Data sets that are pairs of files in a publisher's folders: KITTI, SceneFlow, Spring, DrivingStereo, InStereo2K, Booster and US3D.

Each is added by `dataset`, as anybody's own is. The folders below a data root are those of the publishers' archives.

Of KITTI there are training pairs with truth and test pairs without. 2012 (Geiger et al. 2012): 194 and 195 pairs, in grey, or in colour if only that is
available. 2015 (Menze & Geiger 2015): 200 and 200 pairs, in colour.

Its folders are ``training/image_2/000000_10.png`` and so on; only frames _10 have a truth. It lies in
disp_occ, and that of the non-occluded pixels alone in disp_noc, as 16-bit PNG files: grey / 256, 0 = unknown. The publisher limits disparities
to 256 pixels and no closer bound is known, so 0..255 are searched. Calibrations come in an archive of their own; depths are
in metres.

Masks: nonocc, where disp_noc is known. For 2015 also: background and foreground, where disp_occ is known and obj_map is 0 or the number of a moving
object; background_nonocc and foreground_nonocc, the same where disp_noc is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError, MissingExtraError, install_command
from stereo_framework.core.scene import Disparity, Mask, Scene, SearchRange
from stereo_framework.datasets.registry import dataset, frames_of, truths_of
from stereo_framework.datasets.scene_file import pair_scene
from stereo_framework.io import read_disparity, read_grey, read_kitti_calibration

_TESTING = "testing/"
_GREY_OR_COLOUR = (("image_0", "image_1", 0, 1), ("colored_0", "colored_1", 2, 3))
"""Folders of the left and right images with the numbers of their cameras; the first pair that exists is taken."""


def _numbered(*folders: str) -> Callable[[Path], list[str]]:
    """A function that lists ``000000_10`` and so on for the training pairs, ``testing/000000_10`` and so on for the test pairs."""

    def names(folder: Path) -> list[str]:
        found = []
        for prefix, part in (("", "training"), (_TESTING, "testing")):
            images = (
                image for left in folders for image in (folder / part / left).glob("*_10.png")
            )
            found += [prefix + stem for stem in sorted({image.stem for image in images})]
        return found

    return names


@dataset("kitti2012", names=_numbered("image_0", "colored_0"), protocol="kitti2012")
def kitti2012(folder: Path, name: str) -> Scene:
    """A scene by its name; its calibration is read at once, everything else on first use."""
    return _scene(folder, name, _GREY_OR_COLOUR, "calib", "disp_occ", "disp_noc")


@dataset("kitti2015", names=_numbered("image_2"), protocol="kitti2015")
def kitti2015(folder: Path, name: str) -> Scene:
    """A scene by its name; its calibration is read at once, everything else on first use."""
    return _scene(
        folder,
        name,
        (("image_2", "image_3", 2, 3),),
        "calib_cam_to_cam",
        "disp_occ_0",
        "disp_noc_0",
    )


def _scene(
    folder: Path,
    name: str,
    pairs: Sequence[tuple[str, str, int, int]],
    calibrations: str,
    truth: str,
    nonocc_truth: str,
) -> Scene:
    """A scene of one of the two sets: the folders of its images, calibrations, and truths of all and of the non-occluded pixels."""
    part = folder / ("testing" if name.startswith(_TESTING) else "training")
    file = f"{name.removeprefix(_TESTING)}.png"
    left, right, *cameras = next(pair for pair in pairs if (part / pair[0] / file).is_file())
    calibration_file = part / calibrations / f"{file.partition('_')[0]}.txt"
    calibration = (
        read_kitti_calibration(calibration_file, *cameras) if calibration_file.is_file() else None
    )
    truths = {"": part / truth / file, "_nonocc": part / nonocc_truth / file}
    there = {suffix: truth for suffix, truth in truths.items() if truth.is_file()}
    masks: dict[str, Callable[[], Mask]] = (
        {"nonocc": partial(_known, there["_nonocc"])} if "_nonocc" in there else {}
    )
    objects = part / "obj_map" / file
    if objects.is_file():
        for suffix, known in there.items():
            masks[f"background{suffix}"] = partial(_of_objects, objects, known, moving=False)
            masks[f"foreground{suffix}"] = partial(_of_objects, objects, known, moving=True)
    return Scene(
        name,
        frames_of(part, {0: f"{left}/{file}", 1: f"{right}/{file}"}, calibration),
        search=SearchRange(0, 255),
        truths=truths_of({(0, 1): there.get("")}),
        masks=masks,
        calibration=calibration,
    )


def _known(truth: Path) -> Mask:
    """The pixels at which a truth is known."""
    return np.isfinite(read_disparity(truth))


def _of_objects(objects: Path, truth: Path, moving: bool) -> Mask:
    numbers, known = read_grey(objects), _known(truth)
    if numbers.shape != known.shape:
        raise DataError(f"{objects}: has shape {numbers.shape}, its truth {known.shape}")
    return known & ((numbers > 0) == moving)


def _named_after(pattern: str) -> Callable[[Path], list[str]]:
    """The left images of a pattern below a folder, as names: without their endings."""
    return lambda folder: sorted(
        path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob(pattern)
    )


@dataset("sceneflow", names=_named_after("frames_*pass/T*/*/*/left/*.png"), protocol="sceneflow")
def sceneflow(folder: Path, name: str) -> Scene:
    """FlyingThings3D of SceneFlow (Mayer et al. 2016): ``frames_finalpass/TEST/A/0000/left/0006.png``, right beside it, and ``disparity/TEST/...`` in PFM.

    Its end-point error is ``avg_error_all`` of the protocol ``sceneflow``. As is usual, 0..191 px are searched.
    """
    truth = folder / "disparity" / f"{name.partition('/')[2]}.pfm"
    right = name.replace("/left/", "/right/")
    return pair_scene(folder / f"{name}.png", folder / f"{right}.png", (0, 191), truth=truth)


@dataset("spring", names=_named_after("train/*/frame_left/*.png"))
def spring(folder: Path, name: str) -> Scene:
    """Spring (Mehl et al. 2023): an animated film in full HD, ``train/0001/frame_left/frame_left_0001.png``, frame_right, and ``disp1_left/disp1_left_0001.dsp5``.

    No range is published: it is to be given, or estimated by `match`.
    """
    truth = folder / f"{name.replace('frame_left', 'disp1_left')}.dsp5"
    scene = pair_scene(
        folder / f"{name}.png", folder / f"{name.replace('frame_left', 'frame_right')}.png"
    )
    return replace(scene, truths={(0, 1): partial(_spring_truth, truth)} if truth.is_file() else {})


def _spring_truth(path: Path) -> Disparity:
    """Of the four values of a pixel, for there are as many of each as in 4K, the upper left one. They are in pixels of full HD."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError(f"truth of Spring needs h5py: {install_command('data')}") from None
    try:
        with h5py.File(path) as file:
            disparity: Disparity = np.asarray(file["disparity"][::2, ::2], np.float32)
    except (OSError, KeyError, ValueError) as error:
        raise DataError(
            f"{path}: is no truth of Spring: {' '.join(str(error).split())[:200]}"
        ) from None
    return disparity


@dataset(
    "drivingstereo", names=_named_after("**/left-image-half-size/**/*.jpg"), protocol="kitti2015"
)
def drivingstereo(folder: Path, name: str) -> Scene:
    """DrivingStereo (Yang et al. 2019) in half size: roads with sparse truth, 16-bit PNG, grey / 256, 0 = unknown."""
    right = name.replace("left-image-half-size", "right-image-half-size")
    truth = name.replace("left-image-half-size", "disparity-map-half-size")
    return pair_scene(
        folder / f"{name}.jpg", folder / f"{right}.jpg", (0, 127), truth=folder / f"{truth}.png"
    )


@dataset("instereo2k", names=_named_after("*/*/left.png"))
def instereo2k(folder: Path, name: str) -> Scene:
    """InStereo2K (Bao et al. 2020): indoors, ``test/000000/left.png``; truth 16-bit PNG, grey / 100, 0 = unknown."""
    place = (folder / name).parent
    return pair_scene(
        place / "left.png",
        place / "right.png",
        (0, 255),
        truth=place / "left_disp.png",
        truth_scale=100,
    )


@dataset("booster", names=_named_after("train/*/*/camera_00/*.png"))
def booster(folder: Path, name: str) -> Scene:
    """Booster (Zama Ramirez et al. 2022): 12 megapixels of mirrors and glass, ``train/balanced/Bathroom/camera_00/im0.png``, camera_02 and disp_00.npy.

    No range is published: it is to be given, or estimated by `match`.
    """
    left = folder / f"{name}.png"
    scene = left.parents[1]
    return pair_scene(left, scene / "camera_02" / left.name, truth=scene / "disp_00.npy")


@dataset("us3d", names=_named_after("**/*_LEFT_RGB.tif"))
def us3d(folder: Path, name: str) -> Scene:
    """US3D of the Data Fusion Contest 2019, track 2 (Bosch et al. 2019): satellites, disparities of both signs; truth of floats, -999 = unknown."""
    stem = name.removesuffix("_LEFT_RGB")
    scene = pair_scene(folder / f"{name}.tif", folder / f"{stem}_RIGHT_RGB.tif", (-64, 64))
    return replace(scene, truths={(0, 1): partial(_us3d_truth, folder / f"{stem}_LEFT_DSP.tif")})


def _us3d_truth(path: Path) -> Disparity:
    disparity = read_disparity(path)
    return np.where(disparity == -999, np.float32(np.nan), disparity)
