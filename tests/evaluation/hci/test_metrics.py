"""The nine metrics: scenes in which their values are known, slow twins, and how each reacts to each fault."""

import math
from dataclasses import replace

import naive_hci
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled

from stereo_framework.evaluation.hci import (
    HCI_METRICS,
    Parameters,
    Subsets,
    bumpiness,
    detail_fattening,
    extract_subsets,
    foreground_fattening,
    foreground_thinning,
    fragmentation,
    fuzziness,
    hci_metrics,
    metrics,
    misorientation,
    missed_structures,
    offset,
    porosity,
)

BAND = 4  # pixels beside the edge pixel
EDGE = 60


def _edge(at=EDGE):
    """Foreground from a column on."""
    truth = np.full((80, 120), 5, np.float32)
    truth[:, at:] = 13
    return truth


TRUTH = _edge()
SUBSETS = extract_subsets(TRUTH, parameters=Parameters(band_width=BAND))


# --- edges that are known


@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_an_edge_fattened_by_k_pixels(k):
    estimate = _edge(EDGE - k)
    score = foreground_fattening(estimate, TRUTH, SUBSETS)
    assert score.value == pytest.approx(k / (BAND + 1))
    assert score.coverage == 1
    assert foreground_thinning(estimate, TRUTH, SUBSETS).value == 0
    band = score.picture[40, EDGE - BAND - 1 : EDGE]
    assert band.tolist() == [0] * (BAND + 1 - k) + [1] * k
    assert np.isnan(score.picture[40, EDGE:]).all()
    assert np.isnan(score.picture[:20]).all()


def test_fuzziness_in_image_widths():
    relative = replace(SUBSETS, parameters=replace(SUBSETS.parameters, fuzziness_distance="width"))
    estimate = _edge(EDGE - 2)
    assert fuzziness(estimate, TRUTH, relative).value == pytest.approx(
        fuzziness(estimate, TRUTH, SUBSETS).value / 120
    )


def test_what_a_map_says_where_nothing_is_known_does_not_count():
    truth = TRUTH.copy()
    truth[30:34, EDGE - 3 : EDGE + 3] = np.nan
    estimate = truth.copy()
    estimate[np.isnan(truth)] = 99
    estimate[50:52, EDGE - 5 : EDGE + 5] = np.nan
    subsets = extract_subsets(truth, parameters=SUBSETS.parameters)
    values = hci_metrics(estimate, truth, subsets)
    assert all(
        values["hci_" + name] == 0
        for name in ("foreground_fattening", "foreground_thinning", "fuzziness")
    )
    assert values["hci_coverage_fuzziness"] < 1


def test_pixels_with_unknown_truth_are_not_outside_the_discontinuities():
    truth = np.float32([[1, np.nan, 1, 5, 9, np.nan, 9]])
    edges = np.arange(7)[None] == 3
    near = (np.arange(7)[None] >= 2) & (np.arange(7)[None] <= 4)
    subsets = replace(
        extract_subsets(truth, parameters=Parameters(border=0)),
        edges=edges,
        foreground=near & ~edges,
        background=np.zeros_like(near),
    )
    # The gradient of a level estimate is too weak, by 2, 4 and 2 pixels per pixel. The
    # next known pixels outside are 2, 3 and 2 pixels away.
    score = fuzziness(np.full_like(truth, 5), truth, subsets)
    assert score.value == pytest.approx((2 * 2 + 4 * 3 + 2 * 2) / 3)


# --- planes that are known

Y, X = np.mgrid[:80, :120]
FLAT = (0.25 * X - 0.125 * Y + 30).astype(np.float32)
PLANE = extract_subsets(FLAT)


def test_angles_do_not_exceed_90_degrees():
    # The normals of steep opposite slopes open to more than 90 degrees; the lines they lie on do not.
    steep = extract_subsets((0.75 * X).astype(np.float32), parameters=Parameters(edge_jump=9))
    angle = misorientation((-8 * X).astype(np.float32), steep).value
    assert angle == pytest.approx(180 - math.degrees(math.atan(0.75) + math.atan(8)), rel=1e-6)


# --- bars that are known

BARS = (50, 57, 64)
LENGTH = 24


def _grid(gaps=0, lost=()):
    """Three bars of 3 columns; gaps of 2 rows in the middle one."""
    disparity = np.full((80, 120), 4, np.float32)
    for bar, left in enumerate(BARS):
        if bar not in lost:
            disparity[25 : 25 + LENGTH, left : left + 3] = 14
    for gap in range(gaps):
        top = 29 + 5 * gap
        disparity[top : top + 2, BARS[1] : BARS[1] + 3] = 4
    return disparity


