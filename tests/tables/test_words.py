import pytest

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework.tables.words import unit, with_unit

UNITS = {
    "passes": ["preprocessing.binomial_blur.iterations", "aggregation.box.iterations", "aggregation.binomial.iterations"],
    "grey levels": [
        "matching_cost.truncation",
        "matching_cost.absolute_difference.truncation",
        "smoothness.gradient_threshold",
        "optimization.gradient_threshold",
    ],
    "pixels": [
        "search.step",
        "matching_cost.size",
        "aggregation.box.size",
        "aggregation.min_filter.size",
        "aggregation.0.size",
        "optimization.size",
    ],
    "units of the matching cost": ["optimization.occlusion_cost"],
    "units of the cost": ["optimization.start_temperature", "optimization.end_temperature"],
    "levels": ["aggregation.bayesian_diffusion.sigma", "refinement.parabola.limit"],
    "per grey level": ["aggregation.bayesian_diffusion.cost_scale"],
    "squared grey levels": ["optimization.alpha"],
    "s": ["seconds"],
    "": [
        "smoothness.truncation",  # stages differ in their units
        "optimization.weight",
        "scene",
        "seed",
        "matching_cost",
        "matching_cost.interval",
        "aggregation.diffusion.iterations",
        "aggregation.membrane_diffusion.beta",
        "optimization.sweeps",
        # Of Potts' prior in units of the cost, of the others per pixel.
        "smoothness.weight",
        "nonsense.size",
        "aggregation.box.nonsense",
    ],
}


@pytest.mark.parametrize(("key", "expected"), [(key, text) for text, keys in UNITS.items() for key in keys])
def test_units_of_keys(key, expected):
    assert unit(key) == expected
    assert with_unit(key) == (f"{key} ({expected})" if expected else key)
