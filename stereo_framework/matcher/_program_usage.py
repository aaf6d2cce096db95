"""Run a program and report the resources that it uses.

The command line is ``_program_usage.py REPORT PROGRAM WORDS...``. The file REPORT gets
the exit status, the seconds, the peak memory in KiB and the processor seconds.

This is a process of its own because the system also counts the memory that a process used before it became another program; in a process as small
as this one, that is next to nothing.
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
                # The process that asked for it is gone and could not end it.
                os.killpg(0, signal.SIGKILL)
            # Polling at intervals of 1 % of the time so far makes the time precise enough.
            time.sleep(min(0.05, max(0.001, (time.perf_counter() - start) / 100)))
        _, status, usage = found
        # macOS reports bytes.
        memory = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        seconds = time.perf_counter() - start
        # This time includes the processes for which the program has waited.
        processor_seconds = usage.ru_utime + usage.ru_stime
        exit_status = os.waitstatus_to_exitcode(status)
        text = f"ended {exit_status} {seconds} {memory} {processor_seconds}"
    with open(report, "w", encoding="utf-8") as file:
        file.write(text)
