"""Where the dots of ranked methods lie, and that nothing overlaps."""

from figure_parts import check_layout

from stereo_framework.papers.photographs.ranked_dots import ranked_dots_figure


def test_dots_lie_at_the_means():
    groups = {"photographs": {"b": [1.0, 3.0], "a": [4.0, 6.0]}, "roads": {"a": [7.0], "b": []}}
    figure = ranked_dots_figure(groups, "bad pixels (%)", "Costs")
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["b", "a"]
    dots = [[line.get_xydata()[0].tolist() for line in axes.lines if line.get_markersize() == 5] for axes in (first, second)]
    assert dots == [[[2.0, 0.0], [5.0, 1.0]], [[7.0, 1.0]]]
    rings = [line.get_xdata().tolist() for line in first.lines if line.get_markersize() == 3]
    assert rings == [[1.0, 3.0], [4.0, 6.0]]


def test_nothing_overlaps():
    methods = {f"a_method_of_a_long_name_{i}": [float(i), i + 20.0] for i in range(24)}
    figure = ranked_dots_figure(dict.fromkeys(("photographs", "roads", "v2", "2002"), methods), "bad pixels (%)", "Costs")
    figure.draw_without_rendering()
    check_layout(figure)
