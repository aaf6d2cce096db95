"""Give a reader damaged files for some time: ``python -m tests.fuzz READER --seconds N``, from the clone's folder; READER may be ``all``.

A finding is a file after which a reader raises something else than the program's own errors, takes more than two seconds, writes to the error stream,
or takes much memory. It goes into ``corpus/READER``, which `test_corpus` replays, and the exit status is 1. After a crash the file is
the one whose path was printed first.
"""

import argparse
import contextlib
import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.readers import CORPUS, READERS, Reader, damaged, outcome

SLOWEST = 2.0
"""Seconds of processor time that a small file may take."""

MEMORY = 2**20
"""Kilobytes that the process may have grown to: the largest sizes that are allowed take less than half of it."""


MEMORY_DISK = "/dev/shm"
"""Where files are written quickly."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=[*READERS, "all"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    names = list(READERS) if asked.reader == "all" else [asked.reader]
    signal.signal(signal.SIGALRM, hangs)
    return max([fuzz(name, asked.seconds / len(names), asked.seed) for name in names])


def fuzz(name: str, seconds: float, seed: int | None) -> int:
    reader, chance = READERS[name], random.Random(seed)
    known = [
        (path.name.partition("-")[2], path.read_bytes())
        for path in sorted((CORPUS / name).glob("*"))
    ]
    seeds = [*reader.seeds, *known]
    count, found, end = 0, set(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(
        dir=MEMORY_DISK if os.path.isdir(MEMORY_DISK) else None
    ) as folder:
        print(f"{name}: files in {folder}", flush=True)
        while time.monotonic() < end:
            file, data = chance.choice(seeds)
            path = Path(folder, file)
            path.write_bytes(damaged(data, seeds, reader, chance))
            count += 1
            wrong = tried(reader, path)
            # One file for each kind of finding.
            if wrong and wrong[:60] not in found:
                found.add(wrong[:60])
                digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
                kept = CORPUS / name / f"{digest}-{file}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(path.read_bytes())
                print(f"{name}: {wrong}: kept as {kept}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{name}: {count} files in {seconds:.0f} s, {len(found)} findings, peak memory {peak / 1024:.0f} MB",
        flush=True,
    )
    return 1 if found else 0


def tried(reader: Reader, path: Path) -> str | None:
    """What is wrong with how a reader takes a file."""
    before = time.process_time()
    signal.alarm(int(30 * SLOWEST))
    with library_error_lines() as said:
        wrong = outcome(reader, path)
    signal.alarm(0)
    seconds = time.process_time() - before
    # libjpeg says what it thinks of a damaged file.
    if wrong is None and said and not path.read_bytes().startswith(b"\xff\xd8"):
        wrong = f"on the error stream: {said[0][:200]}"
    if wrong is None and seconds > SLOWEST:
        wrong = f"takes {seconds:.1f} s"
    if wrong is None and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MEMORY:
        wrong = "takes much memory"
    return wrong


class Hangs(Exception):
    """A file took ten times as long as it may."""


def hangs(number: int, frame: object) -> None:
    raise Hangs


@contextlib.contextmanager
def library_error_lines() -> Iterator[list[str]]:
    """Lines that libraries write to the error stream meanwhile."""
    said: list[str] = []
    stream = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(stream, 2)
            os.close(stream)
            caught.seek(0)
            said += caught.read().decode(errors="replace").splitlines()


if __name__ == "__main__":
    sys.exit(main())
