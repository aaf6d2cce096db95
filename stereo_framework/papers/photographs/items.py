"""The six experiments: tables and charts of errors by group of scenes, and what is asked of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure
from stereo_framework.figures.distributions import distributions_figure
from stereo_framework.figures.saving import pdf_bytes
from stereo_framework.page.page import Block, Cell
from stereo_framework.papers.comparison import plain_table
from stereo_framework.papers.paper import Context, Outcome, drawn, results_details
from stereo_framework.papers.photographs.left_out import GROUPS, JUDGED, left_out
from stereo_framework.papers.photographs.ranked_dots import ranked_dots_figure
from stereo_framework.script import load
from stereo_framework.sweep import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_MADE_HERE = ("fine", "fast", "planes", "half_planes", "plane_paths", "ad_field")
"""What begins like this was made with these scenes in view: it gets a star."""

_CHANGES = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0}
"""What of an image is changed, with the values that change nothing."""

_PLAIN = "as it is"
_NOTE = "Percent of bad pixels, off by more than 1 pixel, in the mean of the scenes; of roads all pixels with truth, else visible ones. * was made on these scenes."
_DRAWN = ("truth", "equiangular", "parabola", "half_parabola", "planes")
"""What the histograms of fractions show; whole and half levels have one or two fractions."""

_MEASURED = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_WRONLY, 0) for n in (1, 2)]
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command and prints the memory that it took at most. A process counts what its parent had when it began, so that this parent is a small one."""

_BINS = 16
"""Of a pixel, in which fractions of disparities are counted."""


def costs(context: Context) -> Outcome:
    """Costs with windows and with paths."""
    return _compared(context, "costs", "matching costs")


def light(context: Context) -> Outcome:
    """The same costs with one image changed."""
    photographs = GROUPS["photographs"][0]
    results = [*(r for r in context.run("costs") if r.scene.startswith(photographs)), *context.run("costs_changed")]
    by_light: dict[str, list[Result]] = {}
    for r in results:
        by_light.setdefault(_light(r), []).append(r)
    lights = {name: found for name, own in by_light.items() if (found := left_out(own))}
    if len(lights) < 2:
        return Outcome([results_details(results)], absent="no photographs are there")
    means = {name: {m: own["error"].mean() for m, own in found["photographs"].items()} for name, found in lights.items()}
    plain = lights[_PLAIN]["photographs"]
    rows = [[_starred(m), *(own[m] for own in means.values()), plain[m]["error"].get("ArtL")] for m in plain]
    header = ["cost and what follows", *lights, "ArtL alone"]
    note = f"{_NOTE} One image was changed: a factor, an exponent, the share that corners lose, grey levels of noise. ArtL's images were lit differently."
    table = plain_table("Errors on photographs by change", header, rows, ".1f", note, lower=header)
    panels = {
        after: {m.removesuffix(f"_{after}"): [(name, own[m]) for name, own in means.items()] for m in plain if m.endswith(after)}
        for after in ("window", "paths")
    }
    figure = _curves(panels, "change of one image", "category", "Changed light")
    return _outcome([table], results, {"light": (figure, "errors by change")}, {"lights": lights})


def aggregation(context: Context) -> Outcome:
    """Ways of aggregation, each with its best size."""
    return _compared(context, "aggregation", "aggregation of one cost")


def optimizers(context: Context) -> Outcome:
    """Optimizers of one cost, each with its best penalties."""
    return _compared(context, "optimizers", "optimization of one cost")


