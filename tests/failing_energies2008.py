"""Data on each side of every rule of energies2008, by the name of the check: with which it must hold, and with which it must not."""

_SCENE = {"lower bound": 9.0, "trw_s": 10.0, "icm": 20.0, "truth": 11.0}


def _with(**energies):
    return {"a": _SCENE, "b": {**_SCENE, **energies}}


SIDES = {
    "bound_is_below": ([_with(), _with(trw_s=9.0)], [_with(trw_s=8.9), _with(truth=8.9)]),
    "truth_costs_more": ([_with(), _with(icm=12.0)], [_with(truth=10.0), _with(truth=9.5)]),
    "lower_energy_fewer_errors": (
        [{"a": {"x": (1.0, 2.0), "y": (2.0, 2.1)}}, {"a": {"x": (1.0, 2.0), "y": (1.0, 1.0)}}],
        [
            {"a": {"x": (1.0, 2.0), "y": (2.0, 2.0)}},
            {"a": {"x": (1.0, 2.0), "y": (2.0, 3.0)}, "b": {"x": (2.0, 2.0), "y": (1.0, 3.0)}},
        ],
    ),
}
