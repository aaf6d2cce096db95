"""The judges of what is asked, by their names in ``paper.yaml``. Each takes errors by group, method and scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.photographs.left_out import Found, fewer


def _before(others: Mapping[str, tuple[str, ...]]) -> Callable[[Found], Cases]:
    """The judge of whether each method has fewer errors than all of its others."""
    return lambda found: [case for name, own in others.items() for other in own for case in fewer(found, name, other)]


def _nearer(others: Mapping[str, str]) -> Callable[[Found], Cases]:
    """The judge of whether each method has a lower RMS error than the other one."""
    return lambda distances: [case for name, other in others.items() for case in fewer(distances, name, other, "{:.3f} px")]


def _in_light(found: Found, light: str, method: str, other: str) -> Cases:
    return [(f"{light}: {figures}", holds) for figures, holds in fewer(found, method, other)]


def census_in_changed_light(lights: Mapping[str, Found]) -> Cases:
    for light, found in lights.items():
        yield from _in_light(found, light, "census_paths", "ad_truncated_paths")


def information_at_gamma(lights: Mapping[str, Found]) -> Cases:
    return fewer(lights["gamma 1.5"], "mutual_information_paths", "census_paths")


def light_before_differences(lights: Mapping[str, Found]) -> Cases:
    for light in ("exposure .6", "vignetting .6"):
        for name in ("ad_bilateral_paths", "ad_field_paths"):
            yield from _in_light(lights[light], light, name, "ad_paths")


def half_pixels_adequate(distances: Found) -> Cases:
    for group, methods in distances.items():
        half, quarter = (methods[name]["error"].mean() for name in ("half_parabola", "quarter_parabola"))
        yield f"{group}: {half:.3f} px at half, {quarter:.3f} px at quarter pixels", quarter > 0.95 * half


def every_step_helps(found: Found) -> Cases:
    for name in ("sgm", "fine"):
        for without in sorted({m for methods in found.values() for m in methods if m.startswith(f"{name}_no_")}):
            yield from fewer(found, name, without)


census_instead_of_differences = _before({f"census_{after}": (f"ad_truncated_{after}",) for after in ("window", "paths")})
shiftable_best = _before({"shiftable": ("box", "binomial", "diffusion", "membrane")})
weights_instead_of_windows = _before({"guided_filter": ("shiftable",), "support_weights": ("shiftable",)})
graph_cuts_best = _before({"expansion": ("dynamic_programming", "scanline")})
two_dimensions_best = _before(
    dict.fromkeys(("belief_propagation", "trw_s", "expansion"), ("winner_take_all", "dynamic_programming", "scanline"))
)
paths_instead_of_graph_cuts = _before({"semi_global_8": ("expansion",)})
planes_instead_of_levels = _before({"plane_paths": ("belief_propagation", "trw_s", "expansion", "semi_global_8")})
fit_always_helps = _nearer({"parabola": "whole", "equiangular": "whole"})
planes_nearest = _nearer({"planes": "half_parabola"})
shiftable_good_choice = _before({"ssd": ("census", "sgm", "bm")})
global_ahead = _before({"sgm": ("ssd", "dp", "so")})
