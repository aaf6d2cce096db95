"""Configurations of Pandora as scripts."""

import json

import numpy as np
import pytest
import yaml
from cli_parts import invoke

from stereo_framework import load_scene, run
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.script import load
from stereo_framework.script.pandora import convert_pandora, is_json

DISPARITY = {"disparity_method": "wta", "invalid_disparity": "NaN"}


def write_configuration(folder, pipeline, left=None, right=None):
    """Write a configuration, and return its path."""
    left_part = {"img": "left.png", "disp": [-60, 0]} if left is None else left
    right_part = {"img": "right.png"} if right is None else right
    content = {"input": {"left": left_part, "right": right_part}, "pipeline": pipeline}
    path = folder / "chain.json"
    path.write_text(json.dumps(content))
    return path


def costs(method="census", **parameters):
    return {"matching_cost_method": method, **parameters}


def pipeline_of(cost=None, /, **steps):
    """Return a pipeline with a matching cost, these steps and the step disparity."""
    later_kinds = ("refinement", "filter", "validation", "multiscale")
    cost_steps = {name: step for name, step in steps.items() if name not in later_kinds}
    map_steps = {name: step for name, step in steps.items() if name in later_kinds}
    return {
        "matching_cost": costs() if cost is None else cost,
        **cost_steps,
        "disparity": DISPARITY,
        **map_steps,
    }


@pytest.fixture
def convert(tmp_path):
    """Return a function that converts a pipeline to a script and notes."""

    def convert_pipeline(pipeline, **sides):
        notes = []
        script = convert_pandora(write_configuration(tmp_path, pipeline, **sides), notes.append)
        assert load({**script, "scenes": ["synthetic/planes"]}).settings
        # The command shortens longer notes.
        assert all(len(note) <= 300 for note in notes)
        return script, notes

    return convert_pipeline


def mentions(notes, *texts):
    """Return whether a note contains all texts."""
    return any(all(text in note for text in texts) for note in notes)


# --- whole configurations -------------------------------------------------------------


def test_a_local_method(convert):
    script, notes = convert(
        pipeline_of(
            costs("zncc", window_size=7, subpix=4),
            refinement={"refinement_method": "quadratic"},
            validation={"validation_method": "cross_checking_accurate"},
        )
    )
    assert script == {
        "name": "chain",
        "search": {"minimum": 0, "maximum": 60, "step": 0.25},
        "matching_cost": {
            "use": "normalized_cross_correlation",
            "size": 7,
            "form": "standard",
            "interpolation": "linear",
        },
        "optimization": {"use": "winner_take_all"},
        "refinement": [{"use": "parabola"}, {"use": "left_right_check", "tolerance": 1.0}],
    }
    assert mentions(notes, "input.left.img", "match left.png right.png --disparities 0:60 --method")
    assert mentions(notes, "pipeline.matching_cost.window_size", "a border of 3 pixels")


def test_a_semi_global_method(convert):
    penalty = {"penalty_method": "sgm_penalty", "P1": 6, "P2": 40}
    pipeline = pipeline_of(
        costs("census", window_size=7),
        optimization={"optimization_method": "sgm", "penalty": penalty},
        refinement={"refinement_method": "vfit"},
        filter={"filter_method": "median", "filter_size": 5},
        validation={"validation_method": "cross_checking_fast", "cross_checking_threshold": 2},
    )
    pipeline["filter.second"] = {"filter_method": "median"}
    script, _ = convert(pipeline)
    assert script == {
        "name": "chain",
        "search": {"minimum": 0, "maximum": 60},
        "matching_cost": {"use": "census", "width": 7, "height": 7, "interpolation": "linear"},
        "optimization": {"use": "semi_global", "paths": 8, "p1": 6.0, "p2": 40.0},
        "refinement": [
            {"use": "equiangular"},
            {"use": "median", "size": 5},
            {"use": "left_right_check_fast", "tolerance": 2.0},
            {"use": "median", "size": 3},
        ],
    }


def test_default_values(convert):
    script, _ = convert(pipeline_of(aggregation={"aggregation_method": "cbca"}))
    assert script["matching_cost"]["width"] == 5
    assert script["aggregation"] == [
        {
            "use": "cross_based",
            "max_arm": 5,
            "tau": 30.0,
            "far_arm": 5,
            "tau_far": 30.0,
            "views": "both",
            "iterations": 1,
        }
    ]


