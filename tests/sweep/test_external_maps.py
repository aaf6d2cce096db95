"""Maps of other programs: their identities and keys, and how they are exported."""

import numpy as np
import pytest
from sweep_parts import stored

from stereo_framework.core.errors import DataError
from stereo_framework.core.file_damage import report_damage
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.io import read_pfm, write_disparity
from stereo_framework.sweep import Result
from stereo_framework.sweep.external_maps import add_maps, export_maps, measure_map

TRUTH = np.full((24, 32), 3, np.float32)
TEXTURE = np.random.default_rng(0).integers(0, 256, (24, 40), dtype=np.uint8)


def scene_of(name="set/a", shift=3):
    """Return a scene with a disparity of three pixels."""
    right = TEXTURE[:, shift : 32 + shift]
    return Scene.from_images(TEXTURE[:, :32], right, (0, 8), name=name, truth=TRUTH)


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a map with an offset and gives its path."""

    def write(offset=0.0, name="map"):
        path = tmp_path / f"{name}.pfm"
        write_disparity(path, TRUTH + np.float32(offset))
        return path

    return write


def measured(path, **changes):
    """Return the result of measuring a map."""
    options = {"scene": scene_of(), "protocol": "taxonomy2002", "method": "theirs"} | changes
    return measure_map(path, **options)


def test_each_input_of_a_measured_map_counts_in_its_identity(written):
    path = written()
    identity = measured(path).id
    other_content = measured(written(0.25, "other")).id
    assert len({identity, other_content}) == 2
    assert measured(path, scene=scene_of(shift=4)).id != identity
    assert measured(path, disparity_scale=2).id != identity
    assert measured(path, unknown=99).id != identity
    # The method and the protocol are parts of the key instead.
    assert measured(path, method="ours").id == identity
    assert measured(path, protocol="middlebury-v2").id == identity
    assert measured(written(0, "copy")).id == identity


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"method": "others"}, 2),
        ({"scene": scene_of("set/b")}, 2),
        ({"protocol": "middlebury-v2"}, 2),
        ({"protocol": {"base": "taxonomy2002", "threshold": 2}}, 2),
        # A new map of a method replaces the one before.
        ({"path": 1.0}, 1),
    ],
)
def test_each_part_of_the_key_of_an_added_map_counts(tmp_path, written, changes, count):
    out = tmp_path / "out"
    add_maps(out, [measured(written())])
    changes = dict(changes)
    path = written(changes.pop("path", 0.0), "second")
    [second] = add_maps(out, [measured(path, **changes)])
    results = stored(out)
    assert len(results) == count
    assert repr(results[-1].statistics) == repr(second.statistics)
    np.testing.assert_array_equal(results[-1].disparity, second.disparity)


@pytest.mark.parametrize("protocol", ["taxonomy2002", "middlebury-v2"])
def test_two_maps_added_together_are_two_results(tmp_path, written, protocol):
    maps = []
    for offset, name in ((0.0, "a"), (2.0, "b")):
        maps.append(measured(written(offset, name), method=name, protocol=protocol))
    add_maps(tmp_path / "out", maps)
    errors = {r.method: r.statistics["bad_pixels_all"] for r in stored(tmp_path / "out")}
    assert errors == {"a": 0.0, "b": 100.0}


def test_damage_of_the_images_is_a_warning_of_a_measured_map(written):
    def damaged():
        report_damage("left.png is cut off")
        return TEXTURE[:, :32]

    frames = (Frame("left", damaged, 0), Frame("right", lambda: TEXTURE[:, 3:35], 1))
    scene = Scene("set/a", frames, truths={(0, 1): lambda: TRUTH})
    assert measured(written(), scene=scene).warnings == ("left.png is cut off",)
    assert measured(written()).warnings == ()


@pytest.mark.parametrize(
    ("protocol", "matched"), [("taxonomy2002", 1.0), ("kitti2015", 0.75), ("middlebury-v3", 0.75)]
)
def test_zero_in_8_bits_is_a_disparity_under_the_protocol_of_2002_only(tmp_path, protocol, matched):
    """In the maps of the 2002 paper, 0 is a disparity."""
    import cv2

    grey = np.full((24, 32), 12, np.uint8)
    grey[:, ::4] = 0
    cv2.imwrite(str(tmp_path / "map.png"), grey)
    result = measured(tmp_path / "map.png", protocol=protocol, disparity_scale=4)
    share = np.isfinite(result.disparity).mean()
    assert share == matched


# --- export ---------------------------------------------------------------------------


def stored_result(folder, scene, hole=False, seconds=(0.5, 1.25)):
    """Return a result whose map is stored."""
    disparity = TRUTH.copy()
    if hole:
        disparity[0, 0] = np.nan
    path = folder / f"{scene.replace('/', '-')}.pfm"
    write_disparity(path, disparity)
    times = dict(zip(("matching_cost", "optimization"), seconds, strict=False))
    return Result("0", scene, "m", {}, {}, "p", seconds=times, map=path)


def exported(folder):
    """Return the names of the exported files."""
    files = []
    for path in folder.rglob("*.*"):
        if path.is_file() and not path.name.startswith("."):
            files.append(path.relative_to(folder).as_posix())
    return sorted(files)


def test_maps_of_two_scenes_with_and_without_holes_have_other_names_for_middlebury(tmp_path):
    scenes = ("middlebury-v3/trainingQ/Pipes", "middlebury-v3/trainingQ/Vintage")
    results = [
        stored_result(tmp_path, scene, hole)
        for scene, hole in zip(scenes, (False, True), strict=True)
    ]
    out = tmp_path / "out"
    assert export_maps(results, "middlebury-v3", "My method!", out) == []
    assert exported(out) == [
        "trainingQ/Pipes/disp0Mymethod.pfm",
        "trainingQ/Pipes/timeMymethod.txt",
        "trainingQ/Vintage/disp0Mymethod_s.pfm",
        "trainingQ/Vintage/timeMymethod.txt",
    ]
    assert (out / "trainingQ/Pipes/timeMymethod.txt").read_text() == "1.75\n"
    assert read_pfm(out / "trainingQ/Pipes/disp0Mymethod.pfm").tolist() == TRUTH.tolist()


@pytest.mark.parametrize(
    ("form", "scene", "names", "text"),
    [
        (
            "eth3d",
            "eth3d/two_view_training/delivery_area_1l",
            ["low_res_two_view/delivery_area_1l.pfm", "low_res_two_view/delivery_area_1l.txt"],
            "runtime 1.75\n",
        ),
        ("kitti2015", "kitti2015/000000_10", ["training/disp_0/000000_10.png"], None),
        ("kitti2015", "kitti2015/testing/000000_10", ["testing/disp_0/000000_10.png"], None),
    ],
)
def test_maps_have_the_names_and_times_that_a_benchmark_wants(tmp_path, form, scene, names, text):
    out = tmp_path / "out"
    assert export_maps([stored_result(tmp_path, scene)], form, "m", out) == []
    assert exported(out) == names
    if text is not None:
        assert (out / names[1]).read_text() == text


def test_a_map_without_a_time_or_that_is_gone_is_reported(tmp_path):
    scenes = ("middlebury-v3/trainingQ/Pipes", "middlebury-v3/trainingQ/Vintage")
    without_time, removed = (stored_result(tmp_path, scene, seconds=()) for scene in scenes)
    removed.map.unlink()
    time_line, map_line = export_maps(
        [without_time, removed], "middlebury-v3", "m", tmp_path / "out"
    )
    assert time_line == (
        "m: nobody knows what middlebury-v3/trainingQ/Pipes took; "
        "the benchmark wants it in trainingQ/Pipes/timem.txt"
    )
    assert map_line == f"m: the map of middlebury-v3/trainingQ/Vintage, {removed.map}, is gone"
    with pytest.raises(DataError, match="^m: no map of a scene of eth3d; run with --maps on some"):
        export_maps([without_time], "eth3d", "m", tmp_path / "out")
