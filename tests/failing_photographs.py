"""The study of photographs, and errors on each side of the rules of its sentences."""

from pathlib import Path

from pandas import DataFrame

from stereo_framework.core.plugins import import_file
from stereo_framework.papers import PAPERS, find_paper

study = import_file("photographs", Path(__file__).parents[1] / "benchmarks/photographs.py")
PAPER = find_paper("photographs")
# The paper of the plug-in must not stay for other tests.
PAPERS.remove("photographs")

SCENES = {"photographs": 10, "roads": 8}


def _errors_by_scene(value, count, worse):
    """Return values that grow from scene to scene, after 100 on the first scenes."""
    return [100.0 if i < worse else float(value + i) for i in range(count)]


def planted_errors(worse=0, **values):
    """Return errors of methods; the first method has the most on the first scenes."""
    first = next(iter(values))
    rows = []
    for group, count in SCENES.items():
        for method, value in values.items():
            worse_scenes = worse if method == first else 0
            for i, error in enumerate(_errors_by_scene(value, count, worse_scenes)):
                rows.append((group, method, f"scene{i}", error))
    return DataFrame(rows, columns=["group", "method", "scene", "error"])


COSTS = {"census_window": 1, "census_paths": 1, "ad_truncated_window": 2, "ad_truncated_paths": 2}
LIGHTS = {
    "census_paths": 2,
    "ad_truncated_paths": 3,
    "mutual_information_paths": 1,
    "ad_paths": 9,
    "ad_bilateral_paths": 2,
    "ad_field_paths": 2,
}
STEPS = {"sgm": 1, "sgm_no_median": 2, "fine": 1, "fine_no_median": 2}


def _lights(**changes):
    return {
        light: planted_errors(**(LIGHTS | changes))
        for light in ("exposure .6", "gamma 1.5", "vignetting .6")
    }


def _costs(**changes):
    return planted_errors(**(COSTS | changes))


def _sides(ours, others):
    """Return errors with which ours are ahead, one method is not, and two are equal."""
    values = dict.fromkeys(ours.split(), 1) | dict.fromkeys(others.split(), 2)
    worse = dict.fromkeys(ours.split(), 3) | dict.fromkeys(others.split(), 0)
    holding = [planted_errors(**values)]
    failing = [planted_errors(**(values | {name: error})) for name, error in worse.items()]
    # With equal errors no comparison is significant.
    equal = [planted_errors(**(values | {name: 3 - error})) for name, error in values.items()]
    return holding, failing, equal


_RULES = {
    "census_instead_of_differences": (
        [_costs()],
        [_costs(census_window=3), _costs(ad_truncated_paths=0)],
        # Nine of ten photographs suffice, seven of eight roads do not.
        [planted_errors(1, **COSTS), _costs(ad_truncated_paths=1)],
    ),
    "census_in_changed_light": (
        [_lights()],
        [_lights(census_paths=4)],
        [_lights(census_paths=3)],
    ),
    "information_at_gamma": (
        [_lights()],
        [_lights(mutual_information_paths=3)],
        [_lights(mutual_information_paths=2)],
    ),
    "light_before_differences": (
        [_lights()],
        [_lights(ad_field_paths=10), _lights(ad_bilateral_paths=10)],
        [_lights(ad_field_paths=9), _lights(ad_bilateral_paths=9)],
    ),
    # The rule compares 95 % of the errors of half pixels.
    "half_pixels_adequate": (
        [planted_errors(half_parabola=95, quarter_parabola=91)],
        [planted_errors(half_parabola=95, quarter_parabola=85)],
        [planted_errors(6, half_parabola=95, quarter_parabola=91)],
    ),
    "every_step_helps": (
        [planted_errors(**STEPS)],
        [
            planted_errors(**(STEPS | {"sgm_no_median": 0})),
            planted_errors(**(STEPS | {"fine_no_median": 0})),
        ],
        [planted_errors(**(STEPS | {"sgm_no_median": 1})), planted_errors(1, **STEPS)],
    ),
    "shiftable_best": _sides("shiftable", "box binomial diffusion membrane"),
    "weights_instead_of_windows": _sides("guided_filter support_weights", "shiftable"),
    "graph_cuts_best": _sides("expansion", "dynamic_programming scanline"),
    "two_dimensions_best": _sides(
        "belief_propagation trw_s expansion", "winner_take_all dynamic_programming scanline"
    ),
    "paths_instead_of_graph_cuts": _sides("semi_global_8", "expansion"),
    "planes_instead_of_levels": _sides(
        "plane_paths", "belief_propagation trw_s expansion semi_global_8 semi_global_8_refined"
    ),
    "fit_always_helps": (
        [planted_errors(parabola=1, equiangular=1, half_parabola=1, whole=2, half_levels=2)],
        [
            planted_errors(parabola=3, equiangular=1, half_parabola=1, whole=2, half_levels=2),
            planted_errors(parabola=1, equiangular=1, half_parabola=3, whole=2, half_levels=2),
        ],
        [planted_errors(parabola=1, equiangular=2, half_parabola=1, whole=2, half_levels=2)],
    ),
    "planes_nearest": _sides("planes", "half_parabola half_parabola_smooth"),
    "shiftable_good_choice": _sides("shiftable_census", "census sgm bm"),
    "global_ahead": _sides("sgm", "ssd dp so dp_census so_census"),
}

SIDES = {name: rules[:2] for name, rules in _RULES.items()}
UNDECIDED = {name: rules[2] for name, rules in _RULES.items()}