# --- search range and input -----------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "minimum", "maximum"), [([-60, 0], 0, 60), ([-7, 3], -3, 7), ([2, 9], -9, -2)]
)
def test_disparities_change_their_sign(convert, ends, minimum, maximum):
    script, _ = convert(pipeline_of(), left={"img": "l.png", "disp": ends})
    assert script["search"] == {"minimum": minimum, "maximum": maximum}


@pytest.mark.parametrize("ends", [[0], [3, 1], [0.5, 2], ["a", 1], [False, 2], {}, 4])
def test_a_wrong_search_range_is_an_error(convert, ends):
    with pytest.raises(ParameterError, match=r"input.left.disp: .* is not a list of two whole"):
        convert(pipeline_of(), left={"img": "l.png", "disp": ends})


@pytest.mark.parametrize(("ends", "message"), [("grid.tif", "--ranges"), (None, "no search range")])
def test_a_missing_search_range_is_reported(convert, ends, message):
    script, notes = convert(pipeline_of(), left={"img": "l.png", "disp": ends})
    assert "search" not in script
    assert mentions(notes, "input.left.disp", message)


@pytest.mark.parametrize(
    ("ends", "is_reported"), [(None, False), ([0, 60], False), ([0, 50], True), ("g.tif", True)]
)
def test_another_range_of_the_right_image_is_reported(convert, ends, is_reported):
    _, notes = convert(pipeline_of(), right={"img": "right.png", "disp": ends})
    assert mentions(notes, "input.right.disp") == is_reported


@pytest.mark.parametrize(
    ("key", "value", "is_reported"),
    [
        ("nodata", 0, True),
        ("nodata", -9999, False),
        ("mask", "mask.tif", True),
        ("mask", None, False),
        ("classif", "classes.tif", True),
        ("segm", "segments.tif", True),
        ("edges", "edges.tif", True),
        ("edges", None, False),
        ("noddata", 0, True),
    ],
)
def test_images_of_the_input_are_reported(convert, key, value, is_reported):
    _, notes = convert(pipeline_of(), left={"img": "l.png", "disp": [-9, 0], key: value})
    assert mentions(notes, f"input.left.{key}") == is_reported


def test_a_pipeline_needs_no_input(tmp_path):
    path = tmp_path / "chain.json"
    path.write_text(json.dumps({"pipeline": pipeline_of()}))
    notes = []
    assert "search" not in convert_pandora(path, notes.append)
    assert not mentions(notes, "input.left.img")


# --- costs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "stage"), [("sad", "absolute_difference"), ("ssd", "squared_difference")]
)
def test_windows_of_differences_become_boxes(convert, method, stage):
    script, _ = convert(pipeline_of(costs(method, window_size=9)))
    assert script["matching_cost"] == {"use": stage, "interpolation": "linear"}
    assert script["aggregation"] == [{"use": "box", "size": 9}]
    script, notes = convert(pipeline_of(costs(method, window_size=1)))
    assert "aggregation" not in script
    assert not mentions(notes, "window_size")


def test_penalties_have_the_unit_of_means_instead_of_sums(convert):
    penalty = {"penalty_method": "sgm_penalty", "P1": 90, "P2": 360}
    optimization = {"optimization_method": "sgm", "penalty": penalty}
    script, _ = convert(pipeline_of(costs("sad", window_size=3), optimization=optimization))
    assert script["optimization"] == {"use": "semi_global", "paths": 8, "p1": 10.0, "p2": 40.0}
    script, _ = convert(pipeline_of(costs("zncc", window_size=3), optimization=optimization))
    assert script["optimization"]["p2"] == 360


@pytest.mark.parametrize(
    ("parameters", "step"), [({}, None), ({"subpix": 1}, None), ({"subpix": 2}, 0.5)]
)
def test_subpixel_factors_become_steps(convert, parameters, step):
    script, notes = convert(pipeline_of(costs("sad", **parameters)))
    assert script["search"].get("step") == step
    assert mentions(notes, "pipeline.matching_cost.subpix", "whole grey levels") == bool(step)


@pytest.mark.parametrize(
    ("parameters", "key"),
    [
        ({"band": "r"}, "band"),
        ({"spline_order": 3}, "spline_order"),
        ({"step": 2}, "step"),
        ({"windowsize": 3}, "windowsize"),
    ],
)
def test_parameters_of_costs_without_a_counterpart_are_reported(convert, parameters, key):
    _, notes = convert(pipeline_of(costs(**parameters)))
    assert mentions(notes, f"pipeline.matching_cost.{key}: ")
    _, notes = convert(pipeline_of(costs(band=None, spline_order=1, step=1)))
    assert not mentions(notes, f"pipeline.matching_cost.{key}: ")


