"""Measured data with which each check of truth_free must fail, by its name."""

from types import SimpleNamespace

from truth_free.measured import SceneMaps

from stereo_framework.evaluation.truth_free import Standing


def _scene(name, truth, distances):
    scene = SimpleNamespace(name=name)
    return SceneMaps(
        scene, dict(zip("abcd", truth, strict=True)), {"reference": dict(zip("abcd", distances, strict=True))}, frozenset(), {}
    )


_RIGHT = _scene("x/one", (1, 2, 3, 4), (1, 2, 3, 4))
# Two neighbours in the wrong order of four: a rank correlation of .8, a regret of 1 point; the best two on a kept scene: of 5.
_WRONG = _scene("x/two", (1, 2, 3, 4), (1, 3, 2, 4))
_KEPT = _scene("x/Piano", (1, 6, 7, 8), (2, 1, 3, 4))

FAILING = {
    "rho": ([_RIGHT] * 9 + [_WRONG],),
    "every": ([_RIGHT, _WRONG],),
    "regret": ([_RIGHT, *[_KEPT] * 1],),
    "kept": ([_RIGHT, _KEPT],),
    "sets": ([_RIGHT], {"x/one": SimpleNamespace(standings=[Standing("b", 1, 0, True), Standing("a", 9, 0, False)])}),
    # Thirteen of seventeen scenes.
    "tuning": ({"sgm by reference": [-5.0] * 13 + [0.11] * 4},),
    "degraded": ([("noise: right", True), ("gain: wrong", False)],),
    "answered": ([("noise: 0.20 points", True), ("gain: 1.20 points", False)],),
}
