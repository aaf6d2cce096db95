"""The command ``tune``."""

import contextlib
from pathlib import Path
from typing import Any

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress, continuable


def tune(
    script: str,
    statistic: str = "bad_pixels_nonocc",
    scene: list[str] | None = None,
    trials: int = 50,
    out: Path | None = None,
    workers: int = 1,
    executor: _shared.ExecutorName = "thread",
    dask: _shared.Dask = None,
    memory: _shared.Memory = None,
    settings: _shared.Settings = None,
    plugin: _shared.Plugins = None,
    protocol: _shared.ProtocolSpec = None,
    json: bool = False,
    traceback: _shared.Traceback = False,
) -> int:
    """Search for the best parameters of a sweep script.

    The search tries only some of the settings. It stops settings with many errors after
    the first scenes.

    Example: stereo-framework tune truncation.yaml --trials 4 --out tuned

    Parameters
    ----------
    script
        Script whose sweep is searched: a file, or the name of a built-in one.
    statistic
        What is to be as low, or as high, as it can be; 'stages metrics' lists them.
    scene
        Scene, data set or pattern ('middlebury2006/*') to try on instead of the script's; repeatable.
    trials
        Settings to try in all, those of earlier calls included.
    out
        Folder for all results and the best script; the same call goes on.
    workers
        Trials at a time; a single one uses all threads.
    json
        Print one JSON object instead of a table.
    """
    import yaml

    from stereo_framework.script import load
    from stereo_framework.sweep.script_run import scenes_of
    from stereo_framework.sweep.tune import BEST_SCRIPT
    from stereo_framework.sweep.tune import tune as search
    from stereo_framework.sweep.value_text import cell_text, method_text

    if protocol is not None:
        settings = [*(settings or []), f"evaluation.protocol={protocol}"]
    start = Path.cwd()
    searched = load(script, overrides=settings or [], tuning=True, plugins=plugin or [])
    # A plug-in may have changed the current folder, from which the paths of scenes start.
    with contextlib.chdir(start):
        scenes = scenes_of(searched, scene or None, None)
    progress = Progress(trials, "trials")
    how: dict[str, Any] = {"workers": workers, "memory": memory, "trials": trials, "out": out}
    with (
        _shared.who(executor, workers, dask) as pool,
        continuable(progress, "trials", out) as count,
    ):
        tuned = search(
            searched, statistic, scenes, executor=pool, each=lambda trial: count(), **how
        )
    states = [trial.state for trial in tuned.trials]
    others = [f"{states.count(state)} {state}" for state in ("pruned", "failed") if state in states]
    tried = f"{len(states)} trials" + (f" ({', '.join(others)})" if others else "")
    if json:
        found = {
            "statistic": tuned.statistic,
            "better": tuned.better,
            "script": tuned.best_script,
            "size": tuned.size,
        }
        records = {
            "best": tuned.best and tuned.best.record(),
            "trials": [trial.record() for trial in tuned.trials],
        }
        _shared.print_json(found | {"protocol": tuned.protocol.name} | records)
    elif tuned.best is None:
        print(f"no trial was completed: {tried}")
    else:
        best = tuned.best
        name = method_text(best.setting.method, best.setting.axes)
        _shared.say(f"best of {tried} of {tuned.size} settings: trial {best.number}, {name}")
        rows = [
            [scene, cell_text(value)]
            for scene, value in [*best.scenes.items(), ("average", best.value)]
        ]
        _shared.print_table(["scene", tuned.statistic], rows)
        _shared.say(_shared.protocol_summary(str(tuned.protocol)))
        if out is None:
            print(f"\n{yaml.safe_dump(tuned.best_script, sort_keys=False)}", end="")
        else:
            results = f"all trials' results: stereo-framework results {out}"
            _shared.say(f"best script: {out / BEST_SCRIPT}; {results}")
    failed = [trial for trial in tuned.trials if trial.error]
    for trial in failed:
        _shared.tell(
            "error",
            f"trial {trial.number}, {method_text(trial.setting.method, trial.setting.axes)}: {trial.error}",
        )
    if traceback:
        _shared.print_tracebacks(tuned.trials)
    return 1 if failed else 0