def test_splines_become_cubic_polynomials(convert):
    script, _ = convert(pipeline_of(costs(spline_order=3)))
    assert script["matching_cost"]["interpolation"] == "cubic"


def test_census_replaces_a_network(convert):
    script, notes = convert(pipeline_of(costs("mc_cnn", model_path="net.pt")))
    assert script["matching_cost"]["use"] == "census"
    assert script["matching_cost"]["width"] == 11
    assert mentions(notes, "no network belongs to the package")
    assert not mentions(notes, "model_path")


def test_a_closest_key_is_suggested(convert):
    _, notes = convert(pipeline_of(costs(windowsize=3)))
    assert mentions(notes, "it is left out; allowed keys: ", "did you mean 'window_size'?")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"matching_cost_method": "ncc"}, 'one of "census", "sad", "ssd", "zncc", "mc_cnn"'),
        ({"matching_cost_method": ["sad"]}, 'one of "census"'),
        ({"matching_cost_method": "census", "window_size": 4}, "one of 3, 5, 7"),
        ({"matching_cost_method": "sad", "window_size": 4}, "an odd whole number >= 1"),
        ({"matching_cost_method": "sad", "window_size": "5"}, "an odd whole number >= 1"),
        ({"matching_cost_method": "zncc", "window_size": 1}, "an odd whole number >= 3"),
        ({"matching_cost_method": "census", "subpix": 3}, "one of 1, 2, 4"),
        ({"matching_cost_method": "census", "subpix": True}, "one of 1, 2, 4"),
        ({"matching_cost_method": "census", "spline_order": 0}, "a whole number >= 1"),
    ],
)
def test_wrong_values_of_costs_are_errors(convert, parameters, expected):
    with pytest.raises(ParameterError) as caught:
        convert(pipeline_of(parameters))
    message = str(caught.value)
    assert "chain.json: pipeline.matching_cost." in message
    assert f"is not {expected}" in message
    assert "as Pandora expects it" in message


@pytest.mark.parametrize(
    ("name", "value"), [("cbca_distance", 0), ("cbca_intensity", 0), ("cbca_intensity", "30")]
)
def test_wrong_values_of_aggregations_are_errors(convert, name, value):
    with pytest.raises(ParameterError, match=f"pipeline.aggregation.{name}"):
        convert(pipeline_of(aggregation={"aggregation_method": "cbca", name: value}))


def test_long_arms_are_cut(convert):
    for distance, is_cut in ((255, False), (256, True)):
        aggregation = {"aggregation_method": "cbca", "cbca_distance": distance}
        script, notes = convert(pipeline_of(aggregation=aggregation))
        assert script["aggregation"][0]["max_arm"] == 255
        assert mentions(notes, "pipeline.aggregation.cbca_distance") == is_cut


# --- optimization ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("penalty", "p1", "p2"),
    [(None, 4, 20), ({}, 8, 32), ({"P1": 5}, 5, 32), ({"P2": 50.5}, 8, 50.5)],
)
def test_default_penalties(convert, penalty, p1, p2):
    optimization = {"optimization_method": "sgm"}
    if penalty is not None:
        optimization["penalty"] = {"penalty_method": "sgm_penalty", **penalty}
    script, _ = convert(pipeline_of(optimization=optimization))
    assert script["optimization"] == {"use": "semi_global", "paths": 8, "p1": p1, "p2": p2}


@pytest.mark.parametrize(
    ("penalty", "converted", "is_reported"),
    [
        ({"p2_method": "negativeGradient", "gamma": 32}, {"p2": 32}, False),
        ({"p2_method": "negativeGradient", "gamma": 33}, {"p2": 32}, True),
        ({"p2_method": "inverseGradient"}, {"p2": 32}, False),
        (
            {"p2_method": "inverseGradient", "alpha": 200, "gamma": 5},
            {"p2": 105, "penalties": "gradient"},
            True,
        ),
    ],
)
def test_penalties_that_depend_on_gradients(convert, penalty, converted, is_reported):
    section = {"penalty_method": "sgm_penalty", **penalty}
    script, notes = convert(
        pipeline_of(optimization={"optimization_method": "sgm", "penalty": section})
    )
    assert script["optimization"] == {"use": "semi_global", "paths": 8, "p1": 8, **converted}
    assert mentions(notes, "pipeline.optimization.penalty.p2_method") == is_reported


