"""The judges of what is asked, by their names in ``paper.yaml``. Each takes errors by group, method and scene."""

from __future__ import annotations

from collections.abc import Mapping

from stereo_framework.papers.claim import Cases, claims
from stereo_framework.papers.photographs.left_out import Found, fewer, mean_error

_PIXELS = "{:.3f} px"


def census_instead_of_differences(found: Found) -> Cases:
    for after in ("window", "paths"):
        yield from fewer(found, f"census_{after}", f"ad_truncated_{after}")


def census_in_changed_light(lights: Mapping[str, Found]) -> Cases:
    for light, found in lights.items():
        for figures, holds in fewer(found, "census_paths", "ad_truncated_paths"):
            yield f"{light}: {figures}", holds


def information_at_gamma(lights: Mapping[str, Found]) -> Cases:
    return fewer(lights["gamma 1.5"], "mutual_information_paths", "census_paths")


def light_before_differences(lights: Mapping[str, Found]) -> Cases:
    for light in ("exposure .6", "vignetting .6"):
        for name in ("ad_bilateral_paths", "ad_field_paths"):
            for figures, holds in fewer(lights[light], name, "ad_paths"):
                yield f"{light}: {figures}", holds


def shiftable_best(found: Found) -> Cases:
    for other in ("box", "binomial", "diffusion", "membrane"):
        yield from fewer(found, "shiftable", other)


def weights_instead_of_windows(found: Found) -> Cases:
    for name in ("guided_filter", "support_weights"):
        yield from fewer(found, name, "shiftable")


def graph_cuts_best(found: Found) -> Cases:
    for other in ("dynamic_programming", "scanline"):
        yield from fewer(found, "expansion", other)


def two_dimensions_best(found: Found) -> Cases:
    for name in ("belief_propagation", "trw_s", "expansion"):
        for other in ("winner_take_all", "dynamic_programming", "scanline"):
            yield from fewer(found, name, other)


def paths_instead_of_graph_cuts(found: Found) -> Cases:
    return fewer(found, "semi_global_8", "expansion")


def planes_instead_of_levels(found: Found) -> Cases:
    for other in ("belief_propagation", "trw_s", "expansion", "semi_global_8"):
        yield from fewer(found, "plane_paths", other)


def fit_always_helps(distances: Found) -> Cases:
    for name in ("parabola", "equiangular"):
        yield from fewer(distances, name, "whole", _PIXELS)


def half_pixels_adequate(distances: Found) -> Cases:
    for group, methods in distances.items():
        half, quarter = (mean_error(methods[name]) for name in ("half_parabola", "quarter_parabola"))
        yield f"{group}: {half:.3f} px at half, {quarter:.3f} px at quarter pixels", quarter > 0.95 * half


def planes_nearest(distances: Found) -> Cases:
    return fewer(distances, "planes", "half_parabola", _PIXELS)


def every_step_helps(everywhere: Found) -> Cases:
    for name in ("sgm", "fine"):
        for without in sorted({m for methods in everywhere.values() for m in methods if m.startswith(f"{name}_no_")}):
            yield from fewer(everywhere, name, without)


def shiftable_good_choice(found: Found) -> Cases:
    for other in ("census", "sgm", "bm"):
        yield from fewer(found, "ssd", other)


def global_ahead(found: Found) -> Cases:
    for other in ("ssd", "dp", "so"):
        yield from fewer(found, "sgm", other)


CLAIMS = claims("photographs", globals())
"""All that is asked, by name."""
