"""The model of a script: the check of each key, and the values of the keys.

First, each script file is checked separately. Then, the scripts are merged, and the
values are read from the merged script. A fault that both steps find is reported once,
because the class `Faults` stores one fault for each location.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from stereo_framework.core.parameters import as_yaml
from stereo_framework.core.slots import SLOTS, exclusions
from stereo_framework.evaluation import protocols
from stereo_framework.io import name_fault
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Location
from stereo_framework.script.addresses import NAME, Address, split
from stereo_framework.script.axes import Axis, axis_values, fault_of_address
from stereo_framework.script.findings import Findings
from stereo_framework.script.keys import (
    AUXILIARY_KEYS,
    KEYS,
    METHOD_KEYS,
    SearchKeys,
    SeedKey,
    allowed_entries,
    is_right,
    read_mapping,
    text_of,
    texts_of,
)
from stereo_framework.script.layers import as_stage, filled_slots, methods_inside
from stereo_framework.script.report import parse_report
from stereo_framework.script.slot_stages import FAULTY, SlotReader

_WHAT = {KEYS: "", METHOD_KEYS: " of a method", AUXILIARY_KEYS: " of an auxiliary method"}


@dataclass(frozen=True, eq=False)
class SceneValue:
    """A value that a script sets on some scenes.

    Parameters
    ----------
    scenes : str
        Name of a scene or of a data set, or a pattern, as in `scene_fits`.
    address : str
        Address of the value, such as ``search.maximum`` or ``aggregation.box.size``.
    value : Document
    location : Location
        Location of the address.
    """

    scenes: str
    address: str
    value: Document
    location: Location


@dataclass(eq=False)
class Model:
    """Checks the keys of a script, and reads their values.

    Parameters
    ----------
    findings : Findings
        Collects faults. Faulty values are left out of the results.

    Attributes
    ----------
    slots : SlotReader
        Reads the stages in slots.
    """

    findings: Findings
    slots: SlotReader = field(init=False)

    def __post_init__(self) -> None:
        self.slots = SlotReader(self.findings)
        # Methods that read a key also check the key. Their results are not used here.
        self._checks: Mapping[str, Callable[[Document], object]] = {
            "auxiliary": self._check_auxiliary,
            "methods": self._check_methods,
            "name": self.name,
            "scenes": self._check_scenes,
            "search": self.search,
            "seed": self.seed,
            "report": self._check_report,
            "evaluation": self._check_evaluation,
            "maps": self.maps,
            "sweep": self.sweep,
            "by_scene": self.by_scene,
        }

    def check(self, script: Document, allowed: tuple[str, ...] = KEYS) -> None:
        """Check a script, a method of its key ``methods``, or an auxiliary method.

        Parameters
        ----------
        script : Document
        allowed : tuple of str
            Allowed keys: `KEYS`, `METHOD_KEYS` or `AUXILIARY_KEYS`.
        """
        entries = allowed_entries(script, allowed, self.findings.faults, what=_WHAT[allowed])
        for key, value in entries.items():
            if key in SLOTS:
                self.slots.read(key, value)
            # Null removes all auxiliary methods. For other keys, it means no key.
            elif key in self._checks and (value.data is not None or key == "auxiliary"):
                self._checks[key](value)
        self._check_nothing_beside_maps(script, entries)
        if allowed != AUXILIARY_KEYS:
            for prefix, _ in methods_inside(script):
                self._check_exclusions(filled_slots(script, prefix))

    def _check_nothing_beside_maps(self, script: Document, entries: Mapping[str, Document]) -> None:
        """Report a script that has both stages and the key ``maps``."""
        filled = [key for key, value in entries.items() if value.data is not None]
        others = [key for key in (*SLOTS, "auxiliary") if key in filled]
        if "maps" in filled and others:
            listed = ", ".join(f"{key}{script.key(key).in_brackets()}" for key in others)
            message = f"maps stand instead of {listed}; keep one or the other"
            self.findings.fault(script.key("maps"), message)

    def _check_exclusions(self, slots: Mapping[str, Location]) -> None:
        """Report filled slots that exclude each other.

        Parameters
        ----------
        slots : mapping of str to Location
            Locations of the stages, by slot.
        """
        for excluding, excluded in exclusions(slots):
            listed = ", ".join(f"{slot}{slots[slot].in_brackets()}" for slot in excluded)
            message = f"a {excluding} replaces {listed}; keep one or the other"
            self.findings.fault(slots[excluding], message)

    # --- methods ----------------------------------------------------------------------

    def _check_auxiliary(self, document: Document) -> None:
        """Check the auxiliary methods and their names."""
        if document.data is not None and not document.mapping:
            message = (
                "there are no auxiliary methods; write NAME: {slots or include} for each, or null "
                "for none"
            )
            self.findings.fault(document.location, message)
        for name, method in document.entries().items():
            if re.fullmatch(NAME, name):
                self.check(method, AUXILIARY_KEYS)
                continue
            message = (
                f"{name!r} cannot be the name of an auxiliary method; "
                "allowed: letters, digits, _ and -"
            )
            self.findings.fault(method.location.key or document.location, message)

    def _check_methods(self, document: Document) -> None:
        """Check the methods and their names."""
        if not document.mapping:
            message = (
                "there are no methods; write NAME: {slots, include, sweep, seed} for each, or "
                "leave the key out"
            )
            self.findings.fault(document.location, message)
        for name, method in document.entries().items():
            name_message = name_fault(name) if name.strip() else "the name of the method is empty"
            if name_message:
                self.findings.fault(method.location.key or document.location, name_message)
            self.check(method, METHOD_KEYS)

    # --- simple keys ------------------------------------------------------------------

    def name(self, document: Document) -> str | None:
        """Return the name of the script, or None if it is missing or has a fault."""
        if document.data is None:
            return None
        name = text_of(document)
        message = name_fault(name) if name else f"{as_yaml(document.data)} is not a text"
        if message:
            self.findings.fault(document.location, message)
            return None
        return name

    def _check_scenes(self, document: Document) -> None:
        """Check the names of the scenes of a script or of a method."""
        self._check_not_empty(document, "scene")
        texts_of(document, self.findings.faults, "the name of a scene")

    def _check_not_empty(self, document: Document, item: str) -> None:
        """Report an empty list."""
        if document.data == []:
            message = f"the list is empty; name at least one {item}, or leave the key out"
            self.findings.fault(document.location, message)

    def search(self, document: Document) -> dict[str, Document]:
        """Return the keys of the search range without faults."""
        right_keys = read_mapping(SearchKeys, document, self.findings.faults)
        return {key: document.part(key) for key in right_keys}

    def seed(self, document: Document) -> int | None:
        """Return the seed of stages that draw random numbers, or None after a fault."""
        if document.data is None:
            return None
        has_seed = is_right(SeedKey, "seed", document, self.findings.faults)
        return document.data if has_seed else None

    def _check_report(self, document: Document) -> None:
        """Check the plots and tables."""
        # The keys may be parameters of stages that only a plug-in knows.
        if not self.findings.faults.without_plugins:
            parse_report(document, self.findings.faults)

    def _check_evaluation(self, document: Document) -> None:
        """Check the protocols and the additional metrics."""
        faults = self.findings.faults
        entries = allowed_entries(document, ("protocol", "metrics"), faults)
        if "metrics" in entries and entries["metrics"].data:
            metrics = entries["metrics"]
            # Metrics are checked as a part of a protocol. Any base protocol will do.
            record = {"base": "taxonomy2002", "metrics": metrics.data}
            for message in protocols.faults(record).values():
                faults.add(metrics.location, message)
        if "protocol" not in entries:
            return
        self._check_not_empty(entries["protocol"], "protocol")
        names_so_far: set[str] = set()
        for item in entries["protocol"].items():
            wrong_fields = protocols.faults(item.data)
            for path, message in wrong_fields.items():
                is_field = path in item.mapping
                faults.add(item.locations[path,] if is_field else item.location, message)
            if wrong_fields:
                continue
            name = protocols.resolve(item.data).name
            if name in names_so_far:
                message = (
                    f"a second protocol has the name {name!r}; give it another name, because the "
                    "name distinguishes the results"
                )
                faults.add(item.location, message)
            names_so_far.add(name)

    def maps(self, document: Document) -> Document:
        """Return the stage ``{use: maps, path: ...}`` for which the key stands.

        The result is `FAULTY` after a fault.
        """
        matcher = as_stage(document, "path")
        if not isinstance(matcher.data, dict) or "use" in matcher.data:
            message = (
                f"{as_yaml(document.data)} is not a path; write a folder, PATH/{{scene}}.pfm, or "
                "{path: PATH, disparity_scale: 4}"
            )
            self.findings.fault(document.location, message)
            return FAULTY
        # The script does not contain the text ``use: maps``.
        location = replace(document.location, key=None, unquoted_text=None)
        matcher = matcher.with_value(("use",), Document("maps", {(): location}))
        self.slots.read("matcher", matcher)
        return matcher

    # --- the sweep --------------------------------------------------------------------

    def sweep(self, document: Document) -> dict[str, Axis]:
        """Return the axes of a sweep by name."""
        axes: dict[str, Axis] = {}
        kinds = allowed_entries(document, ("grid", "zip"), self.findings.faults)
        for kind, axes_of_kind in kinds.items():
            if axes_of_kind.data is not None and not isinstance(axes_of_kind.data, dict):
                example = "axes, such as {matching_cost.truncation: [5, 10, 20]}"
                self._report_no_mapping(axes_of_kind, example)
            for name, values in axes_of_kind.entries().items():
                location = axes_of_kind.key(name)
                if name in axes:
                    message = "this axis is both in sweep.grid and in sweep.zip; keep one of them"
                    self.findings.fault(location, message)
                axes[name] = self._axis(name, values, location, zipped=kind == "zip")
        return axes

    def by_scene(self, document: Document) -> list[SceneValue]:
        """Return the values on single scenes that have no fault."""
        if document.data is not None and not isinstance(document.data, dict):
            example = "scenes, such as {teddy: {search.maximum: 60}}"
            self._report_no_mapping(document, example)
        values = []
        for scenes, values_on_scenes in document.entries().items():
            if not isinstance(values_on_scenes.data, dict):
                self._report_no_mapping(values_on_scenes, "addresses, such as {search.maximum: 60}")
            for address, value in values_on_scenes.entries().items():
                location = values_on_scenes.key(address)
                if self._check_scene_value(address, value, location):
                    values.append(SceneValue(scenes, address, value, location))
        return values

    def _report_no_mapping(self, document: Document, expected: str) -> None:
        """Report data that are no mapping, with words for the expected keys."""
        message = f"{as_yaml(document.data)} is not a mapping of {expected}"
        self.findings.fault(document.location, message)

    def _check_scene_value(self, address: str, value: Document, location: Location) -> bool:
        """Return whether an address and its value have no fault, and report faults.

        A parameter of a stage is accepted here. The class `Expansion` checks it, when
        the stage at the address is known.
        """
        message = fault_of_address(address, owner="key", place="an address")
        if message:
            self.findings.fault(location, message)
            return False
        parts = split(address)
        if parts.is_slot:
            return self.slots.read(parts.word, value) is not None
        if parts.word in SLOTS:
            return True
        return self._is_right_number(parts, value)

    def _is_right_number(self, address: Address, value: Document) -> bool:
        """Check a value of the search range or a seed, and report its fault."""
        keys = SeedKey if address.word == "seed" else SearchKeys
        return is_right(keys, address.rest or address.word, value, self.findings.faults)

    def _axis(self, name: str, document: Document, location: Location, *, zipped: bool) -> Axis:
        """Return an axis with its values.

        An axis with a wrong address has no values. A wrong value of the search range or
        a wrong seed is replaced by `FAULTY`. A wrong stage is reported and kept.
        """
        message = fault_of_address(name)
        if message:
            self.findings.fault(location, message)
            return Axis(name, location, (), zipped)
        address = split(name)
        values = axis_values(document, self.findings.faults)
        if address.is_slot:
            for value in values:
                self.slots.read(address.word, value)
        elif address.word not in SLOTS:
            for index, value in enumerate(values):
                if not self._is_right_number(address, value):
                    values[index] = FAULTY
        return Axis(name, location, tuple(values), zipped)
