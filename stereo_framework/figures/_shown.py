"""Figures that notebooks display by themselves, whatever their settings: figures with photographs as JPEG, a tenth the size of PNG, and charts as PNG."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(*, photographs: bool, **options: Any) -> Figure:
    """An empty figure, made without pyplot.

    Parameters
    ----------
    photographs : bool
        Whether it will contain photographs, and not only lines.
    **options
        Options of matplotlib's ``Figure``.
    """
    figure: Figure = _kinds()[photographs](**options)
    return figure


@functools.cache
def _kinds() -> tuple[Any, Any]:
    # Imported on use, because matplotlib loads slowly.
    from matplotlib.figure import Figure

    class Chart(Figure):
        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    class Pictures(Figure):
        def _repr_jpeg_(self) -> bytes:
            from stereo_framework.figures.saving import rendered
            from stereo_framework.io.images import encode_jpeg

            return encode_jpeg(rendered(self))

    return Chart, Pictures
