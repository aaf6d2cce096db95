"""Describe how many results of a sweep are done, and how long the rest will take."""

from __future__ import annotations

from dataclasses import dataclass

from stereo_framework.kernels.progress import duration_text
from stereo_framework.sweep.value_text import counted


@dataclass(frozen=True)
class RunProgress:
    """The progress of the last command that wrote to a results folder.

    Parameters
    ----------
    planned : int
        Number of results that the command needs.
    done : int
        Number of these results that the folder contains.
    is_running : bool or None
        Whether the command is still running. None means that this is not known, for
        example because the file system has no locks.
    new : int
        Number of results that were computed after the command began. A stored disparity
        map that is only evaluated again does not count.
    seconds : float
        Time since the command began to write to the folder, in seconds.
    """

    planned: int
    done: int
    is_running: bool | None = None
    new: int = 0
    seconds: float = 0.0

    @property
    def missing(self) -> int:
        """Number of results that are not computed yet."""
        return self.planned - self.done

    @property
    def seconds_left(self) -> float | None:
        """Time until all results are done, in seconds, or None if it is not known.

        The estimate assumes that the missing results take as long as those that the
        command has computed so far.
        """
        if not self.is_running or self.new == 0:
            return None
        return self.missing * self.seconds / self.new

    def text(self) -> str:
        """Return a message about missing results, or an empty text if all are done."""
        if self.missing == 0:
            return ""
        if not self.is_running:
            return self._text_without_run()
        percentage = 100 * self.done // self.planned
        text = (
            f"{self.done} of {counted(self.planned, 'result')} are done ({percentage} %), and the "
            "run is going on"
        )
        if self.seconds_left is not None:
            text += f"; the rest takes about {duration_text(self.seconds_left)}"
        return text

    def _text_without_run(self) -> str:
        """Return a message about missing results if perhaps no command runs."""
        beginning = "1 result is" if self.missing == 1 else f"{self.missing} results are"
        remedy = "run the same command again to compute the rest"
        if self.is_running is False:
            event = "because the run was stopped early"
            return f"{beginning} still missing, {event}; {remedy}"
        event = "if no command is computing results now, the run was stopped early"
        return f"{beginning} still missing; {event}; {remedy}"
