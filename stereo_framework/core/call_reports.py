"""What a stage reports of its call: work done elsewhere, by another program or before, or a warning; and the signal by which it is stopped meanwhile."""

import threading
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass

from stereo_framework.kernels.context import holding


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
    """

    seconds: float | None = None
    memory: float | None = None
    messages: str = ""
    warning: str = ""


_REPORTS: ContextVar[list[CallReport] | None] = ContextVar("reports", default=None)
_STOPPED: ContextVar[threading.Event | None] = ContextVar("stopped", default=None)


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


def is_stopped() -> bool:
    """Whether nobody waits any more for what this thread does."""
    event = _STOPPED.get()
    return event is not None and event.is_set()
