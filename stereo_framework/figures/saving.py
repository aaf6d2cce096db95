"""Figures that notebooks display by themselves, and their files. The same figure gives the same bytes every time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.io import PathLike, write_bytes, write_image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 200

FURTHER_FONTS = (
    *(
        "Noto Sans CJK SC",
        "Noto Sans SC",
        "WenQuanYi Micro Hei",
        "Droid Sans Fallback",
        "Noto Sans",
        "Noto Emoji",
    ),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Segoe UI Symbol", "Segoe UI Emoji"),
)
"""Fonts of Linux, macOS and Windows with the letters of many languages."""


def new_figure(**options: Any) -> Figure:
    """An empty figure, made without pyplot, that notebooks show by themselves; `options` are those of matplotlib's ``Figure``."""
    # Imported on use, because matplotlib loads slowly.
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    _take_letters()
    return Shown(**options)


def _take_letters() -> None:
    """Let matplotlib take letters that its own font lacks from fonts of the system, unless the user has named fonts."""
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    if rcParams["font.family"] == ["sans-serif"]:
        there = set(fontManager.get_font_names())
        rcParams["font.family"] = ["sans-serif", *(name for name in FURTHER_FONTS if name in there)]


def svg_text(figure: Figure, description: str | None = None) -> str:
    """A figure as SVG, with a description for programs that list files. Text is converted to outlines, which look the same everywhere."""
    import matplotlib

    file = io.StringIO()
    # Without a fixed salt, or with a date, every drawing would give a different file.
    with matplotlib.rc_context({"svg.hashsalt": "stereo_framework", "svg.fonttype": "path"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Description": description})
    return file.getvalue()


def rendered(figure: Figure) -> NDArray[np.uint8]:
    """The screen pixels of a figure, uint8 (rows, columns, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def save_picture(path: PathLike, figure: Figure) -> None:
    """Write a figure as a ``.png`` picture in exactly its own size, so that images in it are not resampled.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    write_image(path, rendered(figure))


def save_figure(figure: Figure, stem: Path, description: str) -> list[Path]:
    """Write a figure as ``STEM.svg`` and ``STEM.png``, and make the folder if it is missing.

    Raises
    ------
    DataError
        A file cannot be written.
    """
    svg, png = (stem.with_name(f"{stem.name}{ending}") for ending in (".svg", ".png"))
    write_bytes(svg, svg_text(figure, description).encode())
    file = io.BytesIO()
    figure.savefig(
        file, format="png", dpi=_DPI, metadata={"Software": None, "Description": description}
    )
    write_bytes(png, file.getvalue())
    return [svg, png]
