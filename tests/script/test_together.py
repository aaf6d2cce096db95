"""What cannot stand together in a setting is found before anything runs."""

import pytest

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

METHOD = {"matching_cost": "absolute_difference", "optimization": "winner_take_all"}
FALLING = {"use": "semi_global", "p1": 8, "p2": 5}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"optimization": FALLING}, "optimization: semi_global: p2 is 5, below p1, 8"),
        (
            {"optimization": "semi_global", "sweep": {"grid": {"optimization.p1": [5, 50], "optimization.p2": [20, 60]}}},
            "optimization: semi_global: p2 is 20, below p1, 50",
        ),
        (
            {"aggregation": [{"use": "membrane_diffusion", "rate": 0.3}]},
            "aggregation.membrane_diffusion: membrane_diffusion: rate 0.3 with beta 0.5 does not converge; legal: 0 < rate <= 0.222222",
        ),
        (
            {"alternatives": {"other": METHOD | {"optimization": FALLING}}, "preprocessing": ["row_alignment"]},
            "alternatives.other.optimization: semi_global: p2 is 5, below p1, 8",
        ),
        *(
            (
                {"optimization": stage},
                f"optimization: {stage}: the energy has no smoothness term, so every pixel would stand alone; give one "
                "(smoothness: potts, linear, truncated_linear or truncated_quadratic) or use winner_take_all",
            )
            for stage in ("graph_cut", "scanline_optimization", "belief_propagation", "simulated_annealing")
        ),
    ],
)
def test_a_script_of_what_cannot_stand_together_is_refused(changes, fault):
    with pytest.raises(ScriptError) as told:
        load(METHOD | changes)
    assert told.value.faults == (fault,)


def test_what_can_stand_together_is_not():
    assert len(load(METHOD | {"optimization": "graph_cut", "smoothness": "potts"}).settings) == 1
    assert len(load(METHOD | {"optimization": {"use": "semi_global", "p1": 8, "p2": 8}}).settings) == 1
