"""Plans of the tests that kill commands: which signal is sent at which place.

A command and its workers share a folder with the plan. Whenever a process comes to a
place at which it could be killed, it counts the occurrence there. The process sends the
signal if the plan names this occurrence. No timer is involved, so each kill can be
repeated.
"""

import contextlib
import itertools
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

# A file with an ending would become a part of the identity of a plug-in that contains
# this source, because the source names the file.
_PLAN = "plan"
_SENT = "sent"
_COMMAND = "command"
_OCCURRENCES = "occurrences"


@dataclass(frozen=True)
class Kill:
    """A signal that is sent at one occurrence of a place.

    Parameters
    ----------
    place : str
        Name of the place.
    occurrence : int
        Number of the occurrence; the first one is 1.
    number : int
        Number of the signal.
    ends_worker : bool
        Whether the signal goes to the process that came to the place. Otherwise it goes
        to the process of the command, which may be another one.
    """

    place: str
    occurrence: int
    number: int
    ends_worker: bool = False


def prepare(folder: Path, kill: Kill | None) -> None:
    """Store the plan of the next command, and forget all earlier occurrences."""
    occurrences = folder / _OCCURRENCES
    occurrences.mkdir(exist_ok=True)
    # The worker of a killed command may live on for a moment, so it must not find the
    # new plan next to the old occurrences.
    (folder / _PLAN).unlink(missing_ok=True)
    (folder / _SENT).unlink(missing_ok=True)
    for path in occurrences.iterdir():
        path.unlink()
    if kill is not None:
        (folder / _PLAN).write_text(json.dumps(asdict(kill)))


def remember_command(folder: Path) -> None:
    """Store the identifier of this process, which is the process of the command."""
    (folder / _COMMAND).write_text(str(os.getpid()))


def reach(folder: Path, place: str) -> None:
    """Count an occurrence of a place, and send the signal if the plan requires it."""
    occurrence = _count(folder, place)
    try:
        kill = Kill(**json.loads((folder / _PLAN).read_text()))
    except FileNotFoundError:
        return
    if (place, occurrence) != (kill.place, kill.occurrence):
        return
    command = int((folder / _COMMAND).read_text())
    (folder / _SENT).touch()
    os.kill(os.getpid() if kill.ends_worker else command, kill.number)


def _count(folder: Path, place: str) -> int:
    """Return the number of an occurrence; two processes never get the same number."""
    earlier_occurrences = occurrences_of(folder, place)
    for occurrence in itertools.count(earlier_occurrences + 1):
        with contextlib.suppress(FileExistsError):
            (folder / _OCCURRENCES / f"{place}-{occurrence}").touch(exist_ok=False)
            return occurrence
    raise AssertionError


def occurrences_of(folder: Path, place: str) -> int:
    """Return how often the processes of the last command came to a place."""
    names = os.listdir(folder / _OCCURRENCES)
    return len([name for name in names if name.startswith(f"{place}-")])


def was_sent(folder: Path) -> bool:
    """Return whether the signal of the plan was sent."""
    return (folder / _SENT).exists()
