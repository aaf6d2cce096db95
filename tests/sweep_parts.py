"""Small scenes, and what is compared of results, for the tests of sweeps."""

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Frame, Scene, SearchRange
from stereo_framework.sweep import Store

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 3}],
    "optimization": "winner_take_all",
}
SIZES = {**WINDOW, "name": "sizes"} | {
    "sweep": {"grid": {"matching_cost.truncation": [10, None], "aggregation.box.size": [1, 3, 5]}}
}

FAILS = '''
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def fails(disparity, volume, *, size: int = 0):
    """Raise from a size of 0 on."""
    if size >= 0:
        raise ValueError("no luck")
    return disparity
'''


def fails(folder, sizes):
    """A sweep with a stage, in a plug-in of the folder, that fails from a size of 0 on."""
    plugin = folder / "plugin_without_luck.py"
    plugin.write_text(FAILS)
    return WINDOW | {
        "plugins": [str(plugin)],
        "refinement": ["fails"],
        "sweep": {"grid": {"refinement.fails.size": list(sizes)}},
    }


def dots(name="tiny", seed=0, rows=24, **changes):
    """Random dots that are moved by 3 pixels; no name brings them back."""
    left = np.random.default_rng(seed).integers(0, 256, (rows, 32, 3), dtype=np.uint8)
    right, truth = np.roll(left, -3, axis=1), np.full((rows, 32), 3, np.float32)
    frames = (Frame("left", lambda: left, 0), Frame("right", lambda: right, 1))
    return Scene(
        name,
        **{"frames": frames, "search": SearchRange(0, 7), "truths": {(0, 1): lambda: truth}}
        | changes,
    )


def numbers(results):
    """Everything of results that must be the same however they were computed."""
    return [
        (
            r.id,
            r.scene,
            r.method,
            dict(r.axes),
            {k: repr(v) for k, v in r.statistics.items()},
            r.energy,
            r.warnings,
            r.error,
        )
        for r in results
    ]


def assert_equal(results, expected):
    """Results are those expected, with their maps."""
    assert numbers(results) == numbers(expected)
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(one.disparity, other.disparity)


def stored(out, **options):
    """What a folder holds, nothing where another process is only making it."""
    try:
        with Store(out) as store:
            return store.results(**options)
    except DataError:
        return []


def lacking(out):
    """What is said of results that are missing."""
    with Store(out) as store:
        return store.lacking()
