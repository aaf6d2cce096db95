"""Context variables that a pipeline shares with its stages.

The variables contain cached results, reports about run time, and the stop signal. Each
thread has its own context variables.
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
        Run time in seconds, for example of an external program. This value replaces the
        time measured by the pipeline. None means unknown.
    memory : float or None
        Peak memory of the external program, in MiB. None means unknown.
    messages : str
        Output of the external program.
    warning : str
        Warning about the pair, for the user. A report with a warning has no other
        fields. Remarks that need no action begin with `core.errors.NOTE`.
    processor_seconds : float or None
        Processor time in seconds, for example of an external program. This value
        replaces the processor time measured by the pipeline. None means unknown.
    """

    seconds: float | None = None
    memory: float | None = None
    messages: str = ""
    warning: str = ""
    processor_seconds: float | None = None


_RESULTS: ContextVar[dict[Hashable, Any] | None] = ContextVar("results", default=None)
_REPORTS: ContextVar[list[CallReport] | None] = ContextVar("reports", default=None)
_STOP_EVENT: ContextVar[threading.Event | None] = ContextVar("stop_event", default=None)


def storing_results(results: dict[Hashable, Any]) -> AbstractContextManager[Any]:
    """Store results of `per_image` functions in a dictionary during a `with` block."""
    return temporarily_set(_RESULTS, results)


def stored_results() -> dict[Hashable, Any] | None:
    """Return the stored `per_image` results, or None outside pipelines."""
    return _RESULTS.get()


def per_image(function: F) -> F:
    """Decorate a function so that its result for an image is computed only once.

    The first argument of the function must be the image. Results are stored while a
    pipeline or a sweep matches a pair. Only results for read-only images are stored,
    because a writable image may change. Pipelines pass read-only images.

    Each stored result keeps its image in memory. Images are compared by memory address,
    shape, strides and type.

    A local stage receives strips of an image. The halo of the stage must include all
    rows that the function reads. Without a halo, the function receives the whole image.

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
            # The image is stored too, so that no new image can get its memory address.
            results[key] = image, function(*arguments, **parameters)
        return results[key][1]

    return memoized  # type: ignore[return-value]


def report_call(report: CallReport) -> None:
    """Send a report from a stage to its pipeline.

    Outside a pipeline, the report is dropped.
    """
    reports = _REPORTS.get()
    if reports is not None:
        reports.append(report)


def collecting_reports() -> AbstractContextManager[list[CallReport]]:
    """Collect the reports of all stages in a `with` block.

    Stages in other threads are not included.
    """
    return temporarily_set(_REPORTS, [])


def stopped_by(event: threading.Event) -> AbstractContextManager[threading.Event]:
    """Stop the stages in a `with` block when an event is set.

    Stages in other threads continue.
    """
    return temporarily_set(_STOP_EVENT, event)


class Stopped(BaseException):
    """Exception that ends a cancelled stage.

    A cancellation is not an error of the stage.
    """


def is_stopped() -> bool:
    """Return whether the running stage has been cancelled."""
    event = _STOP_EVENT.get()
    return event is not None and event.is_set()
