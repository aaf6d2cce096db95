"""Readers of data sets on tiny files in the layouts of the publishers' downloads."""

import cv2
import h5py
import naive_files
import numpy as np
import pytest
import tifffile
from made_files import write

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration
from stereo_framework.datasets import find_scenes, load_scene, scene_names
from stereo_framework.io import write_disparity

NAN = np.nan


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty data root, the only one."""
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def names(root):
    return [name for name in scene_names(root) if not name.startswith("synthetic/")]


# 2005 and 2006


def structured_light(rows, scale, views=(1, 5), images=""):
    truths = {view: np.full((rows, 7), view * 6 * scale, np.uint8) for view in (1, 5)}
    for truth in truths.values():
        truth[0] = 0
    shown = {
        f"{images}view{view}.png": np.full((rows, 7, 3), 10 * view, np.uint8) for view in views
    }
    return shown | {f"disp{view}.png": truth for view, truth in truths.items()}


@pytest.mark.parametrize(
    ("size", "rows", "reduction", "last"),
    [
        ("", 370, 3, 79),
        ("ThirdSize/", 370, 3, 79),
        ("HalfSize/", 555, 2, 119),
        ("FullSize/", 1110, 1, 239),
    ],
)
@pytest.mark.parametrize("folder", ["middlebury2005", "middlebury2006"])
def test_sizes_of_2005_and_2006(root, folder, size, rows, reduction, last):
    write(root / folder / f"{size}Aloe", structured_light(rows, reduction))
    assert names(root) == [f"{folder}/{size}Aloe"]
    scene = load_scene("Aloe", data=root)
    assert (scene.name, scene.reference.shape) == (f"{folder}/{size}Aloe", (rows, 7, 3))
    assert (scene.reference[0, 0, 0], scene.match[0, 0, 0]) == (10, 50)
    np.testing.assert_array_equal(scene.truth[:2], [[NAN] * 7, [6.0] * 7])
    np.testing.assert_array_equal(scene.match_truth[:2], [[NAN] * 7, [30.0] * 7])
    assert (str(scene.search), scene.direction) == (f"0..{last} step 1", 1)
    assert (scene.reduction, scene.grey_levels, scene.calibration) == (reduction, reduction, None)
    assert (scene.border, scene.protocol, scene.masks) == (0, "taxonomy2002", {})


def test_seven_views_in_order(root):
    write(root / "middlebury2005/Art", structured_light(370, 3, range(7)))
    scene = load_scene("Art", data=root)
    assert [(f.name, f.position) for f in scene.frames] == [(f"view{i}.png", i) for i in range(7)]
    assert (scene.reference_index, scene.match_index) == (1, 5)
    assert [scene.image(i)[0, 0, 0] for i in range(7)] == [0, 10, 20, 30, 40, 50, 60]
    assert scene.truth is not None
    # a quarter of the distance between the cameras, a quarter of the range
    assert scene.pair(1, 2).search.maximum == 20


def test_illuminations_and_exposures_are_scenes(root):
    aloe = "middlebury2006/HalfSize/Aloe"
    for images in ("Illum1/Exp0", "Illum3/Exp2"):
        write(root / aloe, structured_light(555, 2, range(7), f"{images}/"))
    write(root / aloe, {"dmin.txt": "270\n"})
    assert names(root) == [f"{aloe}/Illum1/Exp0", f"{aloe}/Illum3/Exp2"]
    scene = load_scene(f"{aloe}/Illum3/Exp2", data=root)
    assert (len(scene.frames), scene.truth[1, 0], scene.match_truth[1, 0]) == (7, 6.0, 30.0)
    # dmin counts full-size pixels and belongs into depths, not into disparities
    assert scene.calibration == Calibration(1870.0, 160.0, 135.0)


def test_a_size_in_the_folder_of_another_and_a_damaged_dmin(root):
    write(root / "middlebury2005/Art", structured_light(555, 2))
    with pytest.raises(
        DataError, match=r"disp1\.png: has 555 rows; expected 370 in this folder, .* HalfSize 555"
    ):
        _ = load_scene("Art", data=root).truth
    write(root / "middlebury2005/Art", {"dmin.txt": "two hundred"})
    with pytest.raises(
        DataError, match=r"dmin\.txt: 'two hundred' is not a whole number of pixels"
    ):
        load_scene("Art", data=root)


def test_short_names_mean_the_third_size(root):
    for name in ("Art", "HalfSize/Art", "FullSize/Art", "HalfSize/Moebius", "FullSize/Moebius"):
        write(root, {f"middlebury2005/{name}/view1.png": None})
    assert load_scene("Art", data=root).name == "middlebury2005/Art"
    with pytest.raises(
        DataError,
        match="scene 'Moebius' is ambiguous; say which: .*HalfSize/Moebius, .*FullSize/Moebius",
    ):
        load_scene("Moebius", data=root)


# the third benchmark and ETH3D


def calib(ndisp=70, isint=0):
    return (
        "cam0=[994.978 0 311.193; 0 994.978 254.877; 0 0 1]\ncam1=[994.978 0 342.279; 0 994.978 254.877; 0 0 1]\n"
        f"doffs=31.086\nbaseline=193.001\nwidth=6\nheight=4\nndisp={ndisp}\nisint={isint}\nvmin=7\nvmax=61\n"
    )


def pair(**values):
    return {"im0.png": 100, "im1.png": 110, "calib.txt": calib(**values)}


def truth(value=5.5):
    return np.where(np.eye(4, 6) == 1, np.inf, value)


MASK = naive_files.png_bytes(np.repeat([[0], [128], [255], [255]], 6, axis=1), colour=0)


@pytest.mark.parametrize(("size", "reduction"), [("Q", 4), ("H", 2), ("F", 1)])
def test_version_3(root, size, reduction):
    write(
        root / f"middlebury-v3/training{size}/Pipes",
        pair() | {"disp0GT.pfm": truth(), "mask0nocc.png": MASK},
    )
    assert names(root) == [f"middlebury-v3/training{size}/Pipes"]
    scene = load_scene("Pipes", data=root)
    assert (scene.reference[0, 0], scene.match[0, 0], scene.direction) == (100, 110, 1)
    np.testing.assert_array_equal(scene.truth, np.where(np.eye(4, 6) == 1, NAN, 5.5))
    assert scene.match_truth is None
    np.testing.assert_array_equal(scene.mask("nonocc")[:, 0], [False, False, True, True])
    assert (scene.search.minimum, scene.search.maximum, scene.largest_disparity) == (0, 69, 70)
    assert scene.calibration == Calibration(994.978, 193.001, 31.086, (311.193, 254.877))
    assert (scene.protocol, scene.border, scene.reduction, scene.grey_levels) == (
        "middlebury-v3",
        0,
        reduction,
        None,
    )
    assert (scene.weight, scene.whole_truth) == (1.0, False)


def test_version_3_weights(root):
    half = [
        "PianoL",
        "Playroom",
        "Playtable",
        "Shelves",
        "Vintage",
        "ClassE",
        "DjembL",
        "Hoops",
        "Livgrm",
        "Nkuba",
        "Stairs",
    ]
    whole = {
        "trainingQ": "Adirondack ArtL Jadeplant Motorcycle MotorcycleE Piano Pipes PlaytableP Recycle Teddy",
        "testQ": "Australia AustraliaP Bicycle2 Classroom2 Classroom2E Computer Crusade CrusadeP Djembe Plants",
    }
    every = [
        (folder, name) for folder, listed in whole.items() for name in [*listed.split(), *half]
    ]
    for folder, name in every:
        write(root / f"middlebury-v3/{folder}/{name}", {"im0.png": None, "calib.txt": calib()})
    weights = {
        name: load_scene(f"middlebury-v3/{folder}/{name}", data=root).weight
        for folder, name in every
    }
    assert weights == {name: 0.5 if name in half else 1.0 for _, name in every}


def test_version_3_without_truth_and_with_that_of_both_views(root):
    write(root / "middlebury-v3/testH/Hoops", pair())
    scene = load_scene("Hoops", data=root)
    assert (scene.name, scene.truth, scene.masks, scene.reduction) == (
        "middlebury-v3/testH/Hoops",
        None,
        {},
        2,
    )
    folder = root / "middlebury-v3/trainingF/Sticks"
    write(folder, pair(isint=1) | {"disp0.pfm": truth(4), "disp1.pfm": truth(8)})
    scene = load_scene("Sticks", data=root)
    assert (scene.truth[0, 1], scene.match_truth[0, 1], scene.whole_truth) == (4, 8, True)
    write(folder, {"disp1GT.pfm": truth(9)})
    assert load_scene("Sticks", data=root).match_truth[0, 1] == 9


def test_loading_opens_no_image(root):
    unread = dict.fromkeys(("im0.png", "im1.png", "disp0GT.pfm", "mask0nocc.png"))
    write(root / "middlebury-v3/trainingQ/Pipes", unread | {"calib.txt": calib()})
    assert names(root) == ["middlebury-v3/trainingQ/Pipes"]
    scene = load_scene("Pipes", data=root)
    with pytest.raises(DataError, match=r"disp0GT\.pfm: the file is not a PFM file"):
        scene.truths[0, 1]()


@pytest.mark.parametrize("place", ["two_view_training", "two_view_training_gt"])
def test_eth3d(root, place):
    write(root / "eth3d/two_view_training/delivery_area_1l", pair(ndisp=942))
    write(root / f"eth3d/{place}/delivery_area_1l", {"disp0GT.pfm": truth(), "mask0nocc.png": MASK})
    write(root / "eth3d/two_view_test/lakeside_1l", pair(ndisp=30))
    assert names(root) == [
        "eth3d/two_view_training/delivery_area_1l",
        "eth3d/two_view_test/lakeside_1l",
    ]
    scene = load_scene("delivery_area_1l", data=root)
    assert (scene.truth[0, 1], scene.mask("nonocc").sum(), scene.protocol) == (5.5, 12, "eth3d")
    assert (scene.search.maximum, scene.largest_disparity) == (63, 942)
    scene = load_scene("lakeside_1l", data=root)
    assert (scene.truth, scene.masks, scene.search.maximum) == (None, {}, 29)


# KITTI

P = "P{}: 7.070912e+02 0 6.018873e+02 {} 0 7.070912e+02 1.831104e+02 0 0 0 1 0\n"
KITTI_2012 = "".join(
    P.format(camera, t)
    for camera, t in enumerate(("0", "-3.798145e+02", "4.688783e+01", "-3.334597e+02"))
)
ALL = np.arange(24).reshape(4, 6) % 3 > 0
NONOCC = ALL & (np.arange(6) > 1)


def known(where):
    return np.where(where, 12.5, NAN)


def test_kitti_2012(root):
    cameras = (("image_0", 20), ("image_1", 21), ("colored_0", 30), ("colored_1", 31))
    images = {
        f"training/{camera}/000000_1{i}.png": grey for camera, grey in cameras for i in (0, 1)
    }
    truths = {
        "training/disp_occ/000000_10.png": known(ALL),
        "training/disp_noc/000000_10.png": known(NONOCC),
    }
    others = {"testing/colored_0/000007_10.png": 40, "testing/colored_1/000007_10.png": 41}
    write(root / "kitti2012", images | truths | others | {"training/calib/000000.txt": KITTI_2012})
    assert names(root) == ["kitti2012/000000_10", "kitti2012/testing/000007_10"]
    scene = load_scene("kitti2012/000000_10", data=root)
    assert (scene.reference[0, 0], scene.match[0, 0], scene.direction) == (20, 21, 1)
    np.testing.assert_array_equal(scene.truth, known(ALL))
    np.testing.assert_array_equal(scene.mask("nonocc"), NONOCC)
    assert (str(scene.search), scene.protocol, scene.border) == ("0..255 step 1", "kitti2012", 0)
    assert (scene.calibration.focal_length, scene.calibration.doffs) == (707.0912, 0)
    assert scene.calibration.baseline == pytest.approx(
        0.5372, abs=5e-5
    )  # KITTI's grey cameras stand 0.54 m apart
    scene = load_scene("kitti2012/testing/000007_10", data=root)
    assert (scene.reference[0, 0], scene.match[0, 0], scene.truth, scene.calibration) == (
        40,
        41,
        None,
        None,
    )


def test_kitti_2015(root):
    objects = np.zeros((4, 6), np.uint8)
    objects[1:3, 2:] = 7
    files = {
        "image_2/000003_10.png": np.full((4, 6, 3), 30, np.uint8),
        "image_3/000003_10.png": np.full((4, 6, 3), 31, np.uint8),
        "disp_occ_0/000003_10.png": known(ALL),
        "disp_noc_0/000003_10.png": known(NONOCC),
        "obj_map/000003_10.png": objects,
        "calib_cam_to_cam/000003.txt": "calib_time: 09-Jan-2012 13:57:47\n"
        + KITTI_2012.replace("P", "P_rect_0"),
    }
    write(root / "kitti2015/training", files)
    scene = load_scene("000003_10", data=root)
    assert (scene.name, scene.reference.shape, scene.protocol) == (
        "kitti2015/000003_10",
        (4, 6, 3),
        "kitti2015",
    )
    assert sorted(scene.masks) == [
        "background",
        "background_nonocc",
        "foreground",
        "foreground_nonocc",
        "nonocc",
    ]
    np.testing.assert_array_equal(scene.mask("nonocc"), NONOCC)
    for region, where in (("background", objects == 0), ("foreground", objects > 0)):
        np.testing.assert_array_equal(scene.mask(region), where & ALL)
        np.testing.assert_array_equal(scene.mask(f"{region}_nonocc"), where & NONOCC)
    assert scene.calibration.baseline == pytest.approx((46.88783 + 333.4597) / 707.0912)
    write(root / "kitti2015/training", {"obj_map/000003_10.png": objects[:3]})
    with pytest.raises(
        DataError, match=r"obj_map/000003_10\.png: has shape \(3, 6\), its truth \(4, 6\)"
    ):
        load_scene("000003_10", data=root).mask("background")


# single pairs


def test_single_pairs(root):
    write(root / "motorcycle", {"motorcycle_left.png": 1, "motorcycle_right.png": 2})
    np.savez(root / "motorcycle/motorcycle_disp.npz", np.where(ALL, 9.25, np.inf))
    scene = load_scene("motorcycle", data=root)
    assert (scene.reference[0, 0], scene.match[0, 0], str(scene.search), scene.reduction) == (
        1,
        2,
        "0..69 step 1",
        4,
    )
    np.testing.assert_array_equal(scene.truth, np.where(ALL, 9.25, NAN))
    files = {"kittiL.png": 3, "kittiR.png": 4, "gt/000000_10.png": known(ALL)}
    write(
        root / "kitti",
        {"devkit2012/disp_gt.png": None}
        | {f"training2012/{path}": content for path, content in files.items()},
    )
    assert names(root) == ["kitti/training2012", "motorcycle/motorcycle"]
    scene = load_scene("kitti/training2012", data=root)
    assert (scene.reference[0, 0], scene.match[0, 0], str(scene.search), scene.protocol) == (
        3,
        4,
        "0..127 step 1",
        "kitti2012",
    )
    np.testing.assert_array_equal(scene.truth, np.where(ALL, 12.5, NAN))


# The scene, the ending of its left image, the right image, the truth; the protocol and the range.
PAIRS = """
sceneflow/frames_finalpass/TEST/A/0000/left/0006 .png frames_finalpass/TEST/A/0000/right/0006.png disparity/TEST/A/0000/left/0006.pfm sceneflow 0 191
spring/train/0001/frame_left/frame_left_0002 .png train/0001/frame_right/frame_right_0002.png train/0001/disp1_left/disp1_left_0002.dsp5 taxonomy2002
drivingstereo/left-image-half-size/2018/a .jpg right-image-half-size/2018/a.jpg disparity-map-half-size/2018/a.png kitti2015 0 127
instereo2k/test/000000/left .png test/000000/right.png test/000000/left_disp.png taxonomy2002 0 255
booster/train/balanced/Bath/camera_00/im0 .png train/balanced/Bath/camera_02/im0.png train/balanced/Bath/disp_00.npy taxonomy2002
us3d/JAX_004_LEFT_RGB .tif JAX_004_RIGHT_RGB.tif JAX_004_LEFT_DSP.tif taxonomy2002 -64 64
"""


@pytest.mark.parametrize(
    "line", PAIRS.strip().splitlines(), ids=lambda line: line.partition("/")[0]
)
def test_pairs_in_publishers_folders(tmp_path, line):
    name, ending, right, truth, protocol, *ends = line.split()
    left, range_ = f"{name.partition('/')[2]}{ending}", tuple(map(float, ends)) or None
    folder = tmp_path / name.partition("/")[0]
    disparity = np.full((4, 600), 2.5, np.float32)
    disparity[1, 2] = np.nan
    scale = {"drivingstereo": 256, "instereo2k": 100}.get(folder.name)
    write(
        folder,
        {
            left: np.full((4, 600, 3), 100, np.uint8),
            right: np.full((4, 600, 3), 110, np.uint8),
            truth: None,
        },
    )
    if scale:
        cv2.imwrite(str(folder / truth), np.nan_to_num(disparity * scale).astype(np.uint16))
    elif truth.endswith(".dsp5"):
        with h5py.File(folder / truth, "w") as file:
            file["disparity"] = np.kron(disparity, [[1, 99], [99, 99]])
    elif truth.endswith(".tif"):
        tifffile.imwrite(folder / truth, np.nan_to_num(disparity, nan=-999))
    else:
        write_disparity(folder / truth, disparity)
    assert name in scene_names(tmp_path)
    scene = load_scene(name, data=tmp_path)
    assert (scene.name, scene.protocol) == (name, protocol)
    assert (scene.search and (scene.search.minimum, scene.search.maximum)) == range_
    np.testing.assert_array_equal(scene.truth, disparity)
    assert [int(np.median(scene.image(i))) for i in (0, 1)] == [100, 110]
    assert find_scenes(folder.name, data=tmp_path) == (name,)


def test_damaged_truth_of_spring_is_told_in_a_line(tmp_path):
    folder, name = tmp_path / "spring/train/0001", "spring/train/0001/frame_left/frame_left_0001"
    write(
        folder,
        {
            f"frame_{side}/frame_{side}_0001.png": np.full((4, 600, 3), 9, np.uint8)
            for side in ("left", "right")
        },
    )
    assert load_scene(name, data=tmp_path).truth is None
    write(folder, {"disp1_left/disp1_left_0001.dsp5": None})
    with pytest.raises(DataError, match=r"disp1_left_0001\.dsp5: is no truth of Spring: "):
        _ = load_scene(name, data=tmp_path).truth