def test_penalties_of_networks_depend_on_edges(convert):
    section = {"penalty_method": "mc_cnn_fast_penalty", "D": 12}
    script, notes = convert(
        pipeline_of(optimization={"optimization_method": "sgm", "penalty": section})
    )
    assert script["optimization"]["penalties"] == "edges"
    assert script["optimization"]["edge_threshold"] == 12
    assert mentions(notes, "penalty_method", "by 3 and 18")


@pytest.mark.parametrize(
    ("penalty", "key"), [({"P1": 0}, "P1"), ({"P1": 8, "P2": 8}, "P2"), ({"gamma": -1}, "gamma")]
)
def test_wrong_penalties_are_errors(convert, penalty, key):
    section = {"penalty_method": "sgm_penalty", **penalty}
    with pytest.raises(ParameterError, match=f"pipeline.optimization.penalty.{key}: .* is not a"):
        convert(pipeline_of(optimization={"optimization_method": "sgm", "penalty": section}))


@pytest.mark.parametrize(
    ("parameters", "key"),
    [
        ({"overcounting": True}, "overcounting"),
        ({"min_cost_paths": True}, "min_cost_paths"),
        ({"use_confidence": "cost_volume_confidence.a"}, "use_confidence"),
    ],
)
def test_options_of_paths_are_reported(convert, parameters, key):
    _, notes = convert(pipeline_of(optimization={"optimization_method": "sgm", **parameters}))
    assert mentions(notes, f"pipeline.optimization.{key}")
    without = {"overcounting": False, "min_cost_paths": False, "sgm_version": "pylibsgm"}
    _, notes = convert(pipeline_of(optimization={"optimization_method": "sgm", **without}))
    assert not mentions(notes, "pipeline.optimization.")


@pytest.mark.parametrize(("size", "is_reported"), [(1, True), (3, False)])
def test_paths_outside_the_image_are_reported_without_a_window(convert, size, is_reported):
    optimization = {"optimization_method": "sgm"}
    _, notes = convert(pipeline_of(costs("sad", window_size=size), optimization=optimization))
    assert mentions(notes, "pipeline.optimization.", "near the left border") == is_reported
    # Larger windows have a note with the same effect.
    assert mentions(notes, "near the left border")


def test_segments_are_reported(convert):
    script, notes = convert(
        pipeline_of(
            semantic_segmentation={"segmentation_method": "ARNN", "RGB_bands": {}},
            optimization={"optimization_method": "3sgm", "geometric_prior": {"source": "segm"}},
        )
    )
    assert script["optimization"]["use"] == "semi_global"
    assert mentions(notes, "pipeline.semantic_segmentation.segmentation_method")
    assert mentions(notes, "pipeline.optimization.optimization_method", "segments")


def test_costs_cannot_be_aggregated_after_the_optimization(convert):
    cbca = {"aggregation_method": "cbca"}
    script, notes = convert(
        pipeline_of(optimization={"optimization_method": "sgm"}, aggregation=cbca)
    )
    assert "aggregation" not in script
    assert mentions(notes, "pipeline.aggregation", "after the optimization")


# --- confidence and maps --------------------------------------------------------------


def test_ambiguity_is_converted_once(convert):
    pipeline = pipeline_of(
        **{
            "cost_volume_confidence.a": {"confidence_method": "ambiguity", "eta_max": 0.5},
            "cost_volume_confidence.b": {"confidence_method": "ambiguity"},
        }
    )
    script, notes = convert(pipeline)
    assert script["confidence"] == [{"use": "ambiguity", "eta_max": 0.7}]
    assert mentions(notes, "cost_volume_confidence.b", "only this map")


@pytest.mark.parametrize("eta_max", [0, 1, -0.1, 10**400, True])
def test_wrong_values_of_confidences_are_errors(convert, eta_max):
    ambiguity = {"confidence_method": "ambiguity", "eta_max": eta_max}
    with pytest.raises(ParameterError, match=r"pipeline.cost_volume_confidence.eta_max: "):
        convert(pipeline_of(cost_volume_confidence=ambiguity))


@pytest.mark.parametrize("method", ["std_intensity", "risk", "interval_bounds"])
def test_other_confidences_are_reported(convert, method):
    script, notes = convert(pipeline_of(cost_volume_confidence={"confidence_method": method}))
    assert "confidence" not in script
    assert mentions(notes, "pipeline.cost_volume_confidence", "disparities do not depend on them")


