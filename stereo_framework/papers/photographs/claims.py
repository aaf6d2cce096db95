"""The judges of what is asked, by their names in ``paper.yaml``. Each takes errors by group, method and scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pandas import DataFrame

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.photographs.left_out import fewer


def _before(methods: Sequence[str], others: Sequence[str], form: str = "{:.1f} %") -> Callable[[DataFrame], Cases]:
    """The judge of whether each of these methods has fewer errors than each of the others."""
    return lambda found: [case for one in methods for other in others for case in fewer(found, one, other, form)]


def census_instead_of_differences(found: DataFrame) -> Cases:
    for after in ("window", "paths"):
        yield from fewer(found, f"census_{after}", f"ad_truncated_{after}")


def _in_light(lights: Mapping[str, DataFrame], light: str, method: str, other: str) -> Cases:
    return ((f"{light}: {figures}", holds) for figures, holds in fewer(lights[light], method, other))


def census_in_changed_light(lights: Mapping[str, DataFrame]) -> Cases:
    for light in lights:
        yield from _in_light(lights, light, "census_paths", "ad_truncated_paths")


def information_at_gamma(lights: Mapping[str, DataFrame]) -> Cases:
    return fewer(lights["gamma 1.5"], "mutual_information_paths", "census_paths")


def light_before_differences(lights: Mapping[str, DataFrame]) -> Cases:
    for light in ("exposure .6", "vignetting .6"):
        for name in ("ad_bilateral_paths", "ad_field_paths"):
            yield from _in_light(lights, light, name, "ad_paths")


def half_pixels_adequate(found: DataFrame) -> Cases:
    means = found.groupby(["group", "method"], sort=False)["error"].mean().unstack(sort=False)
    for group, half, quarter in means[["half_parabola", "quarter_parabola"]].itertuples():
        yield f"{group}: {half:.3f} px at half, {quarter:.3f} px at quarter pixels", quarter > 0.95 * half


def every_step_helps(found: DataFrame) -> Cases:
    for name in ("sgm", "fine"):
        for without in sorted(m for m in found["method"].unique() if m.startswith(f"{name}_no_")):
            yield from fewer(found, name, without)


shiftable_best = _before(["shiftable"], ["box", "binomial", "diffusion", "membrane"])
weights_instead_of_windows = _before(["guided_filter", "support_weights"], ["shiftable"])
graph_cuts_best = _before(["expansion"], ["dynamic_programming", "scanline"])
two_dimensions_best = _before(
    ["belief_propagation", "trw_s", "expansion"], ["winner_take_all", "dynamic_programming", "scanline"]
)
paths_instead_of_graph_cuts = _before(["semi_global_8"], ["expansion"])
planes_instead_of_levels = _before(["plane_paths"], ["belief_propagation", "trw_s", "expansion", "semi_global_8"])
fit_always_helps = _before(["parabola", "equiangular"], ["whole"], "{:.3f} px")
planes_nearest = _before(["planes"], ["half_parabola"], "{:.3f} px")
shiftable_good_choice = _before(["ssd"], ["census", "sgm", "bm"])
global_ahead = _before(["sgm"], ["ssd", "dp", "so"])
