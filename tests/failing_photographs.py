"""The study of photographs, and errors on each side of every rule of its, by the name of what is asked."""

from pathlib import Path

from pandas import DataFrame

from stereo_framework.core.plugins import import_file
from stereo_framework.papers import PAPERS, find_paper

study = import_file("photographs", Path(__file__).parents[1] / "benchmarks/photographs.py")
PAPER = find_paper("photographs")
PAPERS.forget("photographs")  # what no test asked for

SCENES = {"photographs": 10, "roads": 8}


def _chosen(value, count, worse):
    """A value on all scenes but the first `worse`, where it is 100."""
    return [100.0 if i < worse else float(value + i) for i in range(count)]


def found(worse=0, **values):
    """Methods with a value each; on the first scenes the first method is worse than all others."""
    first = next(iter(values))
    rows = [
        (group, method, f"scene{i}", error)
        for group, count in SCENES.items()
        for method, value in values.items()
        for i, error in enumerate(_chosen(value, count, worse * (method == first)))
    ]
    return DataFrame(rows, columns=["group", "method", "scene", "error"])


def _costs(**changed):
    values = {
        "census_window": 1,
        "census_paths": 1,
        "ad_truncated_window": 2,
        "ad_truncated_paths": 2,
    }
    return found(**(values | changed))


def _lights(**changed):
    values = {
        "census_paths": 2,
        "ad_truncated_paths": 3,
        "mutual_information_paths": 1,
        "ad_paths": 9,
        "ad_bilateral_paths": 2,
        "ad_field_paths": 2,
    }
    return {
        light: found(**(values | changed))
        for light in ("exposure .6", "gamma 1.5", "vignetting .6")
    }


STEPS = {"sgm": 1, "sgm_no_median": 2, "fine": 1, "fine_no_median": 2}


def _before(ours, others):
    """All of ours are before all others; one of ours is as bad as these, or one of these as good as ours."""
    values = dict.fromkeys(ours.split(), 1) | dict.fromkeys(others.split(), 2)
    return [found(**values)], [
        found(**values | {name: 3 - value}) for name, value in values.items()
    ]


SIDES = {
    "census_instead_of_differences": (
        # Nine of ten and seven of eight: of roads, chance is not ruled out.
        [_costs()],
        [
            _costs(census_window=3),
            found(1, census_paths=1, ad_truncated_paths=2),
            _costs(ad_truncated_paths=1),
        ],
    ),
    "census_in_changed_light": ([_lights()], [_lights(census_paths=4)]),
    "information_at_gamma": ([_lights()], [_lights(mutual_information_paths=2)]),
    "light_before_differences": (
        [_lights()],
        [_lights(ad_field_paths=10), _lights(ad_bilateral_paths=10)],
    ),
    "half_pixels_adequate": (
        [found(half_parabola=95, quarter_parabola=91)],
        [found(half_parabola=95.5, quarter_parabola=85.5)],
    ),
    "every_step_helps": (
        [found(**STEPS)],
        [found(**STEPS | {"sgm_no_median": 1}), found(**STEPS | {"fine_no_median": 0})],
    ),
    "shiftable_best": _before("shiftable", "box binomial diffusion membrane"),
    "weights_instead_of_windows": _before("guided_filter support_weights", "shiftable"),
    "graph_cuts_best": _before("expansion", "dynamic_programming scanline"),
    "two_dimensions_best": _before(
        "belief_propagation trw_s expansion", "winner_take_all dynamic_programming scanline"
    ),
    "paths_instead_of_graph_cuts": _before("semi_global_8", "expansion"),
    "planes_instead_of_levels": _before(
        "plane_paths", "belief_propagation trw_s expansion semi_global_8"
    ),
    "fit_always_helps": _before("parabola equiangular", "whole"),
    "planes_nearest": _before("planes", "half_parabola"),
    "shiftable_good_choice": _before("ssd", "census sgm bm"),
    "global_ahead": _before("sgm", "ssd dp so"),
}
