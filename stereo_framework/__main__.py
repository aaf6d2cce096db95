"""The command line, also as ``python -m stereo_framework``."""

import gc
import os
import signal
import sys
from typing import Any, NoReturn


def main() -> None:
    """Run the command line. This is the entry point of the console script."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell lets programs in the background ignore interrupts.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end_at_once)

    # Imports, compiling and thousands of results create so many objects that searching
    # for garbage after every 700 of them takes a tenth of the run time.
    gc.set_threshold(100_000, 50, 100)

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The program that started this one has closed the stream.
            stream: Any = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  It stays open.
            setattr(sys, name, stream)

    # This precedes the first import of NumPy, which starts the threads.
    from stereo_framework.kernels.threads import use_one_blas_thread

    use_one_blas_thread()
    from stereo_framework.cli.main import main as command

    command()


def _end_at_once(number: int, frame: object) -> NoReturn:
    """End the program with one line and the exit status of a signal.

    This handler is active while modules are imported, and after a command has ended.
    An exception would be shown with a traceback, or lost in a library.
    """
    word = b"terminated\n" if number == signal.SIGTERM else b"interrupted\n"
    try:
        # A stream may be locked by the code that the signal has interrupted.
        os.write(2, word)
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    main()
