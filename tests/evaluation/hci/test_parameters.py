"""The record of choices."""

import json
from dataclasses import fields

import pytest

from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.hci import Parameters, Scaled


def test_defaults_at_middlebury_sizes():
    p = Parameters()
    assert p.border.of(735) == 20
    assert p.border.of(2940) == pytest.approx(29.4)
    assert p.edge_jump.of(718) == pytest.approx(2.154)
    assert p.band_width.of(434) == pytest.approx(
        4.34
    )  # the taxonomy's window of 9 reaches 4.5 each way
    assert p.plane_tolerance.of(2872) == pytest.approx(4 * p.plane_tolerance.of(718))
    assert p.structure_height.of(100) == 10


def test_the_record_survives_json():
    p = Parameters(border=7, plane_min_share=0.25, structure_width=Scaled(2, 0.5), seed=3)
    assert Parameters.of(json.loads(json.dumps(p.as_dict()))) == p
    assert p.border == Scaled(7)
    assert Parameters.of({}) == Parameters()


def test_every_choice_is_told():
    text = str(Parameters(border=9))
    assert all(f.name in text for f in fields(Parameters))
    assert "border 9," in text
    assert "edge_jump max(1, 0.003 * size)" in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"bordr": 1},
            r"^hci.bordr: no such parameter; allowed parameters: .*; did you mean 'border'\?$",
        ),
        (
            {"border": -1},
            r"^hci.border: -1 is not a number >= 0 \(pixels\) or a pair \[least pixels, share of the size\]$",
        ),
        ({"border": [1, -1]}, "hci.border"),
        ({"border": [1, "x"]}, "hci.border"),
        ({"border": True}, "hci.border"),
        ({"border": float("nan")}, "hci.border"),
        ({"border": "wide"}, "hci.border: 'wide' is not a number"),
        ({"band_median": 4}, "hci.band_median: 4 is not an odd number >= 1"),
        ({"plane_median": 7}, "hci.plane_median: 7 is not 1, 3 or 5"),
        ({"normal_window": 1}, "hci.normal_window: 1 is not an odd number >= 3"),
        (
            {"fuzziness_distance": "metres"},
            "hci.fuzziness_distance: 'metres' is not one of pixels, width",
        ),
        ({"plane_min_share": 1.5}, "hci.plane_min_share"),
        ({"plane_iterations": 0}, "hci.plane_iterations"),
        ({"plane_sample": 2}, "hci.plane_sample"),
        ({"seed": 0.5}, "hci.seed: 0.5 is not a whole number >= 0"),
    ],
)
def test_mistakes_are_one_line(values, message):
    with pytest.raises(ParameterError, match=message) as caught:
        Parameters.of(values)
    assert "\n" not in str(caught.value)


def test_all_mistakes_are_reported_together():
    with pytest.raises(ParameterError) as caught:
        Parameters(seed=-1, band_median=2)
    assert len(str(caught.value).splitlines()) == 2