def sub_pixel(context: Context) -> Outcome:
    """RMS errors of the pixels that are right to a pixel, and how their fractions are distributed."""
    from pandas import DataFrame

    results = [r for r in context.run("sub_pixel", maps=True) if r.error is None]
    errors: dict[str, dict[str, dict[str, float]]] = {}
    fractions: dict[str, dict[str, list[NDArray[np.float32]]]] = {}
    [protocol] = load("photographs/sub_pixel").settings[0].protocols
    for r in results:
        group, region = next((name, region) for name, (folder, region) in GROUPS.items() if r.scene.startswith(folder))
        scene = load_scene(r.scene, data=context.data)
        assert scene.truth is not None
        assert r.disparity is not None
        near = region_masks(scene, protocol)[region] & (np.abs(r.disparity - scene.truth) <= 1)
        rms = float(np.sqrt(np.mean(np.square(r.disparity[near] - scene.truth[near], dtype=np.float64))))
        errors.setdefault(group, {}).setdefault(r.method, {})[r.scene] = rms
        of = fractions.setdefault(group, {})
        of.setdefault(r.method, []).append(_fraction(r.disparity[near]))
        of.setdefault("truth", []).append(_fraction(scene.truth[near]))
    distances = {g: {m: DataFrame({"error": own}) for m, own in methods.items()} for g, methods in errors.items()}
    # The other scenes' truth is in whole pixels or eighths.
    fine = [group for group in JUDGED if group in fractions]
    shown = {
        f"{group}: fraction of disparity (px)": {m: np.concatenate(fractions[group][m]) for m in _DRAWN if m in fractions[group]}
        for group in fine
    }
    rows = []
    for m in dict.fromkeys(r.method for r in results):
        locking = [_locking(fractions[group][m], fractions[group]["truth"]) for group in fine]
        rows.append([_starred(m), *(own[m]["error"].mean() for own in distances.values()), *locking])
    header = ["method", *(f"{group}: RMS (px)" for group in distances), *(f"{group}: locking (%)" for group in fine)]
    note = (
        "RMS error of the pixels that are right to a pixel, in the mean of the scenes. Locking: what share of them would have to move to another sixteenth "
        "of a pixel for their fractions to be distributed as the truth's are. * was made on these scenes."
    )
    forms = ["", *[".3f"] * len(distances), *[".0f"] * len(fine)]
    table = plain_table("Between the levels", header, rows, forms, note, lower=header)
    figure = distributions_figure(shown, 1 / _BINS, title="Fractions of disparities") if shown else None
    return _outcome(
        [table], results, {"sub_pixel": (figure, "histograms of fractions")} if figure else {}, {"distances": distances or None}
    )


def post_processing(context: Context) -> Outcome:
    """Errors of all pixels with each step left out."""
    return _compared(context, "post_processing", "steps left out, all pixels counted", region="all")


def methods(context: Context) -> Outcome:
    """Whole methods: errors, seconds and memory."""
    results = context.run("methods")
    outcome = _compared(context, "methods", "whole methods", memory=_memory(context, results))
    found = outcome.data.get("found", {})
    panels = {
        g: {_starred(m): [(own["seconds"].mean(), own["error"].mean())] for m, own in found[g].items()}
        for g in JUDGED
        if g in found
    }
    if not panels:
        return outcome
    figure = _curves(panels, "seconds a pair", "log", "Errors over time")
    picture = drawn("methods_time", figure, "errors over time", "Errors over time")
    files = {**outcome.files, "methods_time.pdf": pdf_bytes(figure)}
    return replace(outcome, blocks=[*outcome.blocks, picture], files=files)


def _compared(
    context: Context, name: str, title: str, *, region: str | None = None, memory: Mapping[str, float] | None = None
) -> Outcome:
    """The results of a script: a row for each method, a chart, and what is asked."""
    results = context.run(name)
    found = left_out(results, region=region)
    if not found:
        return Outcome([results_details(results)], absent="no scene is there")
    groups, first = list(found), found[next(iter(found))]
    ways = sorted(first, key=lambda m: first[m]["error"].mean())
    rows = []
    for m in ways:
        own = [found[group].get(m) for group in groups]
        means = [None if o is None else o["error"].mean() for o in own]
        rows.append([_starred(m), *means, first[m]["seconds"].mean(), *([memory.get(m)] if memory else [])])
    header = ["method", *groups, f"seconds, {groups[0]}", *(["memory (MiB)"] if memory else [])]
    forms = ["", *[".1f"] * len(groups), ".2g", *([".0f"] if memory else [])]
    table = plain_table(f"Errors: {title}", header, rows, forms, _NOTE, lower=header)
    if any(map(_mostly, first.values())):
        chosen = [[*row, Cell(_mostly(first[m]) or "-")] for row, m in zip(table.rows, ways, strict=True)]
        note = f"{_NOTE} Parameters: the best of a small grid on the other scenes of the group, never on the scene itself; the grid stands in configs/photographs/{name}.yaml."
        table = replace(table, header=[*header, "chosen for most scenes"], rows=chosen, note=note)
    values = {g: {_starred(m): found[g][m]["error"].tolist() for m in ways if m in found[g]} for g in groups}
    chart = ranked_dots_figure(values, "bad pixels (%)", title.capitalize())
    return _outcome([table], results, {name: (chart, title)}, {"found": found})


