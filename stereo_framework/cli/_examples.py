"""Examples of stages and of all else that can be added, to be changed into one's own: ``stages --new``."""

import keyword
import os
import re
from pathlib import Path

from stereo_framework.core.errors import DataError, ParameterError, nearest

NO_SOURCE = "TODO"
"""How the source of a new stage begins until its author says it."""
KINDS = {
    "measure": "a measure that works; in a script: plugins: [{path}] and evaluation: {{protocol: {{base: taxonomy2002, measures: [{name}]}}}}",
    "chart": "a chart that works; 'report DIR --plugin {path}' draws it",
    "reader": "a reader that works; with --plugin {path} disparity maps may be files that end with .{name}",
    "protocol": "a protocol that works; 'run SCRIPT --protocol {name} --plugin {path}' measures by it",
    "paper": "a paper that works; 'reproduce {name} --plugin {path}' runs it",
    "data_set": "a data set that works; with --plugin {path} --scene {name} stands for the scenes in the folder {name} of a data root",
}
"""What can be added besides stages, with what to do with the example."""
_PACKAGE = Path(__file__).resolve().parents[1]


def new_stage(slot: str | None, name: str, out: Path | None) -> None:
    """Write a complete example of a slot's stages, or of another kind of what can be added, under a name of one's own."""
    from stereo_framework.core import stage
    from stereo_framework.io import write_bytes

    if slot is None:
        raise ParameterError(f"--new {name}: say of which slot: --slot SLOT; {nearest('', [*stage.SLOTS, *KINDS], kind='slots')}")
    if slot not in stage.SLOTS and slot not in KINDS:
        raise ParameterError(f"--slot: no slot {slot!r}; {nearest(slot, [*stage.SLOTS, *KINDS], kind='slots')}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ParameterError(f"--new: {name!r} is no name of a function; take letters, digits and underscores")
    if slot in stage.SLOTS and name in {known.name for known in stage.stages(slot)}:
        raise ParameterError(f"--new: there is a stage {name!r} of {slot} already; choose another name")
    path = out or Path(f"{name}.py")
    if os.path.lexists(path):
        raise DataError(f"{path}: is there already; choose another name or --out FILE")
    if slot in KINDS:
        write_bytes(path, re.sub(r"\bmine\b", name, _read("plugins", slot)).encode())
        print(f"{path}: {KINDS[slot].format(path=path, name=name)}")
        return
    write_bytes(path, example(slot, name).encode())
    entry = name if not stage.SLOTS[slot].many else f"[{name}]"
    print(f"{path}: a stage of {slot} that works; in a script: plugins: [{path}] and {slot}: {entry}")


def example(slot: str, name: str | None = None) -> str:
    """The text of a slot's example; its stage called `name`, whose source is for its author to say."""
    text = _read("stages", slot)
    found = re.search(r"^@stage\(.*\)\ndef (\w+)", text, re.MULTILINE)
    assert found is not None, "every example registers a stage"
    if name is None:
        return text
    own = re.sub(r'(?m)^(@stage\(.*source=)"[^"]*"', rf'\1"{NO_SOURCE}: paper, section"', text)
    return re.sub(rf"\b{found[1]}\b", name, own)


def _read(folder: str, name: str) -> str:
    """The text of an example, which lies inside the package where it is installed."""
    inside = _PACKAGE / "examples" / folder
    return ((inside if inside.is_dir() else _PACKAGE.parent / "examples" / folder) / f"{name}.py").read_text(encoding="utf-8")