GRID = extract_subsets(_grid())


@pytest.mark.parametrize(("gaps", "expected"), [(0, 0), (1, 0.50), (2, 0.67), (3, 0.75)])
def test_figure_5_shows_one_structure(gaps, expected):
    # Published: LCU 0.50 and MeshS 0.67 where the picture shows two and three fragments; 0 in one piece (IDR, BSM, Cens5).
    alone = replace(
        GRID, structures=np.where(GRID.structures == 2, GRID.structures, 0).astype(np.int32)
    )
    assert round(fragmentation(_grid(gaps), _grid(), alone).value, 2) == expected


def test_a_lost_bar():
    estimate = _grid(lost=[2])
    # It is no fragmented one, but porous over the diagonal of its box of 3 x LENGTH.
    score = fragmentation(estimate, _grid(), GRID)
    assert (score.value, score.coverage) == (0, pytest.approx(2 / 3))
    assert porosity(estimate, _grid(), GRID).value == pytest.approx(
        math.log(1 + math.hypot(3, LENGTH)) / 3, rel=1e-6
    )
    assert math.isnan(fragmentation(_grid(lost=[0, 1, 2]), _grid(), GRID).value)
    assert [missed_structures(_grid(lost=lost), _grid(), GRID) for lost in ([2], [0, 1, 2])] == [
        1,
        3,
    ]


# --- missing estimates


def test_pixels_without_an_estimate_leave_the_sets():
    estimate = _edge(EDGE - 2)
    estimate[40:] = np.nan  # half of the evaluated rows
    estimate[45] = np.inf
    score = foreground_fattening(estimate, TRUTH, SUBSETS)
    assert (score.value, score.coverage) == (pytest.approx(2 / (BAND + 1)), 0.5)
    assert np.isnan(score.picture[40:]).all()
    assert fuzziness(estimate, TRUTH, SUBSETS).coverage == 0.5
    plane = FLAT + np.float32(1)
    plane[:40] = np.nan
    assert offset(plane, PLANE).coverage == 0.5
    # Windows of 3 and 5 rows lose one and two rows more.
    assert bumpiness(plane, PLANE).coverage == 19 / 40
    assert misorientation(plane, PLANE).coverage == 18 / 40
    bars = _grid(lost=[2])
    bars[25:31, 50:53] = np.nan
    assert porosity(bars, _grid(), GRID).coverage == pytest.approx(1 - 6 / (3 * LENGTH))
    assert fragmentation(bars, _grid(), GRID).value == 0


def test_nothing_estimated():
    empty = np.full((80, 120), np.nan, np.float32)
    for truth, subsets in ((TRUTH, SUBSETS), (FLAT, PLANE), (_grid(), GRID)):
        values = hci_metrics(empty, truth, subsets)
        assert all(math.isnan(values[name]) for name in HCI_METRICS)
        assert all(
            value == 0 or math.isnan(value)
            for name, value in values.items()
            if name.startswith("hci_coverage")
        )
    assert values["hci_missed_structures"] == 3


# --- twins

SMALL = st.tuples(st.integers(1, 7), st.integers(1, 8))


def _floats(shape, *, missing=True):
    return filled(shape, np.array([*np.arange(41) / 4, *[2.0, 9.0, *[np.nan] * missing] * 14])).map(
        np.float32
    )


@st.composite
def _small(draw, missing=True):
    """A truth, an estimate, and sets drawn at random."""
    shape = draw(SMALL)
    truth, estimate = draw(_floats(shape, missing=missing)), draw(_floats(shape, missing=missing))

    def mask():
        return draw(filled(shape, np.arange(2))).astype(bool)

    known = ~np.isnan(truth)
    others = [draw(_floats(shape, missing=False)) for _ in range(3)]
    labels = [draw(filled(shape, np.arange(3))).astype(np.int32) for _ in range(2)]
    coefficients = draw(filled((2, 3), np.arange(-8, 9) / 4))
    masks = [mask() for _ in range(3)]
    parts = labels[0], coefficients, labels[1], mask(), others[2]
    return (
        estimate,
        truth,
        Subsets(Parameters(normal_window=3), mask() & known, *masks, *others[:2], *parts),
    )


