"""Matchers from outside: what reaches them, what is made of their maps, and what is said when they fail."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from networks import write_network
from pipeline_parts import textured
from yaml_cases import cases_in

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.core.call_context import collecting_reports, stopped_by
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.io import read_image, read_pfm, write_disparity, write_image
from stereo_framework.matcher import command, maps, onnx, python
from stereo_framework.refinement import left_right_check
from stereo_framework.scheme import coarse

posix = pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")

FAULTS = cases_in("faults.yaml", __file__)
SEARCH = SearchRange(-2, 5)
LEFT = np.random.default_rng(1).integers(0, 256, (4, 6, 3), dtype=np.uint8)
RIGHT = np.random.default_rng(2).integers(0, 256, (4, 6, 3), dtype=np.uint8)
MIRRORED = SearchRange(-2, 5, direction=-1)


def _fails(match, *arguments, **parameters):
    with pytest.raises(StereoFrameworkError) as caught:
        match(*arguments, **parameters)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- maps -------------------------------------------------------------------------------------------------------------


def _maps(scene, **parameters):
    return maps(scene.reference, scene.match, scene.search, scene, **parameters)


@pytest.mark.parametrize(
    "file", ["made.pfm", "made_mine.pfm", "made/disp0MINE.pfm", "deep/er/made/a.npy"]
)
@pytest.mark.parametrize("place", ["", "{scene}"])
def test_maps_are_found_in_folders_and_by_their_names(tmp_path, file, place):
    expected = np.array([[1, np.nan, 2.5]] * 2, np.float32)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    write_disparity(tmp_path / file, expected)
    where = tmp_path / file.replace("made", place) if place else tmp_path
    np.testing.assert_array_equal(
        _maps(textured(rows=2, columns=3), path=str(where)), expected, strict=True
    )


def test_maps_in_pictures_have_the_scene_s_scale_or_their_own(tmp_path):
    scene = textured(rows=1, columns=3)
    write_image(tmp_path / "made.png", np.array([[0, 8, 12]], np.uint8))
    assert "scale" in _fails(_maps, scene, path=str(tmp_path))
    # As in the 2002 paper's maps 0 is a disparity, unless told otherwise.
    np.testing.assert_array_equal(
        _maps(scene, path=str(tmp_path), disparity_scale=4.0), [[0, 2, 3]]
    )
    np.testing.assert_array_equal(
        _maps(scene, path=str(tmp_path), disparity_scale=4.0, unknown=8), [[0, np.nan, 3]]
    )


def test_maps_of_the_other_sign_with_a_marker_in_pixels(tmp_path):
    scene = textured(rows=1, columns=3)
    write_disparity(tmp_path / "made.pfm", np.array([[-9999.5, -2, -3]], np.float32))
    options = {"path": str(tmp_path), "disparity_scale": -1.0, "unknown": -9999.5}
    np.testing.assert_array_equal(_maps(scene, **options), [[np.nan, 2, 3]])
    assert "maps.disparity_scale: 0.0 is not a number other than 0" in _fails(
        maps, scene.reference, scene.match, scene.search, scene, disparity_scale=0.0
    )


def test_maps_that_do_not_fit_are_told(tmp_path):
    scene = textured(rows=2, columns=3)
    assert "no map of made" in _fails(_maps, scene, path=str(tmp_path))
    assert f"there is no file {tmp_path}/made.pfm" in _fails(
        _maps, scene, path=str(tmp_path / "{scene}.pfm")
    )
    write_disparity(tmp_path / "made.pfm", np.ones((3, 3), np.float32))
    assert "is 3x3, the images of made are 3x2" in _fails(_maps, scene, path=str(tmp_path))
    write_disparity(tmp_path / "made.npy", np.ones((2, 3), np.float32))
    assert "two maps for made" in _fails(_maps, scene, path=str(tmp_path))


def test_a_map_is_that_of_one_view_alone_and_takes_no_time(tmp_path):
    scene = textured(rows=2, columns=3)
    write_disparity(tmp_path / "made.pfm", np.ones((2, 3), np.float32))
    assert Pipeline([step(maps, path=str(tmp_path))])(scene).seconds == {}
    checked = Pipeline([step(maps, path=str(tmp_path)), left_right_check])
    assert "no map of made (other view)" in _fails(checked, scene)


# --- functions --------------------------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "theirs.py"

    def write(body):
        file.write_text(
            f"import numpy as np\n\ndef go(left, right, minimum, maximum):\n    {body}\n"
        )
        # Within the resolution of file times.
        os.utime(
            file, ns=(time.time_ns(), time.time_ns() + int(1e9 * np.random.default_rng().random()))
        )
        return {"function": f"{file}:go"}

    return write


def test_a_function_gets_the_pair_and_the_range(source):
    found = python(
        LEFT,
        RIGHT,
        SEARCH,
        **source("return left[..., 0] - 1.0 * right[..., 1] + 100 * minimum + maximum"),
    )
    np.testing.assert_array_equal(
        found, np.float32(LEFT[..., 0] - 1.0 * RIGHT[..., 1] - 195), strict=True
    )


def test_a_function_sees_mirrored_images_from_the_left(source):
    parameters = source(
        "return np.where(left[..., 0] > 99, left[..., 0] - 1.0 * right[:, :1, 0], np.inf)"
    )
    turned = python(LEFT[:, ::-1], RIGHT[:, ::-1], MIRRORED, **parameters)
    expected = python(LEFT, RIGHT, SEARCH, **parameters)
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(turned[:, ::-1], expected)


@pytest.mark.parametrize(("body", "said"), FAULTS["functions"])
def test_what_a_function_does_wrong_is_one_line(source, body, said):
    assert said in _fails(python, LEFT, RIGHT, SEARCH, **source(body))


def test_a_function_that_is_not_there(source, tmp_path):
    parameters = source("return left")
    assert "no file" in _fails(python, LEFT, RIGHT, SEARCH, function=f"{tmp_path}/none.py:go")
    assert "no function 'run'" in _fails(
        python, LEFT, RIGHT, SEARCH, function=parameters["function"].replace(":go", ":run")
    )
    assert "is not PACKAGE.MODULE:FUNCTION" in _fails(python, LEFT, RIGHT, SEARCH, function="numpy")
    assert "no module 'nump.y'" in _fails(python, LEFT, RIGHT, SEARCH, function="nump.y:go")
    source("return left\n1/0")
    assert "cannot be imported: theirs.py:5: ZeroDivisionError" in _fails(
        python, LEFT, RIGHT, SEARCH, **parameters
    )


def test_a_function_of_a_package():
    # dump(left, right) would not take two more; the message is that of the call, which has no frame of its own.
    # A function of a library in Python is told with its file, which may lie below the current folder.
    assert re.match(
        r"(\S+\.py:\d+: )?dump: TypeError: ",
        _fails(python, LEFT, RIGHT, SEARCH, function="yaml:dump"),
    )


# --- programs ---------------------------------------------------------------------------------------------------------

PFM = "printf 'Pf\\n6 4\\n-1\\n' > {output} && head -c 96 /dev/zero >> {output}"


@posix
def test_a_program_gets_the_pair_and_the_range(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    copy = f"cp {{left}} {{right}} {kept} && echo {{minimum}} {{maximum}} > {kept}/ends && pwd > {kept}/folder && {PFM}"
    blurred = LEFT + np.float32(0.25)
    found = command(
        blurred, RIGHT.astype(np.float32), SEARCH, command_line=copy, shell=True, image_format="pfm"
    )
    np.testing.assert_array_equal(found, np.zeros((4, 6), np.float32), strict=True)
    np.testing.assert_array_equal(read_pfm(kept / "left.pfm"), blurred)
    assert (kept / "ends").read_text() == "-2 5\n"
    # Nothing is left behind.
    assert not os.path.exists((kept / "folder").read_text().strip())
    command(blurred, RIGHT.astype(np.float32), SEARCH, command_line=copy, shell=True)
    np.testing.assert_array_equal(read_image(kept / "left.png"), LEFT)
    np.testing.assert_array_equal(read_image(kept / "right.png"), RIGHT)
    command(LEFT, RIGHT, SEARCH, command_line=copy, shell=True, image_format="pnm", grey=True)
    # Half of the weights of ITU-R BT.601 is as far as rounding goes.
    np.testing.assert_allclose(
        read_image(kept / "left.pgm"), LEFT @ [0.299, 0.587, 0.114], atol=0.51
    )
    command(LEFT[:, ::-1], RIGHT[:, ::-1], MIRRORED, command_line=copy, shell=True)
    np.testing.assert_array_equal(read_image(kept / "left.png"), LEFT)


@posix
@pytest.mark.parametrize("format", ["pfm", "tif", "npy", "png"])
def test_a_program_s_map(tmp_path, format):
    own = np.arange(24, dtype=np.float32).reshape(4, 6) / 2
    own[0, 0] = np.nan
    write_disparity(tmp_path / f"own.{format}", own)
    found = command(
        LEFT,
        RIGHT,
        SEARCH,
        command_line=f"cp {tmp_path}/own.{format} {{output}}",
        map_format=format,
    )
    # 16 bits hold 256ths and mark what is unknown by 0, so that 0 becomes the smallest fraction.
    np.testing.assert_allclose(found, own, atol=1 / 512 if format == "png" else 0)
    turned = command(
        LEFT,
        RIGHT,
        MIRRORED,
        command_line=f"cp {tmp_path}/own.{format} {{output}}",
        map_format=format,
        sign=-1,
        disparity_scale=512.0,
    )
    np.testing.assert_allclose(
        -turned[:, ::-1] * (2 if format == "png" else 512), own, atol=1 / 128
    )
    least = command(
        LEFT,
        RIGHT,
        SEARCH,
        command_line=f"cp {tmp_path}/own.{format} {{output}}",
        map_format=format,
        min_estimate=3.0,
    )
    np.testing.assert_array_equal(np.isnan(least), ~(own >= 3))


@posix
@posix
@pytest.mark.parametrize("format", ["pfm", "tif", "npy", "png"])
@pytest.mark.parametrize(
    ("unknown", "expected"), [("format", 0.0), (0.0, np.nan), (2.0, 0.0), (None, 0.0)]
)
def test_a_program_s_marker_counts_in_every_format(tmp_path, format, unknown, expected):
    scale = 1.0 if format == "png" else None
    values = np.zeros((4, 6), np.float32)
    values[:, 1:3] = 2
    if format == "png":
        write_image(tmp_path / "made.png", values.astype(np.uint16))
        # In pictures grey 0 is the marker of the format.
        expected = np.nan if unknown == "format" else expected
    else:
        write_disparity(tmp_path / f"made.{format}", values)
    run = f"cp {tmp_path}/made.{format} {{output}}"
    found = command(
        LEFT,
        RIGHT,
        SEARCH,
        command_line=run,
        map_format=format,
        disparity_scale=scale,
        unknown=unknown,
    )
    np.testing.assert_array_equal(found[:, 3:], np.full((4, 3), expected))
    assert np.isnan(found[:, 1]).all() == (unknown == 2)


def test_time_memory_and_messages_of_a_program():
    # 64 MiB are touched by the program alone; half a second is its own, whatever else the stage does.
    run = f"{sys.executable} -S -c \"import sys,time; a=b'x'*(64<<20); time.sleep(0.3); sys.stderr.write('said so')\" && {PFM}"
    with collecting_reports() as heard:
        command(LEFT, RIGHT, SEARCH, command_line=run, shell=True)
    [told] = heard
    assert told.messages == "said so"
    # Python itself needs some 10 MiB; this process, with all that it has loaded, some hundreds.
    assert 64 <= told.memory < 100
    assert 0.3 <= told.seconds < 10
    match = Pipeline([step(command, command_line=run, shell=True)])(textured(rows=4, columns=6))
    assert 64 <= match.memory < 100
    assert 0.3 <= match.seconds["matcher"] < 10
    assert match.messages == "said so"


@posix
def test_processor_time_of_a_program_and_of_what_it_waits_for():
    spin = f"{sys.executable} -S -c 'import time\nwhile time.process_time() < 0.3: pass'"
    # The shell waits for two programs, and then for half a second without any work.
    run = f"{spin} & {spin}; wait; sleep 0.5; {PFM}"
    with collecting_reports() as reports:
        command(LEFT, RIGHT, SEARCH, command_line=run, shell=True)
    [report] = reports
    assert 0.6 <= report.processor_seconds < 0.6 + 0.4
    program = step(command, command_line=run, shell=True)
    scene = textured(rows=4, columns=6)
    assert 0.6 <= Pipeline([program])(scene).processor_seconds < 0.6 + 0.4
    # A scheme counts the programs of its method.
    method = Pipeline([program, step(coarse, reduction=1)])
    assert 0.6 <= method(scene).processor_seconds < 0.6 + 0.5


@posix
@pytest.mark.parametrize(("run", "said"), FAULTS["programs"])
def test_what_a_program_does_wrong_is_one_line(run, said):
    quoted = run.replace('"', '\\"')
    assert said in _fails(command, LEFT, RIGHT, SEARCH, command_line=f'sh -c "{quoted}"')


@posix
def test_a_program_that_never_ends_is_ended_with_all_that_it_started(tmp_path):
    start = time.monotonic()
    run = f"sh -c 'sleep 600 & echo $! > {tmp_path}/child; echo waiting >&2; wait; cp {{output}} x'"
    with pytest.raises(
        StereoFrameworkError, match=r"^sh: not done after 0\.3 seconds, ended"
    ) as caught:
        command(LEFT, RIGHT, SEARCH, command_line=run, timeout=0.3)
    assert time.monotonic() - start < 300
    assert caught.value.__notes__ == ["waiting"]
    _is_gone(int((tmp_path / "child").read_text()))


def _is_gone(child):
    """Fail if a process still runs."""
    for _ in range(2000):
        # Who has died and was not asked for yet is a zombie, of which the system says Z.
        status = Path(f"/proc/{child}/stat")
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("what the program has started still runs")


@posix
def test_nobody_waits_for_a_program_once_all_is_stopped():
    stopped = threading.Event()
    threading.Timer(0.3, stopped.set).start()
    start = time.monotonic()
    with stopped_by(stopped):
        assert (
            _fails(
                command, LEFT, RIGHT, SEARCH, command_line="sleep 600 && true {output}", shell=True
            )
            == "sleep: interrupted"
        )
    assert time.monotonic() - start < 300


@posix
@pytest.mark.slow
def test_a_program_does_not_outlive_who_wanted_it(tmp_path):
    wants = (
        "import numpy as np\nfrom stereo_framework import SearchRange\nfrom stereo_framework.matcher import command\nimage = np.zeros((4, 6), np.uint8)\n"
        f"command(image, image, SearchRange(0, 1), command_line='echo $$ > {tmp_path}/child; sleep 600; true {{output}}', shell=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", wants])
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    _is_gone(int((tmp_path / "child").read_text()))


@posix
@pytest.mark.parametrize(("run", "said"), FAULTS["commands"])
def test_commands_are_checked_before_they_run(run, said):
    with pytest.raises(ParameterError, match=re.escape(said)):
        step(command, command_line=run).files()


@posix
def test_the_program_and_its_words_belong_to_it(tmp_path):
    (tmp_path / "match.py").write_text("")
    (tmp_path / "weights.pth").write_text("")
    bound = step(
        command,
        command_line=f"sh {tmp_path}/match.py {{output}}",
        files=[f"{tmp_path}/weights.pth"],
    )
    program, *others = bound.files()
    assert program.name == "sh"
    assert others == [tmp_path / "match.py", tmp_path / "weights.pth"]


# --- networks ---------------------------------------------------------------------------------------------------------


def test_a_network_s_output(tmp_path):
    write_network(tmp_path / "net.onnx", factor=-3.0)
    found = onnx(
        LEFT, RIGHT, SEARCH, model=str(tmp_path / "net.onnx"), sign=-1, disparity_scale=2.0
    )
    expected = 3 * (LEFT.mean(axis=2) - RIGHT.mean(axis=2)) / 2
    # The network computes in float32, with sums up to 765.
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert found.dtype == np.float32
    turned = onnx(
        LEFT[:, ::-1],
        RIGHT[:, ::-1],
        MIRRORED,
        model=str(tmp_path / "net.onnx"),
        sign=-1,
        disparity_scale=2.0,
    )
    np.testing.assert_array_equal(turned[:, ::-1], found)


def test_what_a_network_sees(tmp_path):
    write_network(tmp_path / "net.onnx")
    write_network(tmp_path / "grey.onnx", channels=1)

    def match(model="net", **parameters):
        return onnx(LEFT, RIGHT, SEARCH, model=str(tmp_path / f"{model}.onnx"), **parameters)

    np.testing.assert_allclose(match(divisor=255.0), match() / 255, rtol=1e-5, atol=1e-6)
    # Means cancel out in a difference, deviations weigh the channels.
    apart = LEFT.astype(float) - RIGHT
    weighed = match(mean=[1.0, 2.0, 3.0], std=[1.0, 2.0, 4.0])
    np.testing.assert_allclose(weighed, apart @ [1 / 3, 1 / 6, 1 / 12], atol=1e-3)
    np.testing.assert_allclose(
        match(channels="bgr", std=[1.0, 2.0, 4.0]), apart @ [1 / 12, 1 / 6, 1 / 3], atol=1e-3
    )
    np.testing.assert_allclose(
        match("grey", channels="grey"), apart @ [0.299, 0.587, 0.114], atol=1e-3
    )


@pytest.mark.parametrize(
    "parameters", [{}, {"multiple": 1}, {"inputs": ["left", "right"], "output": "disparity"}]
)
@pytest.mark.parametrize(
    "network", [{}, {"joined": True}, {"size": (8, 16)}, {"output_channels": 2}]
)
def test_sizes_inputs_and_outputs(tmp_path, network, parameters):
    if network.get("joined"):
        parameters = {**parameters, **({"inputs": ["pair"]} if "inputs" in parameters else {})}
    write_network(tmp_path / "net.onnx", **network)
    found = onnx(LEFT, RIGHT, SEARCH, model=str(tmp_path / "net.onnx"), **parameters)
    np.testing.assert_allclose(found, LEFT.mean(axis=2) - RIGHT.mean(axis=2), atol=1e-3)


def test_a_network_s_other_channel(tmp_path):
    write_network(tmp_path / "net.onnx", output_channels=2)
    found = [
        onnx(LEFT, RIGHT, SEARCH, model=str(tmp_path / "net.onnx"), output_channel=part)
        for part in (0, 1)
    ]
    np.testing.assert_array_equal(found[0], -found[1])


@pytest.mark.parametrize(("network", "parameters", "said"), FAULTS["networks"])
def test_what_does_not_fit_a_network_is_one_line(tmp_path, network, parameters, said):
    write_network(tmp_path / "net.onnx", **network)
    assert said in _fails(onnx, LEFT, RIGHT, SEARCH, model=str(tmp_path / "net.onnx"), **parameters)


def test_a_file_that_is_no_network(tmp_path):
    (tmp_path / "net.onnx").write_text("garbage")
    assert "net.onnx: is not an ONNX model that onnxruntime can run: " in _fails(
        onnx, LEFT, RIGHT, SEARCH, model=str(tmp_path / "net.onnx")
    )
    with pytest.raises(ParameterError, match=r"onnx\.model: no file .*none\.onnx"):
        step(onnx, model=str(tmp_path / "none.onnx")).files()
    with pytest.raises(ParameterError, match=r"onnx\.model: is missing"):
        step(onnx).files()


@pytest.mark.skipif(os.name != "posix", reason="links to a device")
@pytest.mark.parametrize("name", ["messages.txt", "printed.txt", "measured.txt"])
@pytest.mark.parametrize(
    "trick", ["rm -f {0}", "rm -f {0}; ln -s /dev/zero {0}", "rm -f {0}; mkfifo {0}"]
)
def test_what_a_program_does_to_the_files_of_its_folder_stops_nobody(tmp_path, name, trick):
    program = tmp_path / "tricks.sh"
    program.write_text(f"#!/bin/sh\n{trick.format(name)}\necho said >&2\nexit 3\n")
    program.chmod(0o755)
    images = np.zeros((2, 8, 9), np.uint8)
    with pytest.raises(StereoFrameworkError, match="exit status 3: said"):
        command(*images, SearchRange(0, 3), command_line=f"{program} {{left}} {{right}} {{output}}")
