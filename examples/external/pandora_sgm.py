"""Pandora as a program: ``python pandora_sgm.py LEFT RIGHT OUTPUT MINIMUM MAXIMUM`` writes its disparities as .npy.

Pandora (https://github.com/CNES/Pandora) runs in an environment of its own, whose Python the script names::

    matcher: {use: command, map_format: npy, grey: true, command_line: "/path/to/env/bin/python pandora_sgm.py {left} {right} {output} {minimum} {maximum}"}

Its disparities count to the right, ours to the left; pixels that it calls invalid have no estimate.
"""

import sys

import numpy as np
import pandora
from pandora.img_tools import create_dataset_from_inputs
from pandora.state_machine import PandoraMachine

PIPELINE = {
    "pipeline": {
        "matching_cost": {"matching_cost_method": "census", "window_size": 5},
        "disparity": {"disparity_method": "wta", "invalid_disparity": "NaN"},
        "refinement": {"refinement_method": "vfit"},
        "filter": {"filter_method": "median"},
    }
}


def main() -> None:
    """Match one pair."""
    left, right, output, minimum, maximum = sys.argv[1:]
    ends = [-int(np.ceil(float(maximum))), -int(np.floor(float(minimum)))]
    images = []
    for file, disparities in ((left, ends), (right, [-ends[1], -ends[0]])):
        images.append(
            create_dataset_from_inputs({"img": file, "disp": disparities, "nodata": -9999})
        )
    machine = PandoraMachine()
    found, _ = pandora.run(machine, *images, PIPELINE)
    disparity = -found["disparity_map"].data.astype(np.float32)
    np.save(output, disparity)


if __name__ == "__main__":
    main()
