"""Information around the calls of stages that is not passed as an argument.

This is the memory of results for single images, the list of the stages' reports, and
the signal that ends running stages. Each is a context variable of a thread.
"""

import functools
import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from stereo_framework.kernels.progress import temporarily_set

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class CallReport:
    """What a stage reports of one call.

    Parameters
    ----------
    seconds : float or None
        Time that the work took, instead of the time that the call took. None: unknown.
    memory : float or None
        Peak memory of the work in MiB. None: unknown.
    messages : str
        Text that another program printed.
    warning : str
        Remark on the pair that the user should read. A report with a warning contains
        nothing else: the time of the call counts. A text that begins with
        `core.errors.NOTE` is printed as a note, because the user has to do nothing.
    """

    seconds: float | None = None
    memory: float | None = None
    messages: str = ""
    warning: str = ""


_RESULTS: ContextVar[dict[Hashable, Any] | None] = ContextVar("results", default=None)
_REPORTS: ContextVar[list[CallReport] | None] = ContextVar("reports", default=None)
_STOP_EVENT: ContextVar[threading.Event | None] = ContextVar("stop_event", default=None)


def storing_results(results: dict[Hashable, Any]) -> AbstractContextManager[Any]:
    """Let functions with `per_image` store results in a dictionary within a block."""
    return temporarily_set(_RESULTS, results)


def stored_results() -> dict[Hashable, Any] | None:
    """Return the results of functions with `per_image`; None outside pipelines."""
    return _RESULTS.get()


def per_image(function: F) -> F:
    """Let a function compute its result for an image and parameters only once.

    The results are stored while a pipeline or a sweep matches a pair. The image is the
    first argument. It is identified by its memory address, shape, strides and type, and
    a stored result keeps the image in memory. Only read-only images are identified,
    because other images may change; pipelines pass read-only images. For other images,
    and outside pipelines, the function is called every time.

    A local stage that calls such a function on strips of an image must add the rows
    that the function reads to its halo. If the function needs the whole image, the
    stage declares no halo.

    Examples
    --------
    >>> @per_image
    ... def brightest(image, *, channel: int = 0):
    ...     return image[..., channel].max()
    """

    @functools.wraps(function)
    def memoized(*arguments: Any, **parameters: Any) -> Any:
        results = _RESULTS.get()
        image = arguments[0]
        if results is None or not isinstance(image, np.ndarray) or image.flags.writeable:
            return function(*arguments, **parameters)
        address = image.__array_interface__["data"][0]
        image_key = address, image.shape, image.strides, image.dtype
        key = function, image_key, arguments[1:], tuple(sorted(parameters.items()))
        if key not in results:
            # The image is stored too, so that no other image gets its address.
            results[key] = image, function(*arguments, **parameters)
        return results[key][1]

    return memoized  # type: ignore[return-value]


def report_call(report: CallReport) -> None:
    """Report a call to the pipeline that runs the stage.

    The report is lost if the stage was called directly.
    """
    reports = _REPORTS.get()
    if reports is not None:
        reports.append(report)


def collecting_reports() -> AbstractContextManager[list[CallReport]]:
    """Collect the reports of the calls within a block, in this thread, in a list."""
    return temporarily_set(_REPORTS, [])


def stopped_by(event: threading.Event) -> AbstractContextManager[threading.Event]:
    """Let stages within a block, in this thread, end when an event is set.

    Stages that wait for another program end their wait.
    """
    return temporarily_set(_STOP_EVENT, event)


class Stopped(BaseException):
    """The computation was cancelled. This is no failure of a stage."""


def is_stopped() -> bool:
    """Return whether the computation of this thread was cancelled."""
    event = _STOP_EVENT.get()
    return event is not None and event.is_set()
