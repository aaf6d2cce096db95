"""The command ``check``."""

from collections.abc import Sequence
from pathlib import Path
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
    explain: str | None = None,
) -> None:
    """Validate parameter scripts without running them.

    Refuses what 'run' refuses before the first match, with the same messages.

    Lists all code that a run would execute. Plug-ins that a script names are imported,
    which executes them; with --no-plugins nothing is executed.

    Example: stereo-framework check truncation.yaml

    Parameters
    ----------
    script
        Scripts: files, or names of built-in ones.
    try_out
        Also run every setting, on 64x48 pixels of a synthetic scene: what a plug-in's stage returns shows only then.
    schema
        Print the JSON Schema of scripts instead, with which editors complete and check them. It contains the stages of the option --plugin.
    explain
        Show how the values of an axis, such as aggregation.box.size, reach the parameter of a stage.
    """
    from stereo_framework.core.errors import DataError, ParameterError, ScriptError
    from stereo_framework.core.plugins import NO_PLUGINS, execution_is_off, load_plugin
    from stereo_framework.script import schema as script_schema

    if schema:
        unused_options = {"a script": bool(script), "--set": bool(settings), "--try": try_out}
        unused_options["--explain"] = explain is not None
        reason = "with --schema, which prints the schema of all scripts"
        _shared.refuse_without_effect(reason, unused_options)
        for name in plugin or []:
            load_plugin(name)
        _shared.print_json(script_schema())
        return
    if not script:
        raise ParameterError("check: no script; name one or more")

    without_execution = no_plugins or execution_is_off()
    if without_execution:
        remedy = f"leave out --no-plugins, and unset {NO_PLUGINS}"
        if try_out:
            raise ParameterError(f"--try runs what the script names; {remedy}")
        if explain is not None:
            event = "--explain needs the stages of the script, which plug-ins may define"
            raise ParameterError(f"{event}; {remedy}")
    faults: list[str] = []
    # A plug-in of one script must not move the folder from which the scenes of the next one start.
    start = Path.cwd()
    for name in script:
        try:
            if without_execution:
                _inspect(name, settings or [])
            else:
                faults += _check(name, settings or [], plugin or [], try_out, explain, start)
        except (ScriptError, DataError) as error:
            faults += str(error).splitlines()
    if faults:
        raise ScriptError(faults)


def _inspect(name: str, settings: Sequence[str]) -> None:
    """Check a script without executing anything, and print the result."""
    from stereo_framework.script.load import inspect_script

    inspection = inspect_script(name, settings)
    if inspection.plugins:
        plugins = ", ".join(inspection.plugins)
        line = f"{name}: no fault as far as it shows without its plug-ins ({plugins})"
        if inspection.unknown_stages:
            line += f"; not checked: {', '.join(inspection.unknown_stages)}"
    else:
        line = _verdict(name, inspection.run_count, inspection.scenes)
    print(_shared.as_typed(line))
    _print_executions(name, inspection.executions)


def _check(
    name: str,
    settings: Sequence[str],
    plugins: Sequence[str],
    try_out: bool,
    axis: str | None,
    folder: Path,
) -> list[str]:
    """Check a script with its plug-ins, and print the result.

    Parameters
    ----------
    name : str
        Name or path of the script.
    settings, plugins : sequence of str
        Values of the options ``--set`` and ``--plugin``.
    try_out : bool
        Whether every setting runs on a small pair.
    axis : str or None
        Name of an axis that is explained.
    folder : Path
        Folder of relative paths of scenes.

    Returns
    -------
    list of str
        Failures of the settings on the small pair.
    """
    from stereo_framework.script.explain import explain_axis
    from stereo_framework.script.small_pair_run import run_on_small_pair
    from stereo_framework.sweep.script_run import load_tasks

    script, _ = load_tasks(
        name,
        overrides=settings,
        plugins=plugins,
        scenes_optional=True,
        may_execute=False,
        folder=folder,
    )
    used_stages = {
        step.stage for setting in script.settings for _, step in setting.pipeline.stages()
    }
    without_source = {
        f"{s.slot}.{s.name}"
        for s in used_stages
        if f"{s.source or NO_SOURCE}".startswith(NO_SOURCE)
    }
    for stage_name in sorted(without_source):
        _shared.tell("warning", f"{stage_name}: has no source; say where the method is defined")

    failures = run_on_small_pair(script) if try_out else []
    if not failures:
        verdict = _verdict(name, len(script.settings), script.scenes)
        print(_shared.as_typed(f"{verdict}, tried on a small pair" if try_out else verdict))
    _print_executions(name, script.executions)
    if axis is not None:
        print(_shared.as_typed(explain_axis(script, axis)))
    return [f"{name}: {failure}" for failure in failures]


def _verdict(name: str, run_count: int, scenes: Sequence[str]) -> str:
    """Return the line about a script without faults."""
    runs = "1 run" if run_count == 1 else f"{run_count} runs"
    listed_scenes = ", ".join(scenes) or "scenes named later"
    if len(scenes) > 1:
        listed_scenes = f"each of {listed_scenes}"
    return f"{name}: no fault; {runs} on {listed_scenes}"


def _print_executions(name: str, executions: Sequence[str]) -> None:
    """Print the third-party code that a run of a script executes, a line for each."""
    for execution in executions:
        # Line ends and invisible characters could hide a part of a command.
        shown = execution if execution.isprintable() else repr(execution)[1:-1]
        print(f"{_shared.as_typed(name)}: a run executes {shown}")
