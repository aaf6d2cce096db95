"""A deadline for tests of calls that could wait without end."""

import contextlib
import signal


class DeadlinePassed(BaseException):
    """An exception that no `except Exception` of the program catches."""


@contextlib.contextmanager
def deadline(seconds=300):
    """Raise `DeadlinePassed` in the block after some seconds, if the system has alarms.

    A call that hangs never ends, so that only a long time tells it from a busy machine.
    """

    def stop(number, frame):
        raise DeadlinePassed

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    earlier = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)
