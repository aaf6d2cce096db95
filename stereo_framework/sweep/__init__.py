"""Runs and their results."""

from stereo_framework.sweep.result import Result
from stereo_framework.sweep.runs import run
from stereo_framework.sweep.store import Store

__all__ = ["Result", "Store", "run"]
