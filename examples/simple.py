"""One call: match a scene by a named method, measure the map and write it to a file.

python examples/simple.py [FOLDER]
"""

import sys
from pathlib import Path

import stereo_framework
from stereo_framework.io import write_disparity

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)

[result] = stereo_framework.run("ssd", scenes="synthetic/planes")
write_disparity(folder / "planes.pfm", result.disparity)
print(
    f"{result.statistics['bad_pixels_nonocc']:.1f} % of the non-occluded pixels are off by more than a pixel"
)