@pytest.mark.parametrize(("marker", "is_reported"), [("NaN", False), (-1, True), (None, True)])
def test_markers_of_missing_disparities(convert, marker, is_reported):
    disparity = {"disparity_method": "wta"}
    if marker is not None:
        disparity["invalid_disparity"] = marker
    _, notes = convert({"matching_cost": costs(), "disparity": disparity})
    assert mentions(notes, "pipeline.disparity.invalid_disparity") == is_reported


def test_a_wrong_marker_is_an_error(convert):
    disparity = {"disparity_method": "wta", "invalid_disparity": "none"}
    with pytest.raises(ParameterError, match='invalid_disparity: "none" is not a number or "NaN"'):
        convert({"matching_cost": costs(), "disparity": disparity})


@pytest.mark.parametrize("method", ["bilateral", "disparity_denoiser", "median_for_intervals"])
def test_other_filters_are_reported(convert, method):
    script, notes = convert(pipeline_of(filter={"filter_method": method}))
    assert "refinement" not in script
    assert mentions(notes, "pipeline.filter.filter_method: no stage")


@pytest.mark.parametrize(("rule", "converted"), [("sgm", "hirschmueller"), ("mc-cnn", "mei")])
def test_removed_disparities_are_interpolated(convert, rule, converted):
    script, notes = convert(
        pipeline_of(
            validation={
                "validation_method": "cross_checking_accurate",
                "interpolated_disparity": rule,
            }
        )
    )
    assert script["refinement"][-1] == {"use": "interpolate", "rule": converted}
    assert mentions(notes, "pipeline.validation.interpolated_disparity")
    assert not mentions(notes, "validity mask")


def test_a_second_refinement_is_left_out(convert):
    pipeline = pipeline_of(refinement={"refinement_method": "vfit"})
    pipeline["refinement.b"] = {"refinement_method": "quadratic"}
    script, notes = convert(pipeline)
    assert script["refinement"] == [{"use": "equiangular"}]
    assert mentions(notes, "pipeline.refinement.b", "refined only once")


@pytest.mark.parametrize(("factor", "is_reported"), [(2, False), (4, True)])
def test_a_pyramid(convert, factor, is_reported):
    multiscale = {
        "multiscale_method": "fixed_zoom_pyramid",
        "num_scales": 3,
        "scale_factor": factor,
        "marge": 2,
    }
    script, notes = convert(pipeline_of(costs(window_size=7), multiscale=multiscale))
    assert script["scheme"] == [{"use": "pyramid", "octaves": 3, "margin": 4, "size": 7}]
    assert mentions(notes, "pipeline.multiscale.scale_factor") == is_reported


# --- wrong configurations -------------------------------------------------------------


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ({}, "there is no step matching_cost; write this step"),
        ({"disparity": DISPARITY}, "move it after the step matching_cost"),
        ({"matching_cost": costs(), "filter": {}}, "move it after the step disparity"),
        (
            {"matching_cost": costs(), "disparity": DISPARITY, "aggregation": {}},
            "before the step disparity",
        ),
        ({"matching_cost": costs(), "matching_cost.b": costs()}, "before all other steps"),
        ({"matching_cost": "census"}, '"census" is not a JSON object; write an object'),
        ([], "pipeline: \\[\\] is not a JSON object"),
    ],
)
def test_wrong_pipelines_are_errors(convert, pipeline, message):
    with pytest.raises(ParameterError, match=message):
        convert(pipeline)


def test_unknown_steps_and_parts_are_reported(tmp_path):
    path = tmp_path / "chain.json"
    pipeline = {"matching_cost": costs(), "agregation": {}}
    path.write_text(json.dumps({"ROI": {}, "pipeline": pipeline}))
    notes = []
    convert_pandora(path, notes.append)
    assert mentions(notes, "ROI: Pandora 1.9 reads only 'input' and 'pipeline'")
    assert mentions(notes, "pipeline.agregation: ", "did you mean 'aggregation'?")
    assert mentions(notes, "pipeline: there is no step disparity")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"pipeline": {}', "chain.json:1:16: the text is not valid JSON"),
        ('{"pipelines": {}}', "no JSON object with the key"),
        ('{"a": "\xff"}', "the file cannot be read as JSON"),
        ('{"a": ' * 100_000, "the file cannot be read as JSON"),
    ],
)
def test_wrong_files_are_errors(tmp_path, text, message):
    path = tmp_path / "chain.json"
    path.write_bytes(text.encode("latin-1"))
    assert is_json(path)
    with pytest.raises(DataError, match=message):
        convert_pandora(path, print)


