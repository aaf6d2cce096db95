"""Maps as benchmarks want them submitted: where they lie, what they hold, and that evaluate finds the same numbers."""

import json

import cv2
import numpy as np
import pytest
import yaml
from cli_parts import call
from made_files import CALIB, write

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework.io import read_pfm, write_disparity
from stereo_framework.io.output_folders import RECORD

TRUTH = np.full((24, 32), 3, np.float32)
SCENES = {
    "middlebury-v3": ("middlebury-v3/trainingQ/Pipes", "middlebury-v3/trainingQ/Vintage"),
    "kitti2015": ("kitti2015/000000_10", "kitti2015/testing/000000_10"),
    "eth3d": ("eth3d/two_view_training/delivery_area_1l",),
}


@pytest.fixture
def root(own_root):
    image = np.random.default_rng(0).integers(0, 256, (24, 35, 3), dtype=np.uint8)
    left, right = image[:, :32].copy(), image[:, 3:].copy()
    scene = {
        "im0.png": left,
        "im1.png": right,
        "disp0GT.pfm": TRUTH,
        "mask0nocc.png": np.full((24, 32), 255, np.uint8),
    }
    scene["calib.txt"] = CALIB
    for name in (*SCENES["middlebury-v3"], *SCENES["eth3d"]):
        write(own_root / "root" / name, scene)
    for part in ("training", "testing"):
        write(
            own_root / "root/kitti2015" / part,
            {"image_2/000000_10.png": left, "image_3/000000_10.png": right},
        )
    write(
        own_root / "root/kitti2015/training",
        {f"{truth}/000000_10.png": TRUTH for truth in ("disp_occ_0", "disp_noc_0")},
    )
    return own_root


def _records(result):
    return {
        (r["scene"], r["method"]): r["statistics"]
        for r in json.loads(result.stdout)
        if not r["scene"].startswith("average")
    }


@pytest.mark.parametrize("form", SCENES)
def test_what_is_exported_is_measured_as_what_was_run(root, form):
    out = root / "out"
    ssd = {"include": "ssd", "search": {"minimum": 0, "maximum": 8}}
    # A check leaves holes, which are named or written apart.
    methods = {"dense": {}, "checked": {"refinement": ["left_right_check"]}}
    (root / "two.yaml").write_text(
        yaml.safe_dump({**ssd, "methods": methods, "scenes": list(SCENES[form])}, sort_keys=False)
    )
    ran = _records(call("run", root / "two.yaml", "--out", out, "--json"))
    told = call("results", out, "--export", form).stdout
    for method in methods:
        folder = out / "submissions" / method
        assert f"{method}: {folder}; measure it with" in told
        scenes = [option for scene in SCENES[form] for option in ("--scene", scene)]
        again = _records(call("evaluate", folder, *scenes, "--json"))
        assert {scene for scene, _ in again} == set(SCENES[form])
        for (scene, _), statistics in again.items():
            # Without truth evaluate measures what the images tell. KITTI's pictures hold 256ths of pixels.
            common = {
                name: value for name, value in ran[scene, method].items() if name in statistics
            }
            assert common
            again_there = {name: statistics[name] for name in common}
            assert again_there == pytest.approx(
                common, abs=1 / 256 if form == "kitti2015" else 0, nan_ok=True
            )


def test_names_times_and_encodings(root):
    own = TRUTH + np.float32(0.25)
    own[0, 0] = np.nan
    (root / "theirs").mkdir()
    write_disparity(root / "theirs/Pipes.pfm", own)
    write_disparity(root / "theirs/000000_10.pfm", own)
    write_disparity(root / "theirs/delivery_area_1l.pfm", TRUTH)
    out = root / "out"
    for scene, file in (
        ("middlebury-v3/trainingQ/Pipes", "Pipes"),
        ("kitti2015/testing/000000_10", "000000_10"),
        (*SCENES["eth3d"], "delivery_area_1l"),
    ):
        call(
            "evaluate",
            root / f"theirs/{file}.pfm",
            "--scene",
            scene,
            "--out",
            out,
            "--name",
            "RAFT Stereo",
        )
    result = call("results", out, "--export", "middlebury-v3")
    there = out / "submissions"
    found = [
        p.relative_to(there).as_posix()
        for p in there.rglob("*")
        if p.is_file() and p.name != RECORD
    ]
    assert found == ["RAFT_Stereo/trainingQ/Pipes/disp0RAFTStereo_s.pfm"]
    assert np.isinf(read_pfm(there / found[0])[0, 0])
    assert "the run time on middlebury-v3/trainingQ/Pipes is not known" in result.stderr
    call("results", out, "--export", "kitti2015")
    grey = cv2.imread(str(there / "RAFT_Stereo/testing/disp_0/000000_10.png"), cv2.IMREAD_UNCHANGED)
    assert (grey.dtype, grey[0, 0], grey[1, 1]) == (np.uint16, 0, 3.25 * 256)
    call("run", "ssd", "--scene", SCENES["eth3d"][0], "--out", out)
    call("results", out, "--export", "eth3d", "--where", "method=ssd")
    kind, seconds = (there / "ssd/low_res_two_view/delivery_area_1l.txt").read_text().split()
    assert kind == "runtime"
    assert float(seconds) > 0
    assert (there / "ssd/low_res_two_view/delivery_area_1l.pfm").is_file()


def test_what_cannot_be_exported(root):
    out = root / "out"
    below = TRUTH.copy()
    below[0, 0] = -3
    write_disparity(root / "below.pfm", below)
    write_disparity(root / "good.pfm", TRUTH)
    for name in ("below", "good"):
        call("evaluate", root / f"{name}.pfm", "--scene", "kitti2015/000000_10", "--out", out)
    # Of the two methods one is written all the same.
    result = call("results", out, "--export", "kitti2015", status=1)
    assert "disparities -3..3 do not fit" in result.stderr
    assert result.stdout.startswith("good: ")
    assert (
        "no map of a scene of eth3d" in call("results", out, "--export", "eth3d", status=2).stderr
    )


def test_no_method_is_written_over_another_one(root):
    out = root / "out"
    for name, map_ in (("a.b", TRUTH), ("a_b", TRUTH + 1)):
        write_disparity(root / f"{name}.pfm", map_)
        call(
            "evaluate",
            root / f"{name}.pfm",
            "--scene",
            "kitti2015/000000_10",
            "--name",
            name,
            "--out",
            out,
        )
    result = call("results", out, "--export", "kitti2015", status=1)
    assert "a_b: its folder would be that of a.b" in result.stderr
    [written] = (out / "submissions").rglob("*.png")
    assert (cv2.imread(str(written), cv2.IMREAD_UNCHANGED) == 3 * 256).all()
