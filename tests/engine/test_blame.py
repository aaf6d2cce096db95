"""What is told of exceptions: the stage, and the line of its own code."""

import dataclasses

import numpy as np
import pytest
from pipeline_parts import local, not_local, textured

from stereo_framework import Pipeline, StereoFrameworkError, step
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import find, stage
from stereo_framework.core.step import blame
from stereo_framework.core.view import BothSides
from stereo_framework.core.volume import SearchMask
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import median
from stereo_framework.scheme import pyramid

PLUGIN = """
import numpy as np
from stereo_framework.core.errors import DataError
from stereo_framework.stages import stage


def helper(values):
    return np.concatenate(values)


@stage("refinement", source="a test")
def breaks(disparity, *, how: str = ""):
    if how == "helper":
        return helper([disparity, disparity[0]])
    if how == "lines":
        raise ValueError("one\\ntwo")
    if how == "silent":
        raise KeyError
    if how == "on purpose":
        raise DataError("no such thing")
    if how == "memory":
        raise MemoryError("1 TiB")
    return 5
"""


@pytest.fixture
def breaks(tmp_path, registry):
    path = tmp_path / "broken.py"
    path.write_text(PLUGIN)
    load_plugin(str(path))
    return path, find("refinement", "breaks").function


def raised(method):
    try:
        method(textured())
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("how", "line"),
    [
        (
            "helper",
            "{path}:8: refinement stage breaks: ValueError: all the input arrays must have same number of dimensions",
        ),
        ("lines", "{path}:16: refinement stage breaks: ValueError: one"),
        ("silent", "{path}:18: refinement stage breaks: KeyError"),
        ("on purpose", "no such thing"),
        (
            "",
            "{path}:11: refinement stage breaks returned 5; expected disparity or (disparity, status), of (9, 20) pixels and 5 levels",
        ),
    ],
)
def test_the_line_names_stage_file_and_line(breaks, how, line):
    path, function = breaks
    method = Pipeline([absolute_difference, winner_take_all, median, step(function, how=how)])
    told = blame(raised(method))
    assert told.startswith(line.format(path=path))
    assert "\n" not in told


def test_paths_are_short_where_one_works(breaks, monkeypatch):
    path, function = breaks
    monkeypatch.chdir(path.parent)
    method = Pipeline([absolute_difference, winner_take_all, step(function, how="lines")])
    assert blame(raised(method)) == "broken.py:16: refinement stage breaks: ValueError: one"


def test_the_innermost_stage_is_named(breaks):
    path, function = breaks
    inner = Pipeline([absolute_difference, winner_take_all, step(function, how="lines")])
    for method in (inner.having(scheme=[pyramid]), alternated(inner)):
        assert blame(raised(method)) == f"{path}:16: refinement stage breaks: ValueError: one"


def alternated(inner):
    return Pipeline([absolute_difference, winner_take_all], {"other": inner})


def test_one_of_several_costs_is_named(registry):
    @stage("matching_cost", **local)
    def fails(reference, match, search):
        raise ArithmeticError("no cost")

    told = blame(raised(Pipeline([absolute_difference, fails, winner_take_all])))
    assert told.endswith("matching_cost stage fails: ArithmeticError: no cost")


