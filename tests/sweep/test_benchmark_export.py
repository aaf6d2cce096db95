"""Disparity maps in the form that benchmarks expect."""

import dataclasses

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.io import output_folder, read_pfm, write_disparity
from stereo_framework.sweep import Result
from stereo_framework.sweep.benchmark_export import BENCHMARKS, export_maps

TRUTH = np.full((24, 32), 3, np.float32)
PIPES = "middlebury-v3/trainingQ/Pipes"
VINTAGE = "middlebury-v3/trainingQ/Vintage"


def store_result(folder, scene, *, has_hole=False, seconds=(0.5, 1.25)):
    """Write a disparity map, and return its result."""
    disparity = TRUTH.copy()
    if has_hole:
        disparity[0, 0] = np.nan
    path = folder / f"{scene.replace('/', '-')}.pfm"
    write_disparity(path, disparity)
    times = dict(zip(("matching_cost", "optimization"), seconds, strict=False))
    return Result("0", scene, "m", {}, {}, "p", seconds=times, map=path)


def exported_files(folder):
    """Return the names of the exported files."""
    files = []
    for path in folder.rglob("*.*"):
        if path.is_file() and not path.name.startswith("."):
            files.append(path.relative_to(folder).as_posix())
    return sorted(files)


def test_a_map_with_holes_has_another_file_name_for_middlebury(tmp_path):
    results = [store_result(tmp_path, PIPES), store_result(tmp_path, VINTAGE, has_hole=True)]
    out = tmp_path / "out"
    assert export_maps(results, "middlebury-v3", "My method!", out) == []
    assert exported_files(out) == [
        "trainingQ/Pipes/disp0Mymethod.pfm",
        "trainingQ/Pipes/timeMymethod.txt",
        "trainingQ/Vintage/disp0Mymethod_s.pfm",
        "trainingQ/Vintage/timeMymethod.txt",
    ]
    assert (out / "trainingQ/Pipes/timeMymethod.txt").read_text() == "1.75\n"
    assert read_pfm(out / "trainingQ/Pipes/disp0Mymethod.pfm").tolist() == TRUTH.tolist()


@pytest.mark.parametrize(
    ("benchmark", "scene", "names", "text"),
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
def test_files_have_the_names_and_times_that_a_benchmark_expects(
    tmp_path, benchmark, scene, names, text
):
    out = tmp_path / "out"
    assert export_maps([store_result(tmp_path, scene)], benchmark, "m", out) == []
    assert exported_files(out) == names
    if text is not None:
        assert (out / names[1]).read_text() == text


def test_a_benchmark_without_times_needs_no_run_time(tmp_path):
    result = store_result(tmp_path, "kitti2015/000000_10", seconds=())
    assert export_maps([result], "kitti2015", "m", tmp_path / "out") == []


def test_a_missing_run_time_and_a_missing_map_are_reported(tmp_path):
    without_time = store_result(tmp_path, PIPES, seconds=())
    removed = store_result(tmp_path, VINTAGE, seconds=())
    removed.map.unlink()
    out = tmp_path / "out"
    time_line, map_line = export_maps([without_time, removed], "middlebury-v3", "m", out)
    assert time_line == (
        f"m: the run time on {PIPES} is not known, but the benchmark expects it in "
        "trainingQ/Pipes/timem.txt"
    )
    assert map_line == f"m: the map of {VINTAGE} was not found in {removed.map}"
    assert exported_files(out) == ["trainingQ/Pipes/disp0m.pfm"]


def test_a_map_that_was_not_found_does_not_stop_the_export_of_later_maps(tmp_path):
    removed = store_result(tmp_path, PIPES)
    removed.map.unlink()
    out = tmp_path / "out"
    [line] = export_maps([removed, store_result(tmp_path, VINTAGE)], "middlebury-v3", "m", out)
    assert "was not found" in line
    assert exported_files(out) == ["trainingQ/Vintage/disp0m.pfm", "trainingQ/Vintage/timem.txt"]


def test_results_without_a_map_and_of_other_data_sets_are_left_out(tmp_path):
    without_map = Result("0", VINTAGE, "m", {}, {}, "p")
    other = store_result(tmp_path, "middlebury-v3-other/Pipes")
    with pytest.raises(DataError, match="^m: there is no map of a scene of middlebury-v3; run"):
        export_maps([without_map, other], "middlebury-v3", "m", tmp_path / "out")
    with pytest.raises(DataError, match="for example with --scene eth3d$"):
        export_maps([store_result(tmp_path, PIPES)], "eth3d", "m", tmp_path / "out")


def test_an_absolute_name_of_a_scene_does_not_lead_out_of_the_folder(tmp_path):
    outside = tmp_path / "outside"
    result = store_result(tmp_path, PIPES)
    forged = Result("0", f"middlebury-v3/{outside}/Pipes", "m", {}, {}, "p", map=result.map)
    out = tmp_path / "out"
    with output_folder(out):
        export_maps([forged], "middlebury-v3", "m", out)
    assert not outside.exists()
    [name] = exported_files(out)
    assert name.endswith("outside/Pipes/disp0m.pfm")


def test_the_format_of_a_benchmark_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BENCHMARKS["eth3d"].time_path = ""
