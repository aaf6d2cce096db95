"""The verb ``check``."""

from __future__ import annotations

from stereo_framework.cli._options import Settings


def check(
    script: list[str],
    settings: Settings = None,
) -> int:
    """Check parameter scripts without running them; every fault is told with its place.

    Example: stereo-framework check my_sweep.yaml

    Parameters
    ----------
    script
        Scripts: files, or names of shipped ones.
    """
    from stereo_framework.errors import ScriptError
    from stereo_framework.script import load

    faults: list[str] = []
    for name in script:
        try:
            loaded = load(name, overrides=settings or [])
        except ScriptError as error:
            faults += error.faults
        else:
            where = f"on {', '.join(loaded.scenes)}" if loaded.scenes else "on scenes named later"
            print(f"{name}: fine; {len(loaded.runs)} run{'s'[: len(loaded.runs) != 1]} {where}")
    if faults:
        raise ScriptError(faults)
    return 0
