"""Data that a pipeline and its stages exchange through context variables.

Three kinds of data are not passed to the stages as arguments. The first kind are stored
results that depend on one image only. The second kind are reports of the stages about
their run time and memory. The third kind is the signal that cancels a running stage.
Each thread has its own context variables.
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
    """Run time, memory and messages that a stage reports to its pipeline.

    Parameters
    ----------
    seconds : float or None
        Run time of the method, in seconds, for example of an external program that the
        stage started. It replaces the run time that the pipeline measured for the call.
        None means unknown, for example because the stage only read a stored map.
    memory : float or None
        Peak memory of the external program, in MiB. None means unknown.
    messages : str
        Text that the external program printed.
    warning : str
        Warning about the pair, for the user. A report with a warning has no other
        fields, and the pipeline keeps the run time that it measured. If the warning
        requires no action of the user, it begins with `core.errors.NOTE`.
    """

    seconds: float | None = None
    memory: float | None = None
    messages: str = ""
    warning: str = ""


_RESULTS: ContextVar[dict[Hashable, Any] | None] = ContextVar("results", default=None)
_REPORTS: ContextVar[list[CallReport] | None] = ContextVar("reports", default=None)
_STOP_EVENT: ContextVar[threading.Event | None] = ContextVar("stop_event", default=None)


def storing_results(results: dict[Hashable, Any]) -> AbstractContextManager[Any]:
    """Store the results of `per_image` functions in a dictionary, in a `with` block."""
    return temporarily_set(_RESULTS, results)


def stored_results() -> dict[Hashable, Any] | None:
    """Return the dictionary of stored `per_image` results; None outside pipelines."""
    return _RESULTS.get()


def per_image(function: F) -> F:
    """Decorate a function so that its result for an image is computed only once.

    The image is the first argument of the function. The result is stored while a
    pipeline or a sweep matches the pair. A later call with an equal image and equal
    parameters returns the stored result.

    Two arrays count as the same image if they have the same memory address, shape,
    strides and type. Each stored result keeps its image in memory. Results are stored
    only for read-only images, because a writable image may change between two calls.
    Pipelines pass read-only images. For writable images, and outside pipelines, the
    function is computed at every call.

    A local stage receives strips of an image. If it calls a decorated function that
    reads neighbouring rows, the halo of the stage must include these rows. If the
    function needs the whole image, the stage must not declare a halo.

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
            # If Python freed the image, a new image could get the same memory address
            # and then the wrong result. Therefore the image is stored too.
            results[key] = image, function(*arguments, **parameters)
        return results[key][1]

    return memoized  # type: ignore[return-value]


def report_call(report: CallReport) -> None:
    """Send the report of a stage to the pipeline that runs the stage.

    If the stage was called without a pipeline, the report is dropped.
    """
    reports = _REPORTS.get()
    if reports is not None:
        reports.append(report)


def collecting_reports() -> AbstractContextManager[list[CallReport]]:
    """Collect the reports of all stages that run inside a `with` block, in a list.

    Only stages in the thread of the block are included.
    """
    return temporarily_set(_REPORTS, [])


def stopped_by(event: threading.Event) -> AbstractContextManager[threading.Event]:
    """Make the stages inside a `with` block stop as soon as an event is set.

    Only stages in the thread of the block stop. A stage that waits for an external
    program stops waiting.
    """
    return temporarily_set(_STOP_EVENT, event)


class Stopped(BaseException):
    """Exception that ends a stage because its computation was cancelled.

    A cancelled computation does not count as an error of the stage.
    """


def is_stopped() -> bool:
    """Return whether the stage that runs in this thread has been cancelled."""
    event = _STOP_EVENT.get()
    return event is not None and event.is_set()
