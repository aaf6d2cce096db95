"""Run parameter scripts, and read and store the results of runs."""

from stereo_framework.core.former_names import report_attributes_of_module
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.script_run import run
from stereo_framework.sweep.store import Store

__all__ = ["MISSING", "Result", "ResultSet", "Store", "run"]

report_attributes_of_module(__name__)
