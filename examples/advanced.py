"""Stages put together by hand: a cost, its support, semi-global paths, a check of both views; and a sweep over one parameter.

python examples/advanced.py
"""

import stereo_framework
from stereo_framework import Pipeline, evaluate, load_scene, step
from stereo_framework.matching_cost import census
from stereo_framework.optimization import semi_global
from stereo_framework.refinement import equiangular, fill_occlusions, left_right_check, median

scene = load_scene("synthetic/occlusions")
method = Pipeline(
    [
        step(census, width=9, height=7),
        step(semi_global, paths=8, p1=20, p2=100),
        equiangular,
        left_right_check,
        fill_occlusions,
        median,
    ]
)
match = method(scene)
print(method)
print(
    f"{evaluate(match.disparity, scene)['bad_pixels_all']:.1f} % bad pixels, {sum(match.seconds.values()):.2f} s"
)

# The same as a script; the check's settings share everything before it, so each view is matched once.
script = {
    "name": "census_paths",
    "matching_cost": {"use": "census"},
    "optimization": {"use": "semi_global"},
    "refinement": [{"use": "left_right_check"}],
    "sweep": {"grid": {"refinement.left_right_check.tolerance": [0, 1, 2]}},
}
for result in stereo_framework.run(script, scenes=[scene]):
    print(result.axes, f"{result.statistics['fraction_matched']:.0%} of the pixels matched")
