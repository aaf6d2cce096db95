"""Write disparity maps in the file formats of benchmark submissions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.io import write_bytes, write_disparity
from stereo_framework.sweep.result import Result


@dataclass(frozen=True)
class BenchmarkFormat:
    """Names and contents of the files that a benchmark expects in a submission.

    The paths may contain these fields:

    - ``{scene}``: last part of the name of the scene
    - ``{folder}``: folder of the scene in the data set, or an empty text
    - ``{part}``: folder of the scene in the data set, or ``training`` without a folder
    - ``{method}``: name of the method
    - ``{holes}``: ``_s`` if the disparity map has pixels without an estimate

    Parameters
    ----------
    map_path : str
        Path of the file with the disparity map of a scene.
    time_path : str
        Path of the file with the run time on a scene. The path is empty if the
        benchmark expects no such file.
    time_text : str
        Content of the file with the run time, with a field for the seconds.
    """

    map_path: str
    time_path: str = ""
    time_text: str = ""


BENCHMARKS: Mapping[str, BenchmarkFormat] = {
    "middlebury-v3": BenchmarkFormat(
        map_path="{folder}/{scene}/disp0{method}{holes}.pfm",
        time_path="{folder}/{scene}/time{method}.txt",
        time_text="{:.6g}\n",
    ),
    # In PNG files of KITTI, the value 0 means no estimate. The function
    # `write_disparity` therefore stores a disparity of 0 as the smallest positive
    # value.
    "kitti2015": BenchmarkFormat(map_path="{part}/disp_0/{scene}.png"),
    "eth3d": BenchmarkFormat(
        map_path="low_res_two_view/{scene}.pfm",
        time_path="low_res_two_view/{scene}.txt",
        time_text="runtime {:.6g}\n",
    ),
}
"""Dictionary from the name of a benchmark's data set to the format of a submission."""


def export_maps(results: Sequence[Result], benchmark: str, method: str, folder: Path) -> list[str]:
    """Write the disparity maps of a method in the file format of a benchmark.

    Parameters
    ----------
    results : sequence of Result
        Results of one setting of the method. The function ignores results without a
        stored disparity map, and results on scenes of other data sets.
    benchmark : str
        Name of the benchmark, which is a key of `BENCHMARKS`.
    method : str
        Name of the method in the submission. File names contain only the letters and
        digits of this name, and the characters ``-`` and ``_``.
    folder : Path
        Folder that receives the files of the submission.

    Returns
    -------
    list of str
        Remarks about missing files. The list has one remark for each disparity map
        whose file does not exist any more, and for each missing run time.

    Raises
    ------
    DataError
        The results contain no disparity map of a scene of the benchmark, or a disparity
        map cannot be stored in the file format of the benchmark.
    """
    benchmark_format = BENCHMARKS[benchmark]
    result_of_scene = _results_with_map(results, data_set=benchmark)
    if not result_of_scene:
        message = (
            f"{method}: there is no map of a scene of {benchmark}; run the method with --maps on "
            f"such scenes, for example with --scene {benchmark}"
        )
        raise DataError(message)

    remarks: list[str] = []
    for scene, result in result_of_scene.items():
        disparity = result.disparity
        if disparity is None:
            remarks.append(f"{method}: the map of {result.scene} was not found in {result.map}")
            continue
        has_holes = bool(np.isnan(disparity).any())
        fields = _path_fields(scene, method, has_holes=has_holes)
        write_disparity(_path_in(folder, benchmark_format.map_path, fields), disparity)
        if not benchmark_format.time_path:
            continue

        time_path = _path_in(folder, benchmark_format.time_path, fields)
        seconds = result.matching_seconds
        if seconds is None:
            remarks.append(
                f"{method}: the run time on {result.scene} is not known, but the benchmark "
                f"expects it in {benchmark_format.time_path.format(**fields)}"
            )
        else:
            write_bytes(time_path, benchmark_format.time_text.format(seconds).encode())
    return remarks


def _results_with_map(results: Sequence[Result], data_set: str) -> dict[str, Result]:
    """Return a result with a stored disparity map for each scene of a data set.

    The keys of the dictionary are the names of the scenes without the name of the data
    set. If a scene has several results, the dictionary contains the last result.
    """
    prefix = f"{data_set}/"
    result_of_scene: dict[str, Result] = {}
    for result in results:
        if result.map is not None and result.scene.startswith(prefix):
            result_of_scene[result.scene.removeprefix(prefix)] = result
    return result_of_scene


def _path_fields(scene: str, method: str, *, has_holes: bool) -> dict[str, str]:
    """Return the values of the fields that the paths of a `BenchmarkFormat` contain."""
    folder, _, scene_name = scene.rpartition("/")
    return {
        "scene": scene_name,
        "folder": folder,
        "part": folder or "training",
        "method": re.sub(r"[^\w-]", "", method),
        "holes": "_s" if has_holes else "",
    }


def _path_in(folder: Path, template: str, fields: Mapping[str, str]) -> str:
    """Return the path of a file in a folder.

    The function returns a text, because the name of a scene in a results folder of
    another person may be an absolute path. The expression `folder / name` would then be
    a path outside the folder. The function `output_folder` refuses other paths that
    lead out of the folder.
    """
    return f"{folder}/{template.format(**fields)}"
