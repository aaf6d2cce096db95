import pytest

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework.tables.words import unit, with_unit

UNITS = {
    "passes": ["aggregation.box.iterations"],
    "grey levels": ["matching_cost.truncation", "matching_cost.absolute_difference.truncation"],
    "pixels": ["search.step", "aggregation.box.size", "aggregation.0.size", "optimization.size"],
    "units of the cost": ["optimization.start_temperature"],
    "s": ["seconds"],
    # Stages differ in their units, or there is none.
    "": [
        "smoothness.truncation",
        "smoothness.weight",
        "scene",
        "matching_cost",
        "matching_cost.birchfield_tomasi",
        "nonsense.size",
    ],
}


@pytest.mark.parametrize(
    ("key", "expected"), [(key, text) for text, keys in UNITS.items() for key in keys]
)
def test_units_of_keys(key, expected):
    assert unit(key) == expected
    assert with_unit(key) == (f"{key} ({expected})" if expected else key)