def test_repeated_keys_are_reported(tmp_path):
    path = tmp_path / "chain.json"
    step = json.dumps(costs())
    path.write_text(f'{{"pipeline": {{"matching_cost": {step}, "matching_cost": {step}}}}}')
    notes = []
    convert_pandora(path, notes.append)
    assert mentions(notes, "matching_cost: the key occurs twice")


@pytest.mark.parametrize(
    ("content", "answer"),
    [(b"{}", True), (b"\xef\xbb\xbf\n {", True), (b"match_fn 2", False), (b"", False)],
)
def test_files_that_begin_with_a_brace_are_json(tmp_path, content, answer):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert is_json(path) == answer


# --- the command ----------------------------------------------------------------------


def test_the_command_prints_the_script_and_the_notes(tmp_path):
    path = write_configuration(tmp_path, pipeline_of(costs("zncc")))
    result = invoke("import", str(path))
    assert result.exit_code == 0
    assert "note: pipeline.matching_cost.window_size: " in result.stderr
    assert result.stdout.startswith("# Converted from chain.json, a configuration of Pandora.\n")
    script = yaml.safe_load(result.stdout)
    assert script["matching_cost"]["use"] == "normalized_cross_correlation"


def test_the_command_writes_the_script_to_a_folder(tmp_path):
    path = write_configuration(tmp_path, pipeline_of())
    result = invoke("import", str(path), "--out", str(tmp_path / "converted"))
    assert "chain.yaml: 1 method\n" in result.stdout
    assert load(tmp_path / "converted" / "chain.yaml", overrides=["scenes=synthetic/planes"])


# --- the maps of Pandora --------------------------------------------------------------


def _map_of_pandora(path, scene):
    """Return the left map of Pandora in our sign, with NaN at invalid pixels."""
    pandora = pytest.importorskip("pandora")
    img_tools = pytest.importorskip("pandora.img_tools")
    state_machine = pytest.importorskip("pandora.state_machine")
    constants = pytest.importorskip("pandora.constants")
    configuration = json.loads(path.read_text())
    minimum, maximum = configuration["input"]["left"]["disp"]
    datasets = []
    sides = [("left", [minimum, maximum]), ("right", [-maximum, -minimum])]
    for side, ends in sides:
        file = str(scene / f"{side}.png")
        source = {"img": file, "disp": ends, "nodata": -9999}
        datasets.append(img_tools.create_dataset_from_inputs(source))
    machine = state_machine.PandoraMachine()
    left, _ = pandora.run(machine, *datasets, {"pipeline": configuration["pipeline"]})
    invalid = left["validity_mask"].data & constants.Criteria.PANDORA_MSK_PIXEL_INVALID
    return np.where(invalid == 0, -left["disparity_map"].data, np.nan)


@pytest.mark.parametrize(
    "pipeline",
    [
        pipeline_of(
            costs("zncc", window_size=5, subpix=4),
            refinement={"refinement_method": "quadratic"},
            validation={"validation_method": "cross_checking_accurate"},
        ),
        pipeline_of(costs("sad", window_size=7), refinement={"refinement_method": "vfit"}),
        pipeline_of(costs("ssd", window_size=7), filter={"filter_method": "median"}),
    ],
)
def test_maps_agree_with_those_of_pandora(tmp_path, pipeline):
    pytest.importorskip("pandora")
    from stereo_framework.io import write_image

    scene = load_scene("synthetic/planes")
    for side, image in (("left", scene.reference), ("right", scene.match)):
        grey = image if image.ndim == 2 else image[:, :, 1]
        write_image(tmp_path / f"{side}.png", grey)
    (tmp_path / "scene.yaml").write_text("frames: [left.png, right.png]\n")
    left = {"img": "left.png", "disp": [-16, 0]}
    path = write_configuration(tmp_path, pipeline, left=left)
    theirs = _map_of_pandora(path, tmp_path)
    script = convert_pandora(path, lambda note: None)
    [result] = run({**script, "scenes": [str(tmp_path)]})
    differences = np.abs(result.disparity - theirs)
    differences = differences[np.isfinite(differences)]
    assert differences.size > 0.5 * theirs.size
    assert (differences <= 0.5).mean() > 0.95
