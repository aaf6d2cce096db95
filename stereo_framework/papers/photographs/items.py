"""The six experiments: tables and charts of errors by group of scenes, and what is asked of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.datasets import load_scene
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure
from stereo_framework.figures.distributions import distributions_figure
from stereo_framework.figures.ranked_dots import ranked_dots_figure
from stereo_framework.figures.saving import pdf_bytes, svg_text
from stereo_framework.page.page import Cell, PageTable, Picture, Statement, mark_best
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.photographs.claims import CLAIMS
from stereo_framework.papers.photographs.left_out import GROUPS, JUDGED, Chosen, Found, left_out, mean_error, setting
from stereo_framework.script import load
from stereo_framework.sweep import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    results = context.run("costs")
    found = left_out(results)
    return _outcome(context, "costs", found, results, ("census_instead_of_differences",), "matching costs")


def light(context: Context) -> Outcome:
    """The same costs with one image changed."""
    asked = ("census_in_changed_light", "information_at_gamma", "light_before_differences")
    photographs = GROUPS["photographs"][0]
    results = [*(r for r in context.run("costs") if r.scene.startswith(photographs)), *context.run("costs_changed")]
    by_light: dict[str, list[Result]] = {}
    for r in results:
        by_light.setdefault(_light(r), []).append(r)
    lights = {name: found for name, own in by_light.items() if (found := left_out(own))}
    if len(lights) < 2:
        return Outcome(
            [results_details(results)], statements=[CLAIMS[name].unasked("no photographs are there") for name in asked]
        )
    methods = list(lights[_PLAIN]["photographs"])
    rows = []
    for m in methods:
        real = lights[_PLAIN]["photographs"][m].get("ArtL")
        means = [Cell.number(mean_error(found["photographs"][m]), ".1f") for found in lights.values()]
        rows.append([Cell(_starred(m)), *means, Cell.number(real.error if real else None, ".1f")])
    header = ["cost and what follows", *lights, "ArtL alone"]
    note = f"{_NOTE} One image was changed: a factor, an exponent, the share that corners lose, grey levels of noise. ArtL's images were lit differently."
    table = PageTable("Errors on photographs by change", header, mark_best(rows, ["", *["lower"] * (len(header) - 1)]), note)
    drawn = []
    for i, after in enumerate(("window", "paths")):
        lines = [
            Line((m.removesuffix(f"_{after}"),), tuple(Mark(n, mean_error(f["photographs"][m])) for n, f in lights.items()))
            for m in methods
            if m.endswith(after)
        ]
        drawn.append(Panel(0, i, after, "change of one image", "bad pixels (%)", tuple(lines)))
    names = {line.series: line.series[0] for panel in drawn for line in panel.curves}
    picture, files = _picture("light", curves_figure(drawn, names, x_scale="category", title="Changed light"), "errors by change")
    statements = [CLAIMS[name].asked(lights) for name in asked]
    return Outcome([table, picture, results_details(results)], statements=statements, files=files)


def aggregation(context: Context) -> Outcome:
    """Ways of aggregation, each with its best size."""
    results = context.run("aggregation")
    asked = ("shiftable_best", "weights_instead_of_windows")
    return _outcome(context, "aggregation", left_out(results), results, asked, "aggregation of one cost")


def optimizers(context: Context) -> Outcome:
    """Optimizers of one cost, each with its best penalties."""
    results = context.run("optimizers")
    asked = ("graph_cuts_best", "two_dimensions_best", "paths_instead_of_graph_cuts", "planes_instead_of_levels")
    return _outcome(context, "optimizers", left_out(results), results, asked, "optimization of one cost")


def sub_pixel(context: Context) -> Outcome:
    """RMS errors of the pixels that are right to a pixel, and how their fractions are distributed."""
    results = [r for r in context.run("sub_pixel", maps=True) if r.error is None]
    distances: dict[str, dict[str, dict[str, Chosen]]] = {}
    fractions: dict[str, dict[str, list[NDArray[np.float32]]]] = {}
    [protocol] = load("photographs/sub_pixel").settings[0].protocols
    for r in results:
        group, region = next((name, region) for name, (folder, region) in GROUPS.items() if r.scene.startswith(folder))
        scene = load_scene(r.scene, data=context.data)
        assert scene.truth is not None
        assert r.disparity is not None
        near = region_masks(scene, protocol)[region] & (np.abs(r.disparity - scene.truth) <= 1)
        rms = float(np.sqrt(np.mean(np.square(r.disparity[near] - scene.truth[near], dtype=np.float64))))
        distances.setdefault(group, {}).setdefault(r.method, {})[r.scene] = Chosen(rms, (), r.matching_seconds or 0.0)
        of = fractions.setdefault(group, {})
        of.setdefault(r.method, []).append(_fraction(r.disparity[near]))
        of.setdefault("truth", []).append(_fraction(scene.truth[near]))
    shown = {
        f"{group}: fraction of disparity (px)": {name: np.concatenate(methods[name]) for name in _DRAWN if name in methods}
        for group, methods in fractions.items()
        if group in JUDGED
    }
    methods = list(dict.fromkeys(r.method for r in results))
    rows = []
    for m in methods:
        cells = [Cell(_starred(m))]
        cells += [Cell.number(mean_error(distances[group][m]), ".3f") for group in distances]
        # The other scenes' truth is in whole pixels or eighths.
        fine = [group for group in JUDGED if group in fractions]
        cells += [Cell.number(_locking(fractions[group][m], fractions[group]["truth"]), ".0f") for group in fine]
        rows.append(cells)
    header = ["method", *(f"{group}: RMS (px)" for group in distances), *(f"{g}: locking (%)" for g in JUDGED if g in distances)]
    note = (
        "RMS error of the pixels that are right to a pixel, in the mean of the scenes. Locking: what share of them would have to move to another sixteenth "
        "of a pixel for their fractions to be distributed as the truth's are. * was made on these scenes."
    )
    table = PageTable("Between the levels", header, mark_best(rows, ["", *["lower"] * (len(header) - 1)]), note)
    figure = distributions_figure(shown, 1 / _BINS, title="Fractions of disparities") if shown else None
    picture, files = _picture("sub_pixel", figure, "histograms of fractions") if figure else (None, {})
    statements = _asked(("fit_always_helps", "half_pixels_adequate", "planes_nearest"), distances)
    return Outcome([table, *([picture] if picture else []), results_details(results)], statements=statements, files=files)


def post_processing(context: Context) -> Outcome:
    """Errors of all pixels with each step left out."""
    results = context.run("post_processing")
    found = left_out(results, region="all")
    return _outcome(context, "post_processing", found, results, ("every_step_helps",), "steps left out, all pixels counted")


def methods(context: Context) -> Outcome:
    """Whole methods: errors, seconds and memory."""
    results = context.run("methods")
    found = left_out(results)
    outcome = _outcome(
        context, "methods", found, results, ("shiftable_good_choice", "global_ahead"), "whole methods", _memory(context, results)
    )
    points = [
        Panel(
            0,
            i,
            group,
            "seconds a pair",
            "bad pixels (%)",
            tuple(Line((m,), (Mark(mean(c.seconds for c in own.values()), mean_error(own)),)) for m, own in found[group].items()),
        )
        for i, group in enumerate(g for g in JUDGED if g in found)
    ]
    if not points:
        return outcome
    names = {line.series: _starred(line.series[0]) for panel in points for line in panel.curves}
    picture, files = _picture(
        "methods_time", curves_figure(points, names, x_scale="log", title="Errors over time"), "errors over time"
    )
    return Outcome([*outcome.blocks, picture], statements=outcome.statements, files={**outcome.files, **files})


def _outcome(
    context: Context,
    name: str,
    found: Found,
    results: Sequence[Result],
    asked: Sequence[str],
    title: str,
    memory: Mapping[str, float] | None = None,
) -> Outcome:
    """A row for each method, a chart, and what is asked."""
    if not found:
        return Outcome([results_details(results)], statements=_asked(asked, found))
    groups, first = list(found), found[next(iter(found))]
    ways = sorted(first, key=lambda m: mean_error(first[m]))
    rows = []
    for m in ways:
        own = [found[group].get(m) for group in groups]
        errors = [Cell.number(mean_error(o) if o else None, ".1f", hint=setting(o) if o else "") for o in own]
        used = [Cell.number(mean(c.seconds for c in first[m].values()), ".2g")]
        used += [Cell.number(memory.get(m), ".0f")] if memory else []
        rows.append([Cell(_starred(m)), *errors, *used])
    header = ["method", *groups, f"seconds, {groups[0]}", *(["memory (MiB)"] if memory else [])]
    rows, note = mark_best(rows, ["", *["lower"] * (len(header) - 1)]), _NOTE
    if any(setting(first[m]) for m in ways):
        header.append("chosen for most scenes")
        rows = [[*row, Cell(setting(first[m]) or "-")] for row, m in zip(rows, ways, strict=True)]
        note += f" Parameters: the best of a small grid on the other scenes of the group, never on the scene itself; the grid stands in configs/photographs/{name}.yaml."
    table = PageTable(f"Errors: {title}", header, rows, note)
    values = {g: {_starred(m): [c.error for c in found[g][m].values()] for m in ways if m in found[g]} for g in groups}
    chart = ranked_dots_figure(values, "bad pixels (%)", title.capitalize())
    picture, files = _picture(name, chart, title)
    return Outcome([table, picture, results_details(results)], statements=_asked(asked, found), files=files)


def _asked(names: Sequence[str], found: Found) -> list[Statement]:
    return [CLAIMS[name].asked(found) if found else CLAIMS[name].unasked("no scene is there") for name in names]


def _picture(name: str, figure: Figure, description: str) -> tuple[Picture, dict[str, str | bytes]]:
    drawn = svg_text(figure)
    return Picture(drawn, description, description.capitalize()), {f"{name}.svg": drawn, f"{name}.pdf": pdf_bytes(figure)}


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
