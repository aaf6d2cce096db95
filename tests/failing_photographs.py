"""Errors on each side of every rule of the study of photographs, by the name of what is asked."""

from pandas import DataFrame

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
    values = {"census_window": 1, "census_paths": 1, "ad_truncated_window": 2, "ad_truncated_paths": 2}
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
    return {light: found(**(values | changed)) for light in ("exposure .6", "gamma 1.5", "vignetting .6")}


OPTIMIZERS = {
    "plane_paths": 1,
    "semi_global_8": 2,
    "expansion": 3,
    "belief_propagation": 3,
    "trw_s": 3,
    "dynamic_programming": 4,
    "scanline": 4,
    "winner_take_all": 5,
}
AGGREGATION = {"shiftable": 2, "box": 3, "binomial": 3, "diffusion": 3, "membrane": 3, "guided_filter": 1, "support_weights": 1}
STEPS = {"sgm": 1, "sgm_no_median": 2, "fine": 1, "fine_no_median": 2}
DISTANCES = {"planes": 0.1, "half_parabola": 0.2, "quarter_parabola": 0.2, "parabola": 0.3, "equiangular": 0.3, "whole": 0.4}

SIDES = {
    "census_instead_of_differences": (
        # Nine of ten and seven of eight: of roads, chance is not ruled out.
        [(_costs(),)],
        [(_costs(census_window=3),), (found(1, census_paths=1, ad_truncated_paths=2),), (_costs(ad_truncated_paths=1),)],
    ),
    "census_in_changed_light": ([(_lights(),)], [(_lights(census_paths=4),)]),
    "information_at_gamma": ([(_lights(),)], [(_lights(mutual_information_paths=2),)]),
    "light_before_differences": ([(_lights(),)], [(_lights(ad_field_paths=10),), (_lights(ad_bilateral_paths=10),)]),
    "shiftable_best": (
        [(found(**AGGREGATION),)],
        [(found(**AGGREGATION | {other: 1}),) for other in ("box", "binomial", "diffusion", "membrane")],
    ),
    "weights_instead_of_windows": (
        [(found(**AGGREGATION),)],
        [(found(**AGGREGATION | {other: 3}),) for other in ("guided_filter", "support_weights")],
    ),
    "graph_cuts_best": (
        [(found(**OPTIMIZERS),)],
        [(found(**OPTIMIZERS | {other: 2}),) for other in ("dynamic_programming", "scanline")],
    ),
    "two_dimensions_best": (
        [(found(**OPTIMIZERS),)],
        [(found(**OPTIMIZERS | {other: 4}),) for other in ("belief_propagation", "trw_s", "expansion")],
    ),
    "paths_instead_of_graph_cuts": ([(found(**OPTIMIZERS),)], [(found(**OPTIMIZERS | {"expansion": 2}),)]),
    "planes_instead_of_levels": ([(found(**OPTIMIZERS),)], [(found(**OPTIMIZERS | {"trw_s": 1}),)]),
    "fit_always_helps": (
        [(found(**DISTANCES),)],
        [(found(**DISTANCES | {"parabola": 0.5}),), (found(**DISTANCES | {"equiangular": 0.5}),)],
    ),
    "half_pixels_adequate": (
        [(found(half_parabola=95, quarter_parabola=91),)],
        [(found(half_parabola=95.5, quarter_parabola=85.5),)],
    ),
    "planes_nearest": ([(found(**DISTANCES),)], [(found(**DISTANCES | {"planes": 0.3}),)]),
    "every_step_helps": (
        [(found(**STEPS),)],
        [(found(**STEPS | {"sgm_no_median": 1}),), (found(**STEPS | {"fine_no_median": 0}),)],
    ),
    "shiftable_good_choice": (
        [(found(ssd=1, census=2, sgm=2, bm=2),)],
        [(found(**{"ssd": 1, "census": 2, "sgm": 2, "bm": 2, other: 0}),) for other in ("census", "sgm", "bm")],
    ),
    "global_ahead": (
        [(found(sgm=1, ssd=2, dp=2, so=2),)],
        [(found(**{"sgm": 1, "ssd": 2, "dp": 2, "so": 2, other: 1}),) for other in ("ssd", "dp", "so")],
    ),
}
