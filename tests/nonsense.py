"""Arguments that no public function takes, and tiny ones that each takes."""

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas

import stereo_framework as sf
from stereo_framework import datasets, evaluation, io
from stereo_framework.core.frames import Calibration, Frame
from stereo_framework.core.volume import SearchMask, restore_outside_cost
from stereo_framework.evaluation import protocols
from stereo_framework.sweep import Result

ROWS, COLUMNS, LEVELS = 12, 24, 4

CIRCLE: dict = {}
CIRCLE["itself"] = CIRCLE

NONSENSE = {
    "dict inside itself": lambda: CIRCLE,
    "None": lambda: None,
    "text": lambda: "nonsense",
    "empty text": lambda: "",
    "text of a number": lambda: "2",
    "text with NUL": lambda: "a\0b",
    "text of two lines": lambda: "one\ntwo",
    "bytes": lambda: b"bytes",
    "True": lambda: True,
    "False": lambda: False,
    "negative int": lambda: -1,
    "zero": lambda: 0,
    "int beyond 64 bits": lambda: 2**64,
    "int beyond floats": lambda: 10**400,
    "int of 5000 digits": lambda: 10**5000,
    "float": lambda: 0.5,
    "NaN": lambda: math.nan,
    "infinity": lambda: math.inf,
    "NaN of NumPy": lambda: np.float32("nan"),
    "complex": lambda: 1j,
    "decimal": lambda: Decimal("0.5"),
    "empty list": list,
    "list": lambda: [1],
    "list of two": lambda: [1, 2],
    "list of None": lambda: [None],
    "nested list": lambda: [[1, 2], [3, 4]],
    "ragged list": lambda: [[1, 2], [3]],
    "empty dict": dict,
    "dict": lambda: {"a": 1},
    "dict of lists": lambda: {1: [2]},
    "set": lambda: {1},
    "object": object,
    "class": lambda: int,
    "function": lambda: lambda: 5,
    "module": lambda: math,
    "vector": lambda: np.zeros(3),
    "array of int64": lambda: np.zeros((ROWS, COLUMNS), np.int64),
    "array of bool": lambda: np.zeros((ROWS, COLUMNS), bool),
    "array of other size": lambda: np.zeros((3, 5), np.float32),
    "array of NaN": lambda: np.full((ROWS, COLUMNS), np.nan, np.float32),
    "empty array": lambda: np.zeros((0, 0), np.float32),
    "array of no dimension": lambda: np.array(5.0),
    "array of four dimensions": lambda: np.zeros((2, 2, 2, 2), np.float32),
    "array of objects": lambda: np.array([[None, "a"]], object),
    "array of texts": lambda: np.array([["a", "b"]]),
    "array of complex": lambda: np.zeros((ROWS, COLUMNS), complex),
    "masked array": lambda: np.ma.masked_array(np.zeros((3, 5)), np.ones((3, 5), bool)),
    "missing path": lambda: Path("missing/file.png"),
    "generator": lambda: (i for i in range(2)),
    "range": lambda: range(2),
    "search range": lambda: sf.SearchRange(0, 3),
    "data frame": lambda: pandas.DataFrame({"a": [1]}),
}
"""Functions that make a value, by its name."""

