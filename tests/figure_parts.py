"""What figures consist of."""

import itertools

from matplotlib.backends.backend_agg import FigureCanvasAgg


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.images]


def bars(figure):
    return [axes.get_xlabel() or axes.get_ylabel() for axes in figure.axes if not axes.images]


def legends(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def check_layout(figure):
    """Nothing is cut off at the edges and nothing lies on something else, to a screen pixel."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    parts = [*figure.axes, *(text for text in figure.texts if text.get_text()), *figure.legends]
    boxes = [part.get_tightbbox(renderer) for part in parts]
    for box in boxes:
        assert min(box.x0, box.y0) > -1
        assert box.x1 < figure.bbox.width + 1
        assert box.y1 < figure.bbox.height + 1
    for a, b in itertools.combinations(boxes, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) < 1 or min(a.y1, b.y1) - max(a.y0, b.y0) < 1
