"""Run a program and write down its exit status, its seconds and the most memory that it needed at a time, in KiB: ``_measured.py REPORT PROGRAM WORDS...``

A process of its own, since the system counts what a process needed before it became another program: in one as small as this that is next to nothing.
"""

import os
import sys
import time

if __name__ == "__main__":
    report, *words = sys.argv[1:]
    start = time.perf_counter()
    try:
        pid = os.posix_spawnp(words[0], words, os.environ)
    except OSError as error:
        text = f"error {error.strerror}"
    else:
        _, status, usage = os.wait4(pid, 0)
        # macOS counts in bytes.
        memory = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        text = f"ended {os.waitstatus_to_exitcode(status)} {time.perf_counter() - start} {memory}"
    with open(report, "w", encoding="utf-8") as file:
        file.write(text)