def _mostly(chosen: DataFrame) -> str:
    """The setting that was chosen for most scenes."""
    return Counter(chosen["setting"]).most_common(1)[0][0]


def _curves(panels: Mapping[str, Mapping[str, Sequence[tuple[Any, float]]]], x_label: str, x_scale: str, title: str) -> Figure:
    """A panel by its title with a curve for each name."""
    shown = []
    for i, (name, lines) in enumerate(panels.items()):
        curves = tuple(Line((m,), tuple(Mark(x, y) for x, y in own)) for m, own in lines.items())
        shown.append(Panel(0, i, name, x_label, "bad pixels (%)", curves))
    names = {(m,): m for lines in panels.values() for m in lines}
    return curves_figure(shown, names, x_scale=x_scale, title=title)


def _outcome(
    tables: Sequence[Block], results: Sequence[Result], figures: Mapping[str, tuple[Figure, str]], data: Mapping[str, Any]
) -> Outcome:
    """Tables, and figures by name with what they show, which are files too."""
    pictures = [drawn(name, figure, words, words.capitalize()) for name, (figure, words) in figures.items()]
    files = {f"{name}.pdf": pdf_bytes(figure) for name, (figure, _) in figures.items()}
    return Outcome([*tables, *pictures, results_details(results)], data=data, files=files, absent="no scene is there")


def _starred(method: str) -> str:
    return f"{method}*" if method.startswith(_MADE_HERE) else method


def _light(result: Result) -> str:
    """What was changed, as text."""
    of = {name: result.axes.get(f"preprocessing.radiometric_change.{name}", plain) for name, plain in _CHANGES.items()}
    return ", ".join(f"{name} {value:g}".replace(" 0.", " .") for name, value in of.items() if value != _CHANGES[name]) or _PLAIN


def _fraction(disparity: NDArray) -> NDArray[np.float32]:
    """What a disparity is above a whole pixel; just below one, as many bins are centred on 0, it is a little below 0."""
    found: NDArray[np.float32] = (disparity - np.floor(disparity + 0.5 / _BINS)).astype(np.float32)
    return found


def _locking(found: Sequence[NDArray], truth: Sequence[NDArray]) -> float:
    """Percent of the fractions that lie in other bins than the truth's do, in the mean of the scenes."""
    shares = [
        [np.bincount(np.rint(_BINS * f).astype(int) % _BINS, minlength=_BINS) / max(f.size, 1) for f in both]
        for both in zip(found, truth, strict=False)
    ]
    return 50 * mean(float(np.abs(own - true).sum()) for own, true in shares)


def _memory(context: Context, results: Sequence[Result]) -> dict[str, float]:
    """MiB that a process of its own takes at most for each method on the first scene; empty where the system does not tell."""
    if not hasattr(os, "wait4") or not results:
        return {}
    found: dict[str, float] = {}
    unit = 1 if sys.platform == "darwin" else 1024
    with tempfile.TemporaryDirectory() as folder:
        for r in (r for r in results if r.scene == results[0].scene and r.error is None):
            script = Path(folder) / f"{r.method}.yaml"
            script.write_text(json.dumps(dict(r.script)), encoding="utf-8")
            run = ["run", str(script), "--scene", r.scene, "--no-maps", "--out", folder]
            data = ["--data", str(context.data)] if context.data else []
            command = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "stereo_framework", *run, *data]
            process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            if process.returncode == 0:
                found[r.method] = int(process.stdout) * unit / 2**20
    return found