RANDOM = np.random.default_rng(0)
LEFT = RANDOM.integers(0, 255, (ROWS, COLUMNS)).astype(np.uint8)
RIGHT = np.roll(LEFT, -2, axis=1)
MAP = np.full((ROWS, COLUMNS), 2, np.float32)
MASK = np.ones((ROWS, COLUMNS), bool)
SEARCH = sf.SearchRange(0, LEVELS - 1)
VOLUME = sf.CostVolume(RANDOM.random((ROWS, COLUMNS, LEVELS)).astype(np.float32), SEARCH, 1.0)
EDGES = np.ones((ROWS, COLUMNS), np.float32)
SMOOTHNESS = sf.Smoothness(EDGES, EDGES, np.arange(LEVELS, dtype=np.float32))
SCENE = sf.Scene.from_images(LEFT, RIGHT, (0, 3), truth=MAP)
PAIR = sf.Pair(LEFT, RIGHT, SEARCH)
LEVEL_MAP = np.zeros((ROWS, COLUMNS), np.int16)
METHOD = sf.Pipeline(["absolute_difference", "winner_take_all"])
SCRIPT = {
    "matching_cost": {"use": "absolute_difference"},
    "optimization": {"use": "winner_take_all"},
}
METHOD_SETTING = sf.load(SCRIPT).only
FRAME = pandas.DataFrame(
    {"scene": list("aabb"), "method": ["x", "y"] * 2, "bad_pixels_all": [1.0, 2.0, 3.0, 3.0]}
)
RESULTS = sf.run(SCRIPT, SCENE, workers=1)


def _names(folder):
    return ()


