"""Whatever a script is put together from: it is refused, or its runs can be built, written out and read again."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

STAGES = {
    "matcher": [
        "flat",
        {"use": "flat", "height": 3},
        "dice",
        {"use": "dice", "seed": 4},
        "scenic",
        None,
    ],
    "matching_cost": [
        "tenfold",
        {"use": "tenfold", "window": 5},
        "absolute_difference",
        ["tenfold"],
        ["tenfold", {"use": "tenfold", "weight": 2}],
        [{"use": "absolute_difference", "truncation": 3}, {"use": "tenfold", "saturation": 4}],
    ],
    "aggregation": [[], ["box"], [{"use": "box", "size": 3}, "min_filter"]],
    "smoothness": ["potts", None],
    "optimization": [
        "winner_take_all",
        {"use": "simulated_annealing", "seed": 1},
        "simulated_annealing",
    ],
    "confidence": [["sure"], ["sure", "margin"], []],
    "refinement": [["blend"], ["parabola"], ["across"], []],
    "scheme": [["whole"], []],
}
PARAMETERS = {
    "matcher.radius": [1, 2],
    "matcher.seed": [1, 2],
    "matching_cost.window": [3, 5],
    "matching_cost.tenfold.weight": [1, 2],
    "matching_cost.tenfold.saturation": [None, 2.5],
    "matching_cost.truncation": [1, None],
    "aggregation.box.size": [3, 5],
    "refinement.blend.weight": [1, 2],
}
HOMES = ["", "auxiliary.a.", "auxiliary.b.", "auxiliary.a.auxiliary.c."]

# Most of what is put together blindly is wrong; a whole method to begin with makes some of it right.
wholes = st.sampled_from(
    [
        {},
        {"include": "window"},
        {"include": "ssd"},
        {"matcher": "flat"},
        {"matching_cost": ["tenfold"], "optimization": "winner_take_all"},
    ]
)
some_slots = st.lists(
    st.sampled_from(sorted(STAGES)).flatmap(
        lambda slot: st.tuples(st.just(slot), st.sampled_from(STAGES[slot]))
    ),
    max_size=2,
).map(dict)
mappings = st.builds(lambda whole, slots: {**whole, **slots}, wholes, some_slots)


def _with_auxiliary_methods(inner):
    names = st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2)
    return st.builds(
        lambda mapping, others: mapping if others is ... else {**mapping, "auxiliary": others},
        mappings,
        st.one_of(st.just(...), st.none(), names),
    )


methods = _with_auxiliary_methods(_with_auxiliary_methods(mappings))
axes = st.one_of(
    st.tuples(st.sampled_from(HOMES), st.sampled_from(sorted(PARAMETERS))).map(
        lambda pair: ("".join(pair), PARAMETERS[pair[1]])
    ),
    st.tuples(st.sampled_from(HOMES), st.sampled_from(sorted(STAGES))).map(
        lambda pair: ("".join(pair), STAGES[pair[1]][:2])
    ),
    st.just(("search.maximum", [8, 8])),
    st.just(("seed", [1, 2])),
)
sweeps = st.builds(
    lambda grid, together: {
        "grid": dict(grid),
        "zip": {k: v for k, v in together if k not in dict(grid)},
    },
    st.lists(axes, max_size=2),
    st.lists(axes, max_size=2),
)
scripts = st.builds(
    lambda top, sweep, several: {
        **top,
        "sweep": sweep,
        "seed": 3,
        **({"methods": several} if several else {}),
    },
    methods,
    sweeps,
    st.dictionaries(st.sampled_from(["one", "two"]), methods, max_size=2),
)


@pytest.mark.usefixtures("tiny")
@settings(
    max_examples=7 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(scripts)
def test_a_script_is_refused_or_written_out_and_read_again(validator, script):
    try:
        loaded = load(script)
    except ScriptError:
        # Anything else that is raised is a mistake of ours.
        return
    again = load(yaml.safe_load(yaml.safe_dump(loaded.resolved, sort_keys=False)))
    assert again.resolved == loaded.resolved
    assert [(run.method, run.axes) for run in again.settings] == [
        (run.method, run.axes) for run in loaded.settings
    ]
    for one, other in zip(loaded.settings, again.settings, strict=True):
        assert repr(one.parameters) == repr(other.parameters)
        assert one.pipeline == other.pipeline
        [alone] = load(one.mapping).settings
        assert repr(alone.parameters) == repr(one.parameters)
        assert (alone.pipeline, alone.mapping) == (one.pipeline, one.mapping)
    assert validator().is_valid(loaded.resolved)