def test_halos_are_code_of_stages_too(registry):
    @stage("aggregation", source="a test", halo=lambda size: 1 // size)
    def careless(volume, *, size: int = 0):
        return volume

    told = blame(raised(Pipeline([absolute_difference, careless, winner_take_all])))
    assert "aggregation stage careless: ZeroDivisionError" in told
    told = blame(raised(Pipeline([absolute_difference, step(careless, size=-1), winner_take_all])))
    assert told.endswith(
        "aggregation stage careless: ValueError: its halo is -1; expected a whole number of rows >= 0, or None"
    )


def test_what_is_no_exception_of_a_program_ends_none(registry):
    class Panic(BaseException):
        pass

    @stage("refinement", **not_local)
    def panics(disparity):
        raise Panic("in Rust")

    line = panics.__wrapped__.__code__.co_firstlineno + 2
    told = blame(raised(Pipeline([absolute_difference, winner_take_all, panics])))
    assert told.endswith(
        f"test_blame.py:{line}: refinement stage panics: RuntimeError: Panic: in Rust"
    )


def test_what_no_stage_raised():
    assert blame(ValueError("of nobody")) == "ValueError: of nobody"
    assert blame(DataError("no image")) == "no image"


def test_out_of_memory_is_nobodys_mistake(breaks):
    _, function = breaks
    method = Pipeline([absolute_difference, winner_take_all, step(function, how="memory")])
    assert blame(raised(method)) == "refinement.breaks: out of memory (1 TiB)"


# --- what stages return -----------------------------------------------------------------------------------------------

SHAPE = (9, 20)
FLOAT, STATUS = np.zeros(SHAPE, np.float32), np.zeros(SHAPE, np.uint8)
BACK = textured().pair(1, 0).search


SEEN = textured()
MASKED = Pair(
    SEEN.reference, SEEN.match, SEEN.search, SearchMask(valid=np.arange(180).reshape(SHAPE) % 7 > 0)
)


def returning(slot, names, value, **declared):
    """A stage that returns the value, or what it makes of the data that it gets first."""
    made = {}
    code = f"def wrong({', '.join(names)}):\n    return value({names[0]}) if callable(value) else value"
    exec(code, {"__name__": "elsewhere", "value": value}, made)
    return stage(slot, **{**not_local, **declared})(made["wrong"])


def costs(volume, **changes):
    return dataclasses.replace(volume, **changes)


def labelled(volume, **changes):
    return dataclasses.replace(winner_take_all(volume), **changes)


IMAGES, COSTS = ["reference", "match"], ["volume"]
COST = ["reference", "match", "search"]
FINITE = "values that are not finite; expected finite numbers"


def with_volume(volume):
    return dataclasses.replace(
        winner_take_all(volume), volume=costs(volume, costs=volume.costs[1:])
    )


WRONG = [
    ("preprocessing", ["image"], None, "image: None; expected uint8 or float32 (9, 20)"),
    (
        "preprocessing",
        ["image"],
        lambda i: (i, i),
        "image: (uint8 (9, 20), uint8 (9, 20)); expected uint8 or float32 (9, 20)",
    ),
    ("preprocessing", ["image"], lambda i: np.float32(i) * np.float32(np.nan), f"image: {FINITE}"),
    (
        "preprocessing",
        IMAGES,
        lambda r: r,
        "uint8 (9, 20); expected the image; of the pair both images, of (9, 20) pixels",
    ),
    (
        "preprocessing",
        IMAGES,
        lambda r: (r, r[1:]),
        "image: uint8 (8, 20); expected uint8 or float32 (9, 20)",
    ),
    (
        "matching_cost",
        COST,
        lambda r: r,
        "uint8 (9, 20); expected CostVolume, of (9, 20) pixels and 5 levels",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: v.costs,
        "float32 (9, 20, 5); expected CostVolume, of (9, 20) pixels and 5 levels",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, costs=v.costs[:, 1:]),
        "costs: float32 (9, 19, 5); expected float32 or uint8 or",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, costs=v.costs.astype(float)),
        "costs: float64 (9, 20, 5); expected float32 or",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, costs=v.costs * np.float32(np.inf)),
        "costs: not finite; expected finite costs",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, costs=np.asfortranarray(v.costs)),
        "costs: not in C order; expected np.asc",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, outside_cost=np.inf),
        "the outside cost inf; expected a finite number, up to 3.4",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, costs=np.uint8(v.costs), outside_cost=300),
        "the outside cost 300; expected a finite number, up to 255",
    ),
    (
        "aggregation",
        COSTS,
        lambda v: costs(v, search=BACK),
        f"the search range of the CostVolume is {BACK!r}; expected SearchRange(",
    ),
    (
        "smoothness",
        ["reference", "search"],
        FLOAT,
        "float32 (9, 20); expected Smoothness, of (9, 20) pixels and 5 levels",
    ),
    (
        "optimization",
        COSTS,
        STATUS,
        "disparity: uint8 (9, 20); expected float32 (9, 20)",
    ),
    (
        "optimization",
        COSTS,
        lambda e: labelled(e, levels=STATUS),
        "levels: uint8 (9, 20); expected int16 (9, 20)",
    ),
    (
        "optimization",
        COSTS,
        lambda e: labelled(e, levels=np.full(SHAPE, 5, np.int16)),
        "levels: levels from 5 to 5; expected -1 to 4",
    ),
    (
        "optimization",
        COSTS,
        lambda e: dataclasses.replace(winner_take_all(e), volume=e.costs),
        "Labeling(levels=int16 (9, 20), costs=",
    ),
    (
        "optimization",
        COSTS,
        lambda e: labelled(e, costs=FLOAT[1:]),
        "costs: float32 (8, 20); expected float32 (9, 20)",
    ),
    (
        "optimization",
        COSTS,
        with_volume,
        "volume.costs: float32 (8, 20, 5); expected",
    ),
    (
        "confidence",
        ["disparity"],
        lambda d: d.astype(float),
        "confidence: float64 (9, 20); expected float32 (9, 20)",
    ),
    ("confidence", ["disparity"], lambda d: d * np.float32(np.nan), f"confidence: {FINITE}"),
    (
        "refinement",
        ["disparity"],
        None,
        "None; expected disparity or (disparity, status), of (9, 20) pixels",
    ),
    (
        "refinement",
        ["disparity"],
        lambda d: (d, STATUS, d),
        "(float32 (9, 20), uint8 (9, 20), float32 (9, 20)); expected disparity",
    ),
    (
        "refinement",
        ["disparity"],
        lambda d: d / np.float32(0),
        f"disparity: {FINITE}, NaN = no estimate",
    ),
    (
        "refinement",
        ["disparity"],
        lambda d: (d, d),
        "status: float32 (9, 20); expected uint8 (9, 20)",
    ),
    (
        "refinement",
        ["disparity"],
        lambda d: (d, STATUS + np.uint8(9)),
        "status: 9; expected values of Status, 0 to 4",
    ),
    ("matcher", COST, STATUS, "disparity: uint8 (9, 20); expected float32 (9, 20)"),
    ("matcher", COST, (FLOAT, STATUS, STATUS), "confidence: uint8 (9, 20); expected float32"),
    (
        "matcher",
        COST,
        [FLOAT],
        "a list of (float32 (9, 20)); expected disparity, (disparity, status) or (disparity, status, conf",
    ),
    (
        "scheme",
        ["solve", "pair"],
        FLOAT,
        "float32 (9, 20); expected Estimate, of (9, 20) pixels and 5 levels",
    ),
]


