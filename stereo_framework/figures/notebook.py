"""What notebooks display for scenes, matches, results, methods and protocols: pictures and tables in HTML, and figures."""

from __future__ import annotations

import base64
import functools
import html as escaping
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.parameters import describe, spelled
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.engine.match import Match
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.figures._drawing import Sheet, beyond, draw_disparity, draw_image
from stereo_framework.figures.colours import disparity_colours, eight_bits
from stereo_framework.figures.disparity_figures import overview_figure
from stereo_framework.figures.picture_files import shown_range
from stereo_framework.figures.plots import plot_figure
from stereo_framework.io import PathLike
from stereo_framework.io.images import encode_jpeg, encode_png
from stereo_framework.script.report import Plot
from stereo_framework.sweep.result import Result, ResultList
from stereo_framework.tables.results import stored
from stereo_framework.tables.tables import Table, listing, shown_statistics
from stereo_framework.tables.terminal import protocol_line
from stereo_framework.tables.values import by_protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDEST = 960
"""Width of a row of pictures, in screen pixels."""

_ACROSS = 4
"""Pictures in a row."""

_THUMBNAIL = 300
"""Width of a picture in HTML, in screen pixels."""

_MOST_ROWS = 50
"""Largest number of results in a table; further ones are left out."""


# --- figures ------------------------------------------------------------------------------------------------------------


def show(*things: Any, disparities: tuple[float, float] | None = None, **named: Any) -> Figure:
    """Show pictures side by side: of scenes, matches, results, maps and images.

    A match and the scene that it was made of, and nothing else, are shown with the truth and the error, where they are known.

    Parameters
    ----------
    *things : Scene, Match, Result, or ndarray
        For a scene its reference image is shown; for a match or result, or an array of floats with two dimensions, the disparity map. Other arrays
        are images: uint8 or bool, ``(rows, columns)`` or ``(rows, columns, 3)``, intensities 0..255.
    disparities : (float, float), optional
        Disparities in pixels at the ends of the colour scale, which all maps share. Default: the search range of the first thing that has one,
        otherwise the smallest and the largest disparity that are shown.
    **named
        Further things, under their names as titles.

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        There is nothing to show, or something has no picture.

    Examples
    --------
    >>> from stereo_framework import load_scene, show
    >>> scene = load_scene("synthetic/planes")
    >>> figure = show(scene, truth=scene.truth)
    """
    if len(things) == 2 and not named and isinstance(things[0], Match) and isinstance(things[1], Scene):
        match, scene = things
        return overview_figure(scene.reference, match.disparity, shown_range(match.disparity, scene), scene.truth, scene.name)
    given = [*((_name(thing), thing) for thing in things), *named.items()]
    if not given:
        raise ParameterError("show: nothing to show; give scenes, matches, results, maps or images")
    pictures = [(title, *_picture(title, thing)) for title, thing in given]
    maps = [array for _, array, is_map in pictures if is_map]
    shown = disparities or _common_range([thing for _, thing in given], maps)
    across = min(_ACROSS, len(pictures))
    gap, heading, below = 10, 26, 66 if maps else 8
    width = min(400, (_WIDEST - gap * (across + 1)) // across)
    lines = [pictures[i : i + across] for i in range(0, len(pictures), across)]
    heights = [max(_height(array, width) for _, array, _ in line) for line in lines]
    sheet = Sheet(gap + across * (width + gap), sum(heights) + len(lines) * (heading + gap) + below)
    top = float(sheet.height)
    drawn = None
    for line, height in zip(lines, heights, strict=True):
        for i, (title, array, is_map) in enumerate(line):
            own = _height(array, width)
            axes = sheet.panel_at(gap + i * (width + gap), int(top - heading - own), width, own, title)
            if is_map:
                drawn = draw_disparity(axes, array, shown)
            else:
                draw_image(axes, array)
        top -= heading + height + gap
    if drawn is not None:
        place = sheet.axes_at(sheet.width / 4, 52, sheet.width / 2, 10)
        sheet.colour_bar(drawn, place, "disparity (pixels)", extend=beyond(maps, shown))
    return sheet.figure


def plot(
    results: PathLike | Iterable[Result],
    x: str | Sequence[str],
    y: str | Sequence[str] | None = None,
    series: str | Sequence[str] = (),
    *,
    panels: str | Sequence[str] = (),
    **options: Any,
) -> Figure:
    """Plot curves of statistics; what is neither on the axis nor in series nor panels is averaged, which the footnote tells.

    Parameters
    ----------
    results : path-like, or iterable of Result
        The folder of a run, or what `run` returned.
    x : str or sequence of str
        The horizontal axis: a parameter, an axis of the sweep, ``scene`` or ``method``.
    y : str or sequence of str, optional
        Statistics. Default: the first of the usual ones that is there.
    series : str or sequence of str
        A curve for each combination of their values.
    panels : str or sequence of str
        A panel for each value.
    **options
        ``x_scale``, ``y_scale``, ``spread``, ``title``, ``labels``, ``where``: as under ``plots`` in a script's report.

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        No result has what is to be shown, or they are of several protocols.
    """
    found = stored(results) if isinstance(results, str | os.PathLike) else list(results)
    horizontal, vertical, curves, own = map(_some, (x, y or shown_statistics(found)[:1], series, panels))
    return plot_figure(Plot("plot", horizontal, vertical, curves, own, **options), found)


def _some(keys: str | Sequence[str]) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)


