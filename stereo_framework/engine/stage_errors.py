"""Whose fault it is: the stage that an exception was raised in, in one line with the file and line of its code."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import NamedTuple, TypeVar

from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.stage import Stage

E = TypeVar("E", bound=BaseException)


class Blame(NamedTuple):
    """What is told of an exception: one line, and ``SLOT.NAME`` of the stage that raised it, empty where none did."""

    line: str
    stage: str


def blamed(error: E, stage: Stage) -> E:
    """The exception with a note of the stage that raised it; the innermost one counts."""
    if not hasattr(error, "raised_by"):
        error.raised_by = stage  # type: ignore[attr-defined]
    return error


def wrong_return(stage: Stage, wrong: str) -> StereoFrameworkError:
    """What is raised where a stage returned what stages of its slot must not return."""
    return blamed(StereoFrameworkError(f"{_place(stage)}: {stage.slot} stage {stage.name} returned {wrong}"), stage)


def blame(error: BaseException) -> Blame:
    """Tell an exception in one line.

    What a stage raises on purpose, a `StereoFrameworkError`, speaks for itself. For all else the line begins with the place in the stage's file where it
    was raised, or passed through.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    line = str(error)
    if not isinstance(error, StereoFrameworkError):
        text = next(iter(line.splitlines()), "")
        line = f"{type(error).__name__}: {text}" if text else type(error).__name__
        if stage is not None:
            line = f"{_place(stage, error)}: {stage.slot} stage {stage.name}: {line}"
    return Blame(line, "" if stage is None else f"{stage.slot}.{stage.name}")


def _place(stage: Stage, error: BaseException | None = None) -> str:
    """File and line of a stage's function, or of the last of the lines of its file that an exception passed through."""
    code = getattr(inspect.unwrap(stage.function), "__code__", None)
    if code is None:
        return str(stage.function.__module__)
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    lines = [number for frame, number in frames if frame.f_code.co_filename == code.co_filename]
    return f"{_short(code.co_filename)}:{(lines or [code.co_firstlineno])[-1]}"


def _short(file: str) -> str:
    """A path as one would type it here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
