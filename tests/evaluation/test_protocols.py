"""Protocols: names, derivations, every fault told."""

import dataclasses
import json

import numpy as np
import pytest
from yaml_cases import cases_in

from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.hci import Parameters
from stereo_framework.evaluation.protocols import PRESETS, Protocol, faults, resolve

BASE = {"base": "taxonomy2002"}


def test_the_paper():
    # Scharstein & Szeliski 2002, Table 3 and section 5.1.
    protocol = resolve("taxonomy2002")
    assert protocol.thresholds == (1.0,)
    assert (protocol.disparity_gap, protocol.discontinuity_width) == (2.0, 9)
    assert (protocol.textureless_width, protocol.textureless_threshold) == (3, 4.0)
    assert protocol.border is None
    assert protocol.regions == ("all", "nonocc", "occ", "textured", "textureless", "discont")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "taxonomy2002"),
        ({"threshold": 1}, "taxonomy2002"),
        ({"threshold": 0.5}, "taxonomy2002[thresholds=0.5]"),
        ({"thresholds": [1, 0.5, 2]}, "taxonomy2002[thresholds=1,0.5,2]"),
        ({"border": 0, "disparity_gap": 1}, "taxonomy2002[border=0; disparity_gap=1]"),
        ({"regions": ["nonocc"]}, "taxonomy2002[regions=nonocc]"),
        ({"border": 0, "name": "mine"}, "mine"),
    ],
)
def test_derived_protocols_tell_their_difference(fields, name):
    assert faults(BASE | fields) == {}
    assert resolve(BASE | fields).name == name


def test_what_measures_the_same_is_equal():
    assert faults("taxonomy2002") == faults(PRESETS["taxonomy2002"]) == {}
    assert resolve(BASE | {"disparity_gap": 2, "thresholds": [1]}) == resolve("taxonomy2002")
    one, other = resolve(BASE | {"threshold": 2}), resolve(BASE | {"thresholds": (2.0,)})
    assert one == other
    assert hash(one) == hash(other)
    assert resolve(BASE | {"discontinuity_width": np.int64(3)}) == resolve(
        BASE | {"discontinuity_width": 3}
    )
    assert resolve(one) is one


def test_a_stored_record_comes_back():
    protocol = resolve(BASE | {"thresholds": [0.5, 1], "border": 3})
    assert Protocol(**json.loads(json.dumps(protocol.as_dict()))) == protocol


def test_the_line_changes_with_every_choice():
    different = {
        "thresholds": [0.5],
        "border": 7,
        "truth_limit": 192,
        "regions": ["all"],
        "disparity_gap": 1.5,
        "textureless_width": 0,
        "textureless_threshold": 2.5,
        "discontinuity_width": 5,
        "prediction": "inverse",
        "partial_shuffle": 0.2,
        "prediction_lines": False,
        "count_grey_holes": False,
        "metrics": ["bad_pixels", "predict_err", "sigma_z_error"],
        "relative_threshold": 0.05,
        "missing": "skip",
        "beyond": "clip",
        "rounding": "grey",
        "original_size": True,
        "enlarge": True,
        "masks": "scene",
        "averaging": "weighted",
        "name": "mine",
    }
    depth = {"depth_scale": "calibration", "depth_offset": 0.5, "depth_missing": "skip"}
    lines = {
        str(resolve(BASE | {"name": "other"} | {field: value}))
        for field, value in different.items()
    }
    sze = BASE | {"name": "other", "metrics": ["sigma_z_error"]}
    lines |= {str(resolve(sze | {field: value})) for field, value in depth.items()}
    lines.add(str(resolve({"base": "kostliva2007", "name": "other", "end_radius": 1})))
    hci = {"base": "middlebury-v3", "name": "other", "metrics": ["hci"]}
    lines |= {str(resolve(hci | {"hci": {"plane_margin": margin}})) for margin in (3, 4)}
    lines |= {str(resolve(one)) for one in (BASE | {"name": "other"}, sze)}
    assert len(lines) == len(different) + len(depth) + 5
    assert not any("\n" in line for line in lines)
    assert {*different, *depth, "end_radius", "hci"} == {
        f.name for f in dataclasses.fields(Protocol)
    }
    assert "missing estimate is bad" in str(PRESETS["taxonomy2002"])
    assert "no rounding" in str(PRESETS["taxonomy2002"])
    # What plays no part is not told.
    assert "prediction" not in str(PRESETS["middlebury-v3"])
    assert "depth" not in str(PRESETS["middlebury-v3"])


def test_parameters_of_the_hci_metrics():
    derived = resolve(
        {
            "base": "middlebury-v3",
            "metrics": "hci",
            "hci": {"structure_width": [9, 0.02], "seed": 3},
        }
    )
    assert derived.hci == Parameters(structure_width=(9, 0.02), seed=3)
    assert derived.name.endswith("hci=seed:3,structure_width:9/0.02]")
    assert (
        resolve(derived)
        == derived
        == resolve({"base": "middlebury-v3", "metrics": "hci", "hci": derived.hci.changed()})
    )
    # The same as the default: no other protocol.
    assert resolve({"base": "taxonomy2002", "hci": {"seed": 0}}) == PRESETS["taxonomy2002"]


FAULTS = cases_in("protocol_faults.yaml", __file__)


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case["told"][:40])
def test_faults(case):
    spec = BASE | case["derived"] if "derived" in case else case["spec"]
    [(key, told)] = faults(spec).items()
    assert key == case.get("at", "")
    assert case["told"] in told
    assert "\n" not in told
    with pytest.raises(ParameterError, match=r"^protocol") as caught:
        resolve(spec)
    assert case["told"] in str(caught.value)


def test_all_faults_are_told_together():
    found = faults(
        {"base": "x", "border": -1, "disparity_gap": "2", "gap": 1, "regions": ["a", "all", "b"]}
    )
    assert found.keys() == {"base", "border", "disparity_gap", "gap", "regions"}
    assert "'a', 'b'" in found["regions"]


def test_a_protocol_is_checked_when_it_is_made():
    with pytest.raises(
        ParameterError,
        match=r"^protocol\.border: 'x' is not .*\nprotocol\.disparity_gap: -1 is not",
    ):
        Protocol("mine", border="x", disparity_gap=-1)