def _name(thing: Any) -> str:
    """The default title of a thing."""
    for attribute in ("method", "name"):
        if isinstance(name := getattr(thing, attribute, None), str):
            return name
    return "disparity" if hasattr(thing, "disparity") else ""


def _picture(title: str, thing: Any) -> tuple[NDArray, bool]:
    """The array that is drawn for a thing, and whether it is a disparity map."""
    if isinstance(thing, Scene):
        return thing.reference, False
    found = getattr(thing, "disparity", thing)
    if not isinstance(found, np.ndarray) or found.ndim not in (2, 3):
        raise ParameterError(
            f"show: {title or type(thing).__name__} has no picture; expected a scene, match, result, map or image"
        )
    if found.dtype == bool:
        return np.where(found, np.uint8(255), np.uint8(0)), False
    return found, found.ndim == 2 and found.dtype.kind == "f"


def _common_range(things: Iterable[Any], maps: Sequence[Disparity]) -> tuple[float, float]:
    searched = (_range(thing) for thing in things if getattr(thing, "search", None) is not None)
    return next(searched, None) or _ends(np.concatenate([np.empty(0), *(values.ravel() for values in maps)]))


def _range(thing: Scene | Match) -> tuple[float, float] | None:
    return None if thing.search is None else (thing.search.minimum, thing.search.maximum)


def _height(array: NDArray, width: int) -> int:
    return max(1, round(array.shape[0] * width / array.shape[1]))


# --- HTML ---------------------------------------------------------------------------------------------------------------


@functools.singledispatch
def html(thing: Any) -> str:
    """The HTML that a notebook displays for an object."""
    return f"<pre>{_text(repr(thing))}</pre>"


@html.register
def _(scene: Scene) -> str:
    pictures = {scene.frames[i].name: scene.image(i) for i in (scene.reference_index, scene.match_index)}
    rows, columns = scene.reference.shape[:2]
    facts = [f"{columns}x{rows} pixels", f"{len(scene.frames)} frames", f"search {scene.search}" if scene.search else ""]
    truth = ""
    if scene.truth is not None:
        facts.append(f"truth known at {np.isfinite(scene.truth).mean():.0%} of the pixels")
        truth = _map_tag("truth", scene.truth, shown_range(scene.truth, scene))
    return _titled(scene.name, facts, "".join(_image_tag(name, image) for name, image in pictures.items()) + truth)


@html.register
def _(match: Match) -> str:
    shown = match.search.minimum, match.search.maximum
    sure = "".join(_map_tag(f"confidence: {name}", values, _ends(values)) for name, values in match.confidence.items())
    slowest = max(match.seconds, key=lambda name: match.seconds[name], default="")
    facts = [f"search {match.search}", *_about(match)]
    facts += [f"longest: {slowest}"] if slowest else []
    return _titled("Match", facts, _map_tag("disparity", match.disparity, shown) + sure, match.warnings)


def _about(match: Match) -> list[str]:
    return [f"{np.isfinite(match.disparity).mean():.0%} of the pixels estimated", f"{sum(match.seconds.values()):.2g} s"]


@html.register
def _(result: Result) -> str:
    pictures = "" if result.disparity is None else _map_tag("disparity", result.disparity, _ends(result.disparity))
    facts = [f"{key}={value}" for key, value in result.axes.items()]
    body = _rows(("statistic", ""), [(name, f"{value:.4g}") for name, value in result.statistics.items()])
    warnings = [*result.warnings, *filter(None, [result.error])]
    return _titled(f"{result.scene}, {result.method}", facts, f"{pictures}<div>{body}</div>{_protocol(result)}", warnings)


