"""Examples of stages, to be changed into one's own: ``stages --new``."""

from __future__ import annotations

import keyword
import os
import re
from pathlib import Path

from stereo_framework.core.errors import DataError, ParameterError, nearest

NO_SOURCE = "TODO"
"""How the source of a new stage begins until its author says it."""
_PACKAGE = Path(__file__).resolve().parents[1]


def new_stage(slot: str | None, name: str, out: Path | None) -> None:
    """Write a complete example of a slot's stages under a name of one's own."""
    from stereo_framework.core import stage
    from stereo_framework.engine import pipeline  # noqa: F401  registers the stages
    from stereo_framework.io import write_bytes

    if slot is None:
        raise ParameterError(f"--new {name}: say of which slot: --slot SLOT; {nearest('', stage.SLOTS, kind='slots')}")
    if slot not in stage.SLOTS:
        raise ParameterError(f"--slot: no slot {slot!r}; {nearest(slot, stage.SLOTS, kind='slots')}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ParameterError(f"--new: {name!r} is no name of a function; take letters, digits and underscores")
    if name in {known.name for known in stage.stages(slot)}:
        raise ParameterError(f"--new: there is a stage {name!r} of {slot} already; choose another name")
    path = out or Path(f"{name}.py")
    if os.path.lexists(path):
        raise DataError(f"{path}: is there already; choose another name or --out FILE")
    write_bytes(path, example(slot, name).encode())
    entry = name if not stage.SLOTS[slot].many else f"[{name}]"
    print(f"{path}: a stage of {slot} that works; in a script: plugins: [{path}] and {slot}: {entry}")


def example(slot: str, name: str | None = None) -> str:
    """The text of a slot's example; its stage called `name`, whose source is for its author to say."""
    inside = _PACKAGE / "stage_examples"
    folder = inside if inside.is_dir() else _PACKAGE.parent / "examples" / "stages"
    text = (folder / f"{slot}.py").read_text(encoding="utf-8")
    found = re.search(r"^@stage\(.*\)\ndef (\w+)", text, re.MULTILINE)
    assert found is not None, "every example registers a stage"
    if name is None:
        return text
    own = re.sub(r'(?m)^(@stage\(.*source=)"[^"]*"', rf'\1"{NO_SOURCE}: paper, section"', text)
    return re.sub(rf"\b{found[1]}\b", name, own)
