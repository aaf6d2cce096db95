"""What holds around the calls of stages: what is kept of single images, what calls report, and the signal by which they are stopped."""

import functools
import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from stereo_framework.kernels.progress import temporarily_set as holding

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class CallReport:
    """What is reported of one call of a stage.

    Parameters
    ----------
    seconds : float or None
        What the work took, instead of the time that the call took; None: nobody knows.
    memory : float or None
        Most memory that the work needed at a time, in MiB; None: nobody knows.
    messages : str
        What the other program wrote for people.
    warning : str
        What the stage noticed of the pair and people should know. The report of a stage that warns is of nothing else: its own time counts.
        A text that begins with `core.errors.NOTE` is printed as a note, because the
        user has to do nothing.
    """

    seconds: float | None = None
    memory: float | None = None
    messages: str = ""
    warning: str = ""


_KEPT: ContextVar[dict[Hashable, Any] | None] = ContextVar("artefacts", default=None)
_REPORTS: ContextVar[list[CallReport] | None] = ContextVar("reports", default=None)
_STOPPED: ContextVar[threading.Event | None] = ContextVar("stopped", default=None)


def keeping(kept: dict[Hashable, Any]) -> AbstractContextManager[Any]:
    """Within the block, functions under `per_image` keep their results in `kept` and find them there."""
    return holding(_KEPT, kept)


def kept_here() -> dict[Hashable, Any] | None:
    """Where functions under `per_image` keep their results at this moment; None outside of pipelines."""
    return _KEPT.get()


def per_image(function: F) -> F:
    """Memoize a function of one image and some parameters while a pipeline or a sweep walks through its stages.

    The image comes first and is known by its memory address, shape, strides and type; what is kept keeps it alive. Only read-only images are
    known, as a pipeline hands them out; for others, and outside of pipelines, the function is simply called. A local stage that uses such a
    function on slices of an image counts the artefact's reach in its halo; one whose artefact needs the whole image declares no halo.

    Examples
    --------
    >>> @per_image
    ... def brightest(image, *, channel: int = 0):
    ...     return image[..., channel].max()
    """

    @functools.wraps(function)
    def memoized(*arguments: Any, **parameters: Any) -> Any:
        kept, image = _KEPT.get(), arguments[0]
        if kept is None or not isinstance(image, np.ndarray) or image.flags.writeable:
            return function(*arguments, **parameters)
        about = image.__array_interface__["data"][0], image.shape, image.strides, image.dtype
        key = function, about, arguments[1:], tuple(sorted(parameters.items()))
        if key not in kept:
            kept[key] = image, function(*arguments, **parameters)
        return kept[key][1]

    return memoized  # type: ignore[return-value]


def report_call(report: CallReport) -> None:
    """Report to whoever runs the stage; where the stage was called as a plain function the report is lost."""
    reports = _REPORTS.get()
    if reports is not None:
        reports.append(report)


def collecting_reports() -> AbstractContextManager[list[CallReport]]:
    """Give the block a list, to which every report is added that a stage makes in this thread within the block."""
    return holding(_REPORTS, [])


def stopped_by(event: threading.Event) -> AbstractContextManager[threading.Event]:
    """Let stages within the block that wait for another program, in this thread, wait no longer once the event is set."""
    return holding(_STOPPED, event)


class Stopped(BaseException):
    """Nobody waits any more for what was computed; no failure of it."""


def is_stopped() -> bool:
    """Whether nobody waits any more for what this thread does."""
    event = _STOPPED.get()
    return event is not None and event.is_set()
