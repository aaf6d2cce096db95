"""Comparison of Pandora with the scripts that the command ``import`` writes.

    python -m venv pandora
    pandora/bin/pip install pandora==1.9.0 pandora_plugin_libsgm==1.5.8 libSGM==0.5.2
    export PANDORA=pandora/bin/pandora
    python benchmarks/pandora_import.py [CONFIGURATION ...] [--scene cones]

Both programs match the luma of the images, in whole grey levels. If a configuration
selects the band r, g or b, both match this channel. The search range is that of the
configuration. The program prints a row of a Markdown table for each configuration.
Without a configuration, it compares short pipelines that show the effect of one step.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from stereo_framework import load_scene, run
from stereo_framework.io import write_image
from stereo_framework.script.pandora import convert_pandora

CHANNELS = {"r": 0, "g": 1, "b": 2}
TOLERANCE = 0.5
"""Largest difference of disparities that agree, in pixels."""

INVALID = 0b1111000011
"""Bits of Pandora's validity mask that mark pixels without a valid disparity."""

DISPARITY = {"disparity_method": "wta", "invalid_disparity": "NaN"}
SGM = {"optimization_method": "sgm"}
CBCA = {"aggregation_method": "cbca"}
CENSUS = {"matching_cost_method": "census", "window_size": 5}
CORRELATION = {"matching_cost_method": "zncc", "window_size": 7}

COST_STEPS: dict[str, dict[str, Any]] = {
    "census": {"matching_cost": CENSUS},
    "sad": {"matching_cost": {"matching_cost_method": "sad", "window_size": 5}},
    "ssd": {"matching_cost": {"matching_cost_method": "ssd", "window_size": 5}},
    "zncc": {"matching_cost": CORRELATION},
    "zncc, cross_checking_fast": {"matching_cost": CORRELATION},
    "zncc, fixed_zoom_pyramid": {"matching_cost": CORRELATION},
    "zncc, bilateral": {"matching_cost": CORRELATION},
    "census, cbca": {"matching_cost": CENSUS, "aggregation": CBCA},
    "census, sgm": {"matching_cost": CENSUS, "optimization": SGM},
    "census, sgm, overcounting": {
        "matching_cost": CENSUS,
        "optimization": {**SGM, "overcounting": True},
    },
    "census, sgm, interpolated": {"matching_cost": CENSUS, "optimization": SGM},
}
"""Steps before the choice of disparities, by the name of the pipeline."""

LATER_STEPS: dict[str, dict[str, Any]] = {
    "zncc, cross_checking_fast": {"validation": {"validation_method": "cross_checking_fast"}},
    "zncc, fixed_zoom_pyramid": {"multiscale": {"multiscale_method": "fixed_zoom_pyramid"}},
    "zncc, bilateral": {"filter": {"filter_method": "bilateral"}},
    "census, sgm, interpolated": {
        "validation": {
            "validation_method": "cross_checking_accurate",
            "interpolated_disparity": "sgm",
        }
    },
}
"""Steps after the choice of disparities, by the name of the pipeline."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="CONFIGURATION")
    parser.add_argument("--scene", default="cones")
    arguments = parser.parse_args()
    print(f"| configuration | valid in both | agree within {TOLERANCE:g} pixels |")
    print("| --- | --- | --- |")
    configurations = {file.stem: json.loads(file.read_text()) for file in arguments.files}
    for name, configuration in (configurations or short_configurations()).items():
        valid_share, agreeing_share = compare(name, configuration, arguments.scene)
        print(f"| `{name}` | {valid_share:.3f} | {agreeing_share:.4f} |", flush=True)


def short_configurations() -> dict[str, Any]:
    """Return the configurations of the short pipelines, by name."""
    configurations = {}
    for name, cost_steps in COST_STEPS.items():
        pipeline = {**cost_steps, "disparity": DISPARITY, **LATER_STEPS.get(name, {})}
        sides = {"left": {"disp": [-60, 0]}, "right": {}}
        configurations[name] = {"input": sides, "pipeline": pipeline}
    return configurations


def compare(name: str, configuration: dict[str, Any], scene_name: str) -> tuple[float, float]:
    """Return the share of pixels valid in both maps, and the share that agrees."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_images(folder, scene_name, _taken_band(configuration))
        _complete_input(configuration, folder)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(configuration))
        their_map = map_of_pandora(path, folder / "out")
        script = convert_pandora(path, lambda note: None)
        [result] = run({**script, "scenes": [str(folder)]})
    differences = np.abs(result.disparity - their_map)
    is_valid = np.isfinite(differences)
    return float(is_valid.mean()), float((differences[is_valid] <= TOLERANCE).mean())


def _taken_band(configuration: dict[str, Any]) -> str | None:
    """Remove the band from a configuration, and return it.

    Both programs get images with only this channel, and Pandora accepts no band then.
    """
    band: str | None = configuration["pipeline"]["matching_cost"].pop("band", None)
    return band


def _write_images(folder: Path, scene_name: str, band: str | None) -> None:
    """Write the grey images of a scene, which both programs match."""
    scene = load_scene(scene_name)
    for side, image in (("left", scene.reference), ("right", scene.match)):
        if band is None:
            grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        else:
            grey = image[:, :, CHANNELS[band]]
        write_image(folder / f"{side}.png", grey)
    (folder / "scene.yaml").write_text("frames: [left.png, right.png]\n")


def _complete_input(configuration: dict[str, Any], folder: Path) -> None:
    """Name the images, and let every intensity be valid."""
    for side in ("left", "right"):
        part = configuration["input"][side]
        part["img"] = str(folder / f"{side}.png")
        part["nodata"] = -9999


def map_of_pandora(path: Path, out: Path) -> np.ndarray:
    """Run Pandora, and return its map in our sign, with NaN at invalid pixels."""
    program = os.environ.get("PANDORA", "pandora")
    subprocess.run([program, str(path), str(out)], check=True, capture_output=True)
    disparity = cv2.imread(str(out / "left_disparity.tif"), cv2.IMREAD_UNCHANGED)
    validity = cv2.imread(str(out / "left_validity_mask.tif"), cv2.IMREAD_UNCHANGED)
    if disparity is None or validity is None:
        raise SystemExit(f"{program} wrote no map for {path.name}")
    is_valid = (validity & INVALID) == 0
    return np.where(is_valid, -disparity, np.nan)


if __name__ == "__main__":
    main()
