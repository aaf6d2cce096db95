"""Whose fault it is: the stage that an exception was raised in, in one line with the file and line of its code."""

from __future__ import annotations

import inspect
import traceback
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.errors import StereoFrameworkError
from stereo_framework.stage import Bound, Stage


class WrongReturn(StereoFrameworkError):
    """A stage returned what stages of its slot must not return.

    Parameters
    ----------
    stage : Stage
    wrong : str
        What it returned, and what was expected.
    """

    def __init__(self, stage: Stage, wrong: str):
        self.stage = stage
        super().__init__(f"{place(stage)}: {stage.slot} stage {stage.name} returned {wrong}")

    def __reduce__(self) -> tuple[type[StereoFrameworkError], tuple[str]]:
        # Stages of plug-ins are not known in every process.
        return StereoFrameworkError, (str(self),)


@dataclass(frozen=True)
class Blame:
    """What is told of an exception.

    Parameters
    ----------
    line : str
    stage : str
        Slot and name of the stage that raised it, ``refinement.median``; empty where none did.
    """

    line: str
    stage: str


def blame(error: BaseException) -> Blame:
    """Tell an exception in one line.

    What a stage raises on purpose, a `StereoFrameworkError`, speaks for itself. For all else the line begins with the place in the stage's file where it
    was raised, or passed through.
    """
    if isinstance(error, WrongReturn):
        return Blame(str(error), _name(error.stage))
    frames = list(traceback.walk_tb(error.__traceback__))
    calls = [i for i, (frame, _) in enumerate(frames) if frame.f_code in _CALLS]
    stage: Stage | None = frames[calls[-1]][0].f_locals["self"].stage if calls else None
    line = str(error)
    if not isinstance(error, StereoFrameworkError):
        text = next(iter(line.splitlines()), "")
        line = f"{type(error).__name__}: {text}" if text else type(error).__name__
        if stage is not None:
            file = _code_file(stage)
            lines = [number for frame, number in frames[calls[-1] :] if frame.f_code.co_filename == file]
            line = f"{f'{_short(file)}:{lines[-1]}' if lines else place(stage)}: {stage.slot} stage {stage.name}: {line}"
    return Blame(line, "" if stage is None else _name(stage))


_CALLS = (Bound.__call__.__code__, Bound.halo.fget.__code__)  # type: ignore[attr-defined]
"""Code that runs a stage's function."""


def place(stage: Stage) -> str:
    """File and line of a stage's function."""
    code = getattr(inspect.unwrap(stage.function), "__code__", None)
    return str(stage.function.__module__) if code is None else f"{_short(code.co_filename)}:{code.co_firstlineno}"


def _name(stage: Stage) -> str:
    return f"{stage.slot}.{stage.name}"


def _code_file(stage: Stage) -> str:
    code = getattr(inspect.unwrap(stage.function), "__code__", None)
    return "" if code is None else code.co_filename


def _short(file: str) -> str:
    """A path as one would type it here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