def _same(got, expected, tolerance=1e-5):
    """Scores are collected in float32, of values up to 40 and distances up to 10."""
    assert math.isnan(got) == math.isnan(expected)
    assert math.isnan(got) or got == pytest.approx(expected, abs=tolerance, rel=tolerance)


@given(_small())
def test_shares_equal_their_twins(case):
    estimate, truth, s = case
    for metric, other, mask in (
        (foreground_fattening, s.foreground_disparity, s.background),
        (foreground_thinning, s.background_disparity, s.foreground),
        (detail_fattening, s.neighbourhood_disparity, s.neighbourhood),
    ):
        _same(
            metric(estimate, truth, s).value,
            naive_hci.share_nearer(estimate, truth, other, mask & s.evaluated),
        )


@given(_small(missing=False))
def test_fuzziness_equals_its_twin(case):
    estimate, truth, s = case
    near = s.edges | s.foreground | s.background
    # With no edge in the map the twin's distance is infinite, ours the diagonal.
    if s.edges.any():
        _same(
            fuzziness(estimate, truth, s).value,
            naive_hci.fuzziness(estimate, truth, s.edges, near, s.evaluated),
        )


@given(_small())
def test_plane_metrics_equal_their_twins(case):
    estimate, _, s = case
    terms = naive_hci.plane_terms(
        estimate, np.where(s.evaluated, s.planes, 0), s.plane_coefficients, 3
    )
    for metric, expected in zip((bumpiness, offset, misorientation), terms, strict=True):
        score = metric(estimate, s)
        assert set(naive_hci.pixels(~np.isnan(score.picture))) == set(expected)
        # The twin's arccosine is good to 1e-6 degrees at best.
        _same(score.value, np.mean(list(expected.values())) if expected else math.nan, 1e-4)


@given(_small())
def test_structure_metrics_equal_their_twins(case):
    estimate, truth, s = case
    holes, pieces, missed = naive_hci.structure_scores(
        estimate, truth, s.structures, s.evaluated, 1
    )
    _same(porosity(estimate, truth, s).value, holes)
    _same(fragmentation(estimate, truth, s).value, pieces)
    assert missed_structures(estimate, truth, s) == missed


# --- all nine


def test_a_perfect_map_scores_0(made):
    truth, subsets, perfect, _ = made
    values = hci_metrics(perfect, truth, subsets)
    # Window sums of float64 leave rounding errors in the angle.
    assert all(values[name] < 1e-9 for name in HCI_METRICS)
    assert all(value == 1 for name, value in values.items() if name.startswith("hci_coverage"))
    assert values["hci_missed_structures"] == 0


def _documented():
    lines = [
        line.strip("| ").split(" | ")
        for line in metrics.__doc__.splitlines()
        if line.startswith("|")
    ]
    columns, rows = lines[0][1:], lines[2:]
    assert columns == [metric.title.removeprefix("foreground ") for metric in HCI_METRICS.values()]
    return {row[0]: dict(zip(HCI_METRICS, row[1:], strict=True)) for row in rows}


def test_metrics_react_as_documented(made):
    truth, subsets, _, maps = made
    documented = _documented()
    assert set(documented) == set(maps)
    measured = {fault: hci_metrics(disparity, truth, subsets) for fault, disparity in maps.items()}
    for name in HCI_METRICS:
        strongest = max(values[name] for values in measured.values())
        for fault, values in measured.items():
            value = values[name]
            seen = "0" if value < 1e-9 else "++" if value == strongest else "+"
            assert (fault, name, seen) == (fault, name, documented[fault][name])
    assert [fault for fault, values in measured.items() if values["hci_missed_structures"]] == [
        "lost"
    ]


@pytest.mark.parametrize("fault", ["fattened", "noise", "tilt", "gaps"])
def test_scores_are_the_means_of_their_pictures(made, fault):
    truth, subsets, _, maps = made
    for name, metric in HCI_METRICS.items():
        score = metric.compute(maps[fault], truth, subsets)
        assert score.picture.shape == truth.shape
        assert score.picture.dtype == np.float32
        assert np.isnan(score.picture[~subsets.evaluated]).all()
        if name != "hci_fragmentation":  # of structures, not of pixels
            assert score.value == pytest.approx(np.nanmean(score.picture.astype(np.float64)))
        assert hci_metrics(maps[fault], truth, subsets)[name] == score.value


def test_the_table_documents_every_metric():
    for name, metric in HCI_METRICS.items():
        assert name == metric.name == "hci_" + metric.title.replace(" ", "_")
        assert metric.unit
        assert "Honauer" in metric.source
        assert "equation" in metric.source
