"""stereo_framework: dense stereo matching, measured.

A method is a chain of stages (`Pipeline`), a scene comes from `load_scene`, `evaluate` measures any disparity map and
`run` executes a parameter script. Names load on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from stereo_framework.core.slots import SLOTS

__version__ = "1.0.0"

_NAMES = {
    "core.errors": ["StereoFrameworkError"],
    "core.estimate": ["Estimate"],
    "core.pair": ["Pair"],
    "core.parameters": [
        "Fraction01",
        "NonNegative",
        "NonNegativeInt",
        "Positive",
        "PositiveInt",
        "Unit",
    ],
    "core.scene": ["Scene", "SearchRange"],
    "core.registration": ["stage", "step"],
    "core.step": ["Step"],
    "core.volume": ["CostVolume", "Energy", "Labeling", "Smoothness", "Status"],
    "datasets": ["dataset", "load_pair", "load_scene", "pair_scene"],
    "engine.pipeline": ["Pipeline"],
    "evaluation": ["evaluate"],
    "evaluation.user_metrics": ["metric"],
    "evaluation.protocols": ["protocol"],
    "figures.chart": ["chart"],
    "figures.notebook": ["plot", "show"],
    "io": ["reader"],
    "core.threads": ["threads"],
    "user_pair.matching": ["match"],
    "script": ["load"],
    "sweep": ["run"],
    "tables.differences": ["differences"],
    "tables.ranking": ["rank"],
    "tables.results": ["results"],
}
"""Where each name comes from."""

_HOMES = {name: home for home, names in _NAMES.items() for name in names}

# Type checkers read the names that a package exports from a literal list.
__all__ = [
    "CostVolume",
    "Energy",
    "Estimate",
    "Fraction01",
    "Labeling",
    "NonNegative",
    "NonNegativeInt",
    "Pair",
    "Pipeline",
    "Positive",
    "PositiveInt",
    "Scene",
    "SearchRange",
    "Smoothness",
    "Status",
    "Step",
    "StereoFrameworkError",
    "Unit",
    "__version__",
    "chart",
    "dataset",
    "differences",
    "evaluate",
    "load",
    "load_pair",
    "load_scene",
    "match",
    "metric",
    "pair_scene",
    "plot",
    "protocol",
    "rank",
    "reader",
    "results",
    "run",
    "show",
    "stage",
    "step",
    "threads",
]

_ROOMS = (*SLOTS, "evaluation", "datasets", "io")
"""Packages whose functions are called as ``stereo_framework.matching_cost.census``; they too load on first use."""

if TYPE_CHECKING:
    from stereo_framework import aggregation as aggregation
    from stereo_framework import confidence as confidence
    from stereo_framework import datasets as datasets
    from stereo_framework import evaluation as evaluation
    from stereo_framework import io as io
    from stereo_framework import matcher as matcher
    from stereo_framework import matching_cost as matching_cost
    from stereo_framework import optimization as optimization
    from stereo_framework import preprocessing as preprocessing
    from stereo_framework import refinement as refinement
    from stereo_framework import scheme as scheme
    from stereo_framework import smoothness as smoothness
    from stereo_framework.core.errors import StereoFrameworkError
    from stereo_framework.core.estimate import Estimate
    from stereo_framework.core.pair import Pair
    from stereo_framework.core.parameters import (
        Fraction01,
        NonNegative,
        NonNegativeInt,
        Positive,
        PositiveInt,
        Unit,
    )
    from stereo_framework.core.registration import stage, step
    from stereo_framework.core.scene import Scene, SearchRange
    from stereo_framework.core.step import Step
    from stereo_framework.core.threads import threads
    from stereo_framework.core.volume import CostVolume, Energy, Labeling, Smoothness, Status
    from stereo_framework.datasets import dataset, load_pair, load_scene, pair_scene
    from stereo_framework.engine.pipeline import Pipeline
    from stereo_framework.evaluation.evaluate import evaluate
    from stereo_framework.evaluation.protocols import protocol
    from stereo_framework.evaluation.user_metrics import metric
    from stereo_framework.figures.chart import chart
    from stereo_framework.figures.notebook import plot, show
    from stereo_framework.io import reader
    from stereo_framework.script.load import load
    from stereo_framework.sweep import run
    from stereo_framework.tables.differences import differences
    from stereo_framework.tables.ranking import rank
    from stereo_framework.tables.results import results
    from stereo_framework.user_pair.matching import match


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"stereo_framework.{name}")
    if name not in _HOMES:
        from stereo_framework.core.former_names import raise_missing_attribute

        raise_missing_attribute(__name__, name)
    value = getattr(importlib.import_module(f"stereo_framework.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
