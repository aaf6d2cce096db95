"""Work of a known processor time, for tests of the clocks."""

import time

WORK = 0.2
"""Processor time that `work` uses, in seconds."""


def work(seconds: float = WORK) -> None:
    """Use some seconds of processor time in this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