CALLS = {
    # The constructors of public classes.
    "Pair": (
        sf.Pair,
        {
            "reference": LEFT,
            "match": RIGHT,
            "search": SEARCH,
            "mask": SearchMask(MASK),
            "scene": SCENE,
        },
    ),
    "Scene": (
        sf.Scene,
        {
            "name": "a",
            "frames": SCENE.frames,
            "reference_index": 0,
            "match_index": 1,
            "search": SEARCH,
            "truths": {},
            "masks": {},
            "calibration": None,
            "border": 0,
            "protocol": "taxonomy2002",
            "reduction": 1,
            "grey_levels": 4.0,
            "largest_disparity": 9.0,
            "whole_truth": False,
            "weight": 1.0,
            "ranges": {},
        },
    ),
    "Frame": (Frame, {"name": "a", "load": lambda: LEFT, "position": 0, "valid": None}),
    "Calibration": (
        Calibration,
        {
            "focal_length": 9.0,
            "baseline": 1.0,
            "doffs": 0.0,
            "center": (2.0, 3.0),
            "size": (COLUMNS, ROWS),
        },
    ),
    "SearchRange": (sf.SearchRange, {"minimum": 0, "maximum": 3, "step": 1, "direction": 1}),
    "CostVolume": (sf.CostVolume, {"costs": VOLUME.costs, "search": SEARCH, "outside_cost": 1.0}),
    "Smoothness": (sf.Smoothness, {"right": EDGES, "down": EDGES, "rho": SMOOTHNESS.rho}),
    "Energy": (sf.Energy, {"volume": VOLUME, "smoothness": SMOOTHNESS}),
    "Labeling": (
        sf.Labeling,
        {
            "levels": LEVEL_MAP,
            "costs": MAP,
            "volume": VOLUME,
            "trace": ((0.0, 1.0),),
            "lower_bound": 0.0,
            "objective": 1.0,
            "search": SEARCH,
        },
    ),
    "SearchMask": (
        SearchMask,
        {
            "valid": MASK,
            "match_valid": MASK,
            "low": MAP,
            "high": MAP,
            "match_low": MAP,
            "match_high": MAP,
        },
    ),
    "Unit": (sf.Unit, {"text": "pixels"}),
    "Pipeline": (sf.Pipeline, {"steps": METHOD.steps, "auxiliary": {}}),
    # The methods of public classes.
    "Pair.of": (sf.Pair.of, {"scene": SCENE, "search": SEARCH}),
    "Pair.rows": (PAIR.rows, {"top": 0, "bottom": 5}),
    "Pair.reduced": (PAIR.reduced, {"reduction": 2, "step": 1}),
    "Scene.from_images": (
        sf.Scene.from_images,
        {
            "left": LEFT,
            "right": RIGHT,
            "disparities": (0, 3),
            "name": "a",
            "truth": MAP,
            "left_mask": MASK,
            "right_mask": MASK,
            "low": MAP,
            "high": MAP,
        },
    ),
    "Scene.image": (SCENE.image, {"index": 0}),
    "Scene.valid": (SCENE.valid, {"index": 0}),
    "Scene.range": (SCENE.range, {"reference_index": 0, "match_index": 1}),
    "Scene.mask": (SCENE.within(MASK).mask, {"name": "evaluated"}),
    "Scene.within": (lambda **named: SCENE.within(**named).evaluated, {"mask": MASK}),
    "Scene.pair": (SCENE.pair, {"reference_index": 1, "match_index": 0, "search": SEARCH}),
    "SearchRange.covering": (
        sf.SearchRange.covering,
        {"minimum": 0, "maximum": 3, "step": 1, "direction": 1},
    ),
    "SearchRange.of": (sf.SearchRange.of, {"search": SEARCH}),
    "SearchRange.disparity_of": (SEARCH.disparity_of, {"levels": LEVEL_MAP}),
    "SearchRange.levels_of": (SEARCH.levels_of, {"disparity": MAP}),
    "SearchRange.columns": (lambda **named: list(SEARCH.columns(**named)), {"width": 5}),
    "SearchRange.beyond": (SEARCH.beyond, {"disparity": MAP}),
    "SearchRange.in_view": (SEARCH.in_view, {"columns": 5}),
    "SearchRange.check_whole_steps": (SEARCH.check_whole_steps, {"stage": "a"}),
    "SearchRange.check_width": (SEARCH.check_width, {"columns": 50}),
    "SearchRange.scaled": (SEARCH.scaled, {"scale": 2}),
    "CostVolume.chosen": (VOLUME.chosen, {"levels": LEVEL_MAP}),
    "Smoothness.of": (SMOOTHNESS.of, {"levels": LEVEL_MAP}),
    "Energy.of": (sf.Energy(VOLUME, SMOOTHNESS).of, {"levels": LEVEL_MAP}),
    "Pipeline.__call__": (METHOD, {"scene": PAIR, "search": SEARCH, "keep_volume": False}),
    "Pipeline.having": (
        METHOD.having,
        {"optimization": "winner_take_all", "auxiliary": {}, "truncation": 5},
    ),
    "Pipeline.stages": (METHOD.stages, {"prefix": ""}),
    "Pipeline.in_slot": (METHOD.in_slot, {"slot": "optimization"}),
    "Pipeline.check_step": (METHOD.check_step, {"step": 1}),
    "Step.having": (sf.step("box").having, {"size": 9}),
    # Functions.
    "chart": (sf.chart, {"title": "a"}),
    "dataset": (sf.dataset, {"folder": "a", "names": _names, "protocol": "taxonomy2002"}),
    "differences": (
        sf.differences,
        {
            "results": FRAME,
            "statistic": "bad_pixels_all",
            "by": "method",
            "baseline": "x",
            "correction": "holm",
            "block": "data_set",
        },
    ),
    "evaluate": (
        sf.evaluate,
        {
            "disparity": MAP,
            "scene": SCENE,
            "protocol": "taxonomy2002",
            "thresholds": 1,
            "confidence": {"a": MAP},
            "pseudo_truth": MAP,
            "mask": MASK,
        },
    ),
    "load": (sf.load, {"source": SCRIPT, "overrides": (), "tuning": False, "plugins": ()}),
    "load_pair": (sf.load_pair, {"name": "synthetic/planes", "data": "."}),
    "load_scene": (sf.load_scene, {"name": "synthetic/planes", "data": "."}),
    "match": (
        sf.match,
        {
            "left": LEFT,
            "right": RIGHT,
            "disparities": (0, 3),
            "method": METHOD_SETTING,
            "calibration": (9, 1),
            "cameras": None,
            "rectify": None,
            "stretch": False,
            "left_mask": MASK,
            "right_mask": MASK,
            "ranges": (MAP, MAP),
            "memory": None,
            "parts": None,
            "truncation": 5,
        },
    ),
    "metric": (sf.metric, {"unit": "px", "better": "lower", "source": "a", "pooled": "mean"}),
    "pair_scene": (
        sf.pair_scene,
        {
            "left": "left.png",
            "right": "right.png",
            "search": SEARCH,
            "truth": "map.pfm",
            "truth_scale": 1.0,
            "truth_unknown": 0.0,
            "left_mask": "mask.png",
            "right_mask": "mask.png",
            "low": "map.pfm",
            "high": "map.pfm",
            "mask": "mask.png",
            "upright": False,
        },
    ),
    "plot": (
        sf.plot,
        {
            "results": RESULTS,
            "x": "scene",
            "y": None,
            "series": (),
            "panels": (),
            "title": "a",
            "labels": {},
        },
    ),
    "protocol": (sf.protocol, {"name": "a", "base": "taxonomy2002", "thresholds": [1]}),
    "rank": (sf.rank, {"frame": FRAME, "by": "method"}),
    "rank, statistics": (
        lambda statistic: sf.rank(FRAME, statistic),
        {"statistic": "bad_pixels_all"},
    ),
    "reader": (sf.reader, {"suffix": ".own", "kind": "image"}),
    "results": (sf.results, {"folder": "results", "every": False}),
    "run": (
        sf.run,
        {
            "script": SCRIPT,
            "scenes": SCENE,
            "data": ".",
            "out": None,
            "overrides": (),
            "plugins": (),
            "workers": 1,
            "executor": None,
            "memory": 2**30,
            "maps": True,
        },
    ),
    "show": (sf.show, {"disparities": (0.0, 3.0), "map": MAP}),
    "show, things": (lambda thing: sf.show(thing), {"thing": SCENE}),
    "stage": (
        sf.stage,
        {"slot": "refinement", "source": "a", "halo": None, "integer": False, "resume": None},
    ),
    "step": (lambda which, **named: sf.step(which, **named), {"which": "box", "size": 9}),
    "threads": (sf.threads, {"count": 1}),
    "Status": (lambda value: sf.Status.MATCHED, {"value": 0}),
    "restore_outside_cost": (restore_outside_cost, {"volume": VOLUME}),
    # Functions of subpackages.
    "evaluation.resolve": (evaluation.resolve, {"spec": "taxonomy2002"}),
    "evaluation.find_reading_errors": (
        evaluation.find_reading_errors,
        {"disparity": MAP, "scene": SCENE, "search": SEARCH, "is_external": True},
    ),
    "evaluation.protocols.average": (
        protocols.average,
        {
            "statistics": [{"bad_pixels_all": 1.0}],
            "protocol": evaluation.resolve("taxonomy2002"),
            "weights": [1.0],
        },
    ),
    "datasets.data_roots": (datasets.data_roots, {"data": "."}),
    "datasets.find_scenes": (datasets.find_scenes, {"name": "synthetic", "data": "."}),
    "datasets.load_scenes": (datasets.load_scenes, {"wanted": ["synthetic/planes"], "data": "."}),
    "datasets.scene_names": (datasets.scene_names, {"data": "."}),
    "io.read_disparity": (
        io.read_disparity,
        {"path": "map.pfm", "disparity_scale": 1.0, "unknown": 0.0, "disparity_offset": 0.0},
    ),
    "io.write_disparity": (
        io.write_disparity,
        {"path": "new.pfm", "disparity": MAP, "disparity_scale": None},
    ),
    "io.read_image": (io.read_image, {"path": "left.png"}),
    "io.read_grey": (io.read_grey, {"path": "left.png"}),
    "io.read_mask": (io.read_mask, {"path": "mask.png"}),
    "io.write_image": (io.write_image, {"path": "new.png", "array": LEFT}),
    "io.read_pfm": (io.read_pfm, {"path": "map.pfm"}),
    "io.write_pfm": (io.write_pfm, {"path": "new.pfm", "array": MAP}),
}
"""Public functions and classes, by name, each with arguments that it takes."""

_ = Result
