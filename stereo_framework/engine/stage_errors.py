"""Whose fault it is: the stage that an exception was raised in, in one line with the file and line of its code."""

from __future__ import annotations

from typing import TypeVar

from stereo_framework.core.errors import StereoFrameworkError, place_of, told
from stereo_framework.core.stage import Stage

E = TypeVar("E", bound=BaseException)


def blamed(error: E, stage: Stage) -> E:
    """The exception with a note of the stage that raised it; the innermost one counts."""
    if not hasattr(error, "raised_by"):
        error.raised_by = stage  # type: ignore[attr-defined]
    return error


def wrong_return(stage: Stage, wrong: str) -> StereoFrameworkError:
    """What is raised where a stage returned what stages of its slot must not return."""
    return blamed(StereoFrameworkError(f"{place_of(stage.function)}: {stage.slot} stage {stage.name} returned {wrong}"), stage)


def blame(error: BaseException) -> str:
    """Tell an exception in one line.

    What a stage raises on purpose, a `StereoFrameworkError`, speaks for itself. For all else the line begins with the place in the stage's file where it
    was raised, or passed through.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    if isinstance(error, StereoFrameworkError):
        return str(error)
    return told(error) if stage is None else told(error, stage.function, f"{stage.slot} stage {stage.name}")
