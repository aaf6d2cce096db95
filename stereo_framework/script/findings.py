"""The findings of the check of a script: faults, remarks, and third-party code."""

from stereo_framework.core.plugins import not_executed
from stereo_framework.io.locations import Faults, Location


class Findings:
    """Everything that the check of a script reports.

    Parameters
    ----------
    faults : Faults
        Collects the faults. Faulty parts of the script are then left out.

    Attributes
    ----------
    executions : dict of str to Location
        Third-party code that stages of the settings execute, and the locations of these
        stages.
    notes : list of str
        Remarks about axes without effect on some settings.
    """

    def __init__(self, faults: Faults):
        self.faults = faults
        self.executions: dict[str, Location] = {}
        self.notes: list[str] = []
        self._unread: dict[Location, str] = {}
        self._read: set[Location] = set()

    def fault(self, location: Location, message: str) -> None:
        """Store a fault."""
        self.faults.add(location, message)

    def note_execution(self, execution: str, location: Location) -> None:
        """Note that a stage executes third-party code."""
        self.executions.setdefault(execution, location)

    def refuse_executions(self) -> None:
        """Report a fault for each stage that executes third-party code."""
        for execution, location in self.executions.items():
            self.fault(location, not_executed(execution))

    def note_reading(self, location: Location, reason: str) -> None:
        """Note whether a setting reads the value at a location.

        Parameters
        ----------
        location : Location
        reason : str
            Reason why no stage reads the value. It is empty if a stage reads the value.
        """
        if reason:
            self._unread.setdefault(location, reason)
        else:
            self._read.add(location)

    def remarks(self) -> tuple[str, ...]:
        """Return the remarks about axes and keys without effect."""
        remarks = list(self.notes)
        for location, reason in self._unread.items():
            if location not in self._read:
                remarks.append(f"{location}: has no effect on any disparity map, because {reason}")
        return tuple(remarks)