@html.register(ResultList)
def _(results: Sequence[Result]) -> str:
    parts = (_table(listing(same)) + _protocol(same[0]) for same in by_protocol(results).values())
    return "".join(parts) or "<p>no results</p>"


@html.register
def _(pipeline: Pipeline) -> str:
    rows = [(address, bound.stage.name, _settings(bound)) for address, bound in pipeline.stages()]
    return _rows(("slot", "stage", "parameters (bold: not the default)"), rows, plain=2)


@html.register
def _(bound: Step) -> str:
    rows = [
        (f"<b>{name}</b>", spelled(value), _text(describe(bound.stage.parameters[name].annotation)), bound.stage.unit(name))
        for name, value in bound.parameters.items()
        if name in bound.stage.parameters
    ]
    about = f"<p><b>{bound.stage.name}</b> ({bound.stage.slot}): {_text(bound.stage.summary)}</p>"
    return about + (_rows(("parameter", "value", "legal", "unit"), rows, plain=0) if rows else "")


@html.register
def _(protocol: Protocol) -> str:
    rows = [(name, str(value)) for name, value in protocol.as_dict().items() if name not in ("name", "hci")]
    return f"<p><b>{_text(protocol.name)}</b></p>{_rows(('choice', ''), rows)}"


def matched_html(name: str, scene: Scene, method: str, match: Match, ends: tuple[float, float], warnings: Sequence[str]) -> str:
    """The HTML that a notebook displays for a `Matched`; `ends` are those of the colour scale."""
    pictures = _image_tag(name, scene.reference) + _map_tag("disparity", match.disparity, ends)
    return _titled(f"{name}, {method}", [f"search {match.search}", *_about(match)], pictures, warnings)


def _settings(bound: Step) -> str:
    defaults = {name: parameter.default for name, parameter in bound.stage.parameters.items()} | {"weight": 1, "scale": None}
    shown = ((f"{name}={_text(spelled(value))}", value == defaults[name]) for name, value in bound.parameters.items())
    return ", ".join(text if usual else f"<b>{text}</b>" for text, usual in shown)


def _protocol(result: Result) -> str:
    line = protocol_line(result.protocol_text, 120, ".protocol_text") if result.protocol_text else ""
    return f"<p><small>{_text(line)}</small></p>"


def _table(table: Table) -> str:
    rows = [
        [f"<b>{_text(cell)}</b>" if (i, j) in table.best else _text(cell) for j, cell in enumerate(row)]
        for i, row in enumerate(table.texts()[:_MOST_ROWS])
    ]
    more = len(table.rows) - len(rows)
    return _rows(table.header, rows, plain=0) + (f"<p>and {more} more</p>" if more else "")


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]], plain: int | None = None) -> str:
    """An HTML table. The cells from the column `plain` on are HTML already."""
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{cell if plain is not None and i >= plain else _text(cell)}</td>' for i, cell in enumerate(row))}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _titled(title: str, facts: Iterable[str], body: str, warnings: Iterable[str] = ()) -> str:
    told = "".join(f"<p>warning: {_text(warning)}</p>" for warning in warnings)
    return f"<p><b>{_text(title)}</b>: {_text(', '.join(filter(None, facts)))}</p><div>{body}</div>{told}"


def _image_tag(title: str, image: NDArray) -> str:
    return _tag(title, "jpeg", encode_jpeg(eight_bits(_thinned(image))))


def _map_tag(title: str, values: NDArray, ends: tuple[float, float]) -> str:
    """A map in colours, with the ends of the colour scale in its title."""
    return _tag(f"{title}, {ends[0]:.3g}..{ends[1]:.3g}", "png", encode_png(disparity_colours(_thinned(values), ends)))


def _thinned(array: NDArray) -> NDArray:
    """A large image reduced by leaving out rows and columns."""
    every = max(1, round(array.shape[1] / _THUMBNAIL))
    return np.ascontiguousarray(array[::every, ::every])


def _tag(title: str, kind: str, file: bytes) -> str:
    picture = f"data:image/{kind};base64,{base64.b64encode(file).decode()}"
    style = f"width:{_THUMBNAIL}px;image-rendering:pixelated"
    return (
        f'<figure style="display:inline-block;margin:0 8px 8px 0"><img src="{picture}" style="{style}" alt="{_text(title)}">'
        f"<figcaption>{_text(title)}</figcaption></figure>"
    )


def _ends(values: NDArray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def _text(text: str) -> str:
    return escaping.escape(text)