@pytest.mark.parametrize(
    ("slot", "names", "value", "message"), WRONG, ids=[f"{w[0]}: {w[3][:40]}" for w in WRONG]
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_a_stage_must_not_return(registry, slot, names, value, message):
    wrong = returning(slot, names, value)
    stages = (
        {}
        if slot == "matcher"
        else {"matching_cost": absolute_difference, "optimization": winner_take_all}
    )
    error = raised(Pipeline([*{**stages, slot: wrong}.values()]))
    assert isinstance(error, StereoFrameworkError)
    told = blame(error)
    assert f": {slot} stage wrong returned {message}" in told
    assert told.startswith("<string>:1: ")
    assert "\n" not in told


@pytest.mark.parametrize(
    "value",
    [None, np.full((*SHAPE, 5), np.inf), np.zeros((1, 20, 5))],
    ids=["none", "inf", "shape"],
)
def test_each_of_several_costs_is_looked_at(registry, value):
    told = blame(
        raised(
            Pipeline(
                [absolute_difference, returning("matching_cost", COST, value), winner_take_all]
            )
        )
    )
    assert told.startswith("<string>:1: matching_cost stage wrong returned ")


@pytest.mark.parametrize("writeable", [True, False])
def test_nobody_writes_into_costs_that_a_stage_has_kept(registry, writeable):
    kept = absolute_difference(textured().reference, textured().match, textured().search).floats()
    before = kept.costs.copy()
    kept.costs.flags.writeable = writeable
    keeps = returning("matching_cost", COST, kept)
    masked = MASKED
    Pipeline([keeps, winner_take_all])(masked)
    Pipeline([step(keeps, weight=3.0), absolute_difference, winner_take_all])(textured())
    np.testing.assert_array_equal(kept.costs, before)


def test_costs_as_large_as_the_marker_of_excluded_cells_are_refused_beside_masks(registry):
    method = Pipeline([step(absolute_difference, weight=1e6), absolute_difference, winner_take_all])
    assert not np.isnan(method(textured()).disparity).any()
    masked = MASKED
    with pytest.raises(
        DataError,
        match=r"^the largest cost is .*; expected costs below 1e\+06, because this value marks "
        "excluded cells if a pair has a mask",
    ):
        method(masked)


def test_views_of_a_matcher_are_both_looked_at(registry):
    wrong = returning("matcher", ["reference", "match", "search"], BothSides(FLOAT, FLOAT[1:]))
    assert "returned disparity: float32 (8, 20); expected float32 (9, 20)" in blame(
        raised(Pipeline([wrong]))
    )
