"""Pandora's chain as a plug-in, run by its own program in a process of its own, so that nothing of it need be installed beside this framework.

    python -m venv pandora && pandora/bin/pip install 'pandora>=1.9' pandora_plugin_libsgm
    PANDORA=pandora/bin/pandora python scripts/method_tables.py --pandora

It stands in the tables of docs/results.md.
"""

import json
import math
import os
import subprocess
import tempfile
from pathlib import Path

import cv2
import numpy as np

from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.registration import stage
from stereo_framework.core.scene import Disparity, Image, SearchRange
from stereo_framework.io import write_image

PIPELINE = {
    "matching_cost": {"matching_cost_method": "census", "window_size": 5},
    "optimization": {"optimization_method": "sgm"},
    "disparity": {"disparity_method": "wta", "invalid_disparity": "NaN"},
    "refinement": {"refinement_method": "vfit"},
    "filter": {"filter_method": "median", "filter_size": 3},
    "validation": {"validation_method": "cross_checking_accurate", "interpolated_disparity": "sgm"},
    "filter.after": {"filter_method": "median", "filter_size": 3},
}
"""Its documentation's chain: census, libSGM's paths with their usual penalties, parabola-like peak, check of both views, Hirschmueller's filling."""


@stage("matcher", source="Pandora 1.9 with libSGM 0.5: Cournet et al. 2020")
def pandora_sgm(reference: Image, match: Image, search: SearchRange) -> Disparity:
    """Census and semi-global matching by Pandora and libSGM, of the grey images.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Only its ends are used: Pandora goes from pixel to pixel.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    StereoFrameworkError
        The program ``pandora``, or that which the environment variable PANDORA names, is missing or fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for stem, image in (("left", reference), ("right", match)):
            grey = np.rint(image if image.ndim == 2 else image.mean(axis=2)).astype(np.uint8)
            write_image(folder / f"{stem}.png", grey)
        # What we call d it calls -d, and looks for it to the other side.
        ends = sorted(
            -search.direction * end
            for end in (math.floor(search.minimum), math.ceil(search.maximum))
        )
        left = {"img": str(folder / "left.png"), "nodata": -9999, "disp": ends}
        sides = {"left": left, "right": {"img": str(folder / "right.png"), "nodata": -9999}}
        given = {"input": sides, "pipeline": PIPELINE}
        (folder / "config.json").write_text(json.dumps(given))
        program = os.environ.get("PANDORA", "pandora")
        try:
            done = subprocess.run(
                [program, str(folder / "config.json"), str(folder / "out")],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise StereoFrameworkError(
                f"{program}: {error.strerror}; set PANDORA to Pandora's program"
            ) from None
        found = cv2.imread(str(folder / "out" / "left_disparity.tif"), cv2.IMREAD_UNCHANGED)
        if done.returncode or found is None:
            raise StereoFrameworkError(
                f"{program} failed: {(done.stderr.strip() or 'no message').splitlines()[-1]}"
            )
    # Its windows leave the outermost rows without any estimate, where filling along rows finds nothing: they take those of the row next to them.
    some = np.flatnonzero(~np.isnan(found).all(axis=1))
    nearest = np.clip(np.arange(len(found)), some[0], some[-1]) if some.size else slice(None)
    return (-search.direction * found[nearest]).astype(np.float32)
