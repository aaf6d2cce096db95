"""Run a program and write down its exit status, its seconds and the most memory that it needed at a time, in KiB: ``_measured.py REPORT PROGRAM WORDS...``

A process of its own, since the system counts what a process needed before it became another program: in one as small as this that is next to nothing.
"""

import os
import signal
import sys
import time

if __name__ == "__main__":
    report, *words = sys.argv[1:]
    start, parent = time.perf_counter(), os.getppid()
    try:
        pid = os.posix_spawnp(words[0], words, os.environ)
    except OSError as error:
        text = f"error {error.strerror}"
    else:
        while not (found := os.wait4(pid, os.WNOHANG))[0]:
            if os.getppid() != parent:
                # Whoever wanted it is gone, and could not end it.
                os.killpg(0, signal.SIGKILL)
            # A hundredth of the time so far is as well as it is told.
            time.sleep(min(0.05, max(0.001, (time.perf_counter() - start) / 100)))
        _, status, usage = found
        # macOS counts in bytes.
        memory = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        text = f"ended {os.waitstatus_to_exitcode(status)} {time.perf_counter() - start} {memory}"
    with open(report, "w", encoding="utf-8") as file:
        file.write(text)
