"""Evaluation: regions, disparity errors and the protocols that say how they are counted."""

from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.evaluation.evaluate import evaluate
from stereo_framework.evaluation.protocols import Protocol, resolve
from stereo_framework.evaluation.sanity import find_reading_errors

__all__ = ["Protocol", "evaluate", "find_reading_errors", "resolve"]

report_attributes_of_module(__name__)
