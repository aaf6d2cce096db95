"""All functions and classes that the author of a new stage needs.

A stage is a function with the decorator `stage`. Its positional arguments are data,
such as the reference image. The name of each positional argument defines which data the
stage gets. The keyword-only arguments are the parameters of the stage. Their
annotations give types, bounds and units. The docstring documents the stage.

This module only imports these functions and classes from the modules of
`stereo_framework.core`.
"""

from stereo_framework.core.auxiliary_maps import auxiliary_map, intensity_differences
from stereo_framework.core.call_context import CallReport, per_image, report_call
from stereo_framework.core.cost_of_pairs import CostOfPairs
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.other_frames import OtherFrame
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import (
    FilePath,
    FilePaths,
    Fraction01,
    InSlot,
    Located,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Unit,
)
from stereo_framework.core.registration import stage, step
from stereo_framework.core.scene import Disparity, Image, Mask, Scene, SearchRange
from stereo_framework.core.step import Step
from stereo_framework.core.view import BothSides, DisparityMap, View, kernel_array
from stereo_framework.core.volume import (
    ConfidenceMap,
    Costs,
    CostVolume,
    Labeling,
    Levels,
    SearchMask,
    Smoothness,
    Status,
    StatusMap,
    status_after_refinement,
)

__all__ = [
    "BothSides",
    "CallReport",
    "ConfidenceMap",
    "CostOfPairs",
    "CostVolume",
    "Costs",
    "DataError",
    "Disparity",
    "DisparityMap",
    "Estimate",
    "FilePath",
    "FilePaths",
    "Fraction01",
    "Image",
    "InSlot",
    "Labeling",
    "Levels",
    "Located",
    "Mask",
    "NonNegative",
    "NonNegativeInt",
    "OtherFrame",
    "Pair",
    "ParameterError",
    "Positive",
    "PositiveInt",
    "Scene",
    "SearchMask",
    "SearchRange",
    "Smoothness",
    "Status",
    "StatusMap",
    "Step",
    "StereoFrameworkError",
    "Unit",
    "View",
    "auxiliary_map",
    "intensity_differences",
    "kernel_array",
    "per_image",
    "report_call",
    "stage",
    "status_after_refinement",
    "step",
]
