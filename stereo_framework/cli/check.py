"""The verb ``check``."""

from typing import Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli.stages import NO_SOURCE


def check(
    script: Annotated[list[str] | None, typer.Argument()] = None,
    settings: _shared.Settings = None,
    plugin: _shared.Plugins = None,
    no_plugins: _shared.NoPlugins = False,
    try_out: Annotated[bool, typer.Option("--try")] = False,
    schema: bool = False,
) -> None:
    """Check parameter scripts without running them; every fault is told with its place.

    A script's plug-ins are imported, which runs them: check a stranger's script with --no-plugins.

    Example: stereo-framework check truncation.yaml

    Parameters
    ----------
    script
        Scripts: files, or names of shipped ones.
    try_out
        Also run every setting, on 64x48 pixels of a synthetic scene: what a plug-in's stage returns shows only then.
    schema
        Print the JSON Schema of scripts instead, with which editors complete and check them.
    """
    from stereo_framework.core.errors import ParameterError, ScriptError
    from stereo_framework.script import load
    from stereo_framework.script import schema as script_schema
    from stereo_framework.script.load import check_without_plugins
    from stereo_framework.script.trial import trial

    if schema:
        unused_options = {"a script": bool(script), "--set": bool(settings), "--try": try_out}
        _shared.refuse_without_effect("with --schema, which prints the schema of all scripts", unused_options)
        _shared.print_json(script_schema())
        return
    if not script:
        raise ParameterError("check: no script; name one or more")
    if no_plugins and try_out:
        raise ParameterError("--try runs the plug-ins' stages; leave out --no-plugins")
    faults: list[str] = []
    for name in script:
        try:
            named, unknown = check_without_plugins(name, settings or []) if no_plugins else ((), ())
            if named:
                left = f"; not checked: {', '.join(unknown)}" if unknown else ""
                print(f"{name}: no fault as far as it shows without its plug-ins ({', '.join(named)}){left}")
                continue
            loaded = load(name, overrides=settings or [], plugins=plugin or [])
        except ScriptError as error:
            faults += error.faults
        else:
            scenes = "each of " * (len(loaded.scenes) > 1) + (", ".join(loaded.scenes) or "scenes named later")
            used = {bound.stage for run in loaded.settings for _, bound in run.pipeline.stages()}
            for name_of_stage in sorted(f"{s.slot}.{s.name}" for s in used if f"{s.source or NO_SOURCE}".startswith(NO_SOURCE)):
                _shared.tell("warning", f"{name_of_stage}: has no source; say where the method is defined")
            if try_out and (failed := trial(loaded)):
                faults += [f"{name}: {line}" for line in failed]
                continue
            tried = ", tried on a small pair" * try_out
            print(f"{name}: no fault; {len(loaded.settings)} run{'s'[: len(loaded.settings) != 1]} on {scenes}{tried}")
    if faults:
        raise ScriptError(faults)
