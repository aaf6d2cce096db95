"""What README, CONTRIBUTING and docs show does what they say."""

import importlib.metadata
import itertools
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import typer
import yaml
from cli_parts import invoke
from method_choice_study import DEFAULTS
from page_outputs import (
    COMMANDS,
    NOT_RUN,
    PageError,
    check_outputs,
    expects_error,
    marked_blocks,
    python_output,
    read_blocks,
    split_commands,
    terminal_output,
)
from small_scenes import cut_scenes

import stereo_framework
from stereo_framework import load_scene
from stereo_framework.cli import main
from stereo_framework.cli.stages import slot_row
from stereo_framework.core.plugins import PLUGIN_PREFIX, load_plugin
from stereo_framework.core.slots import SLOTS
from stereo_framework.io import read_image, write_disparity, write_image
from stereo_framework.script import load, schema
from stereo_framework.sweep.value_text import setting_text

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The blocks of the methods' own pages run in test_method_pages.py, those of external methods, with the files that they name, in test_external_methods_page.py.
FOLLOWED = [
    page
    for page in PAGES
    if page.parent.name != "methods"
    and page.stem != "external_methods"
    and "```" in page.read_text()
]

NOT_HERE = {
    r"^scenes --fetch \w": "downloads",
    r"^reproduce \w+( --quick| --plugin benchmarks/photographs.py)?$": "takes minutes to an hour",
    r"--dask": "needs a cluster",
    r"--time \d": "takes as long as it says",
    r"--rectify auto": "there are no points in 96x48 pixels; test_rectify_by_points.py has photographs",
    r"--scene mine": "a scene of the reader's own",
    r"--executor process": "test_executors.py does; the small scenes of this file are not seen there",
}
"""Commands that are parsed and not run, with the reason."""
REAL = re.compile(r"--scene (?!synthetic/|\./)\S|submission/|(?:^|framework )reproduce ")
"""Commands on real scenes."""
REAL_PYTHON = re.compile(r"""\bload_scene\(\s*["'](?!synthetic/)""")
"""Python that loads a real scene."""

QUICK = {"docs/howto/build_a_method.md", "docs/howto/more_images.md"}
"""Pages on real scenes that take less than 20 seconds, so their test is not slow."""


def _blocks(file, language=r"\w*"):
    return re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL
    )


def _name(page):
    """Return the path of a page in the repository, or the name of a page of a test."""
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Change to an empty folder, in which the commands of a page run.

    Afterwards, no test can import the Python files of the folder.
    """
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield
    for file in folder.glob("*.py"):
        sys.modules.pop(file.stem, None)


def _write_inputs():
    """Write the files that the commands of the pages read."""
    _write_images()
    _write_calibrations()
    Path("theirs.yaml").write_text("{include: window, scenes: [synthetic/planes]}")
    shutil.copy(ROOT / "examples/stages/matching_cost.py", "../other.py")
    # README's first command runs in a clone of the repository.
    Path("examples").mkdir()
    shutil.copy(ROOT / "examples/first_sweep.yaml", "examples")


def _write_images():
    """Write the images, the mask and the ground truth of a built-in scene."""
    scene = load_scene("synthetic/planes")
    for side, image in (("left", scene.reference), ("right", scene.match)):
        Path(side).mkdir()
        write_image(f"{side}.png", image)
        write_image(f"{side}/a.png", image)
        write_image(f"{side}.tif", read_image(f"{side}.png"))

    grey_levels = np.clip(scene.truth * 4, 0, 255).round()
    write_image("truth.png", grey_levels.astype(np.uint8))
    write_image("mask.png", np.full(scene.truth.shape, 255, np.uint8))
    write_disparity("mine.pfm", scene.truth)


def _write_calibrations():
    """Write calibration files of Middlebury and OpenCV that fit the images."""
    rows, columns = load_scene("synthetic/planes").truth.shape
    camera = [100, 0, columns // 2, 0, 100, rows // 2, 0, 0, 1]
    text = f"[100 0 {columns // 2}; 0 100 {rows // 2}; 0 0 1]"
    lines = [f"cam0={text}", f"cam1={text}"]
    lines += ["doffs=0", "baseline=10", f"width={columns}", f"height={rows}", "ndisp=32"]
    Path("calib.txt").write_text("".join(f"{line}\n" for line in lines))

    distortion = (1, 5, [0] * 5)
    intrinsics = {"M1": (3, 3, camera), "D1": distortion, "M2": (3, 3, camera), "D2": distortion}
    extrinsics = {"R": (3, 3, [1, 0, 0, 0, 1, 0, 0, 0, 1]), "T": (3, 1, [-10, 0, 0])}
    for file, matrices in (("intrinsics.yml", intrinsics), ("extrinsics.yml", extrinsics)):
        stored = {}
        for name, (matrix_rows, matrix_columns, data) in matrices.items():
            stored[name] = {"rows": matrix_rows, "cols": matrix_columns, "data": data}
        Path(file).write_text(json.dumps(stored))


def _prepare(page, monkeypatch):
    """Write the inputs of the commands; cut the scenes if no output is compared."""
    if not any(block.compared for block in read_blocks(_name(page), page.read_text())):
        cut_scenes(monkeypatch)
    _write_inputs()


def _follow(page, real):
    """Follow a page from top to bottom: write its scripts, run its commands.

    Parameters
    ----------
    page : Path
        Page, whose shown outputs are compared with the printed outputs.
    real : bool
        Whether commands and Python on real scenes run. Otherwise, the blocks after
        Python on real scenes are only checked, because they may need its results.
    """
    names = {"__name__": "page"}
    runs = True
    for block in read_blocks(_name(page), page.read_text()):
        if not real and block.language == "python" and REAL_PYTHON.search(block.text):
            runs = False
        if not runs:
            _check_without_running(_name(page), block)
        elif block.language == "yaml":
            _use_script(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "python" and page.name != "CONTRIBUTING.md":
            _run_python(_name(page), block, names)
        elif block.language in COMMANDS:
            _run_commands(_name(page), block, real)


def _check_without_running(page, block):
    """Check the syntax of Python, the keys of a script or the options of commands."""
    if block.language == "python":
        compile(block.text, page, "exec")
    elif block.language == "yaml":
        jsonschema.validate(yaml.safe_load(block.text), schema())
    elif block.language in COMMANDS:
        for words in split_commands(block.text):
            if _is_package_command(words):
                _parse_command(_arguments(words))
            else:
                _check_other_program(words)


def _use_script(text):
    """Write a script into the file that its first line names, and check the script."""
    heading = re.match(r"# (\w+\.yaml)\n", text)
    if heading is None:
        jsonschema.validate(yaml.safe_load(text), schema())
        return

    name = heading[1]
    Path(name).write_text(text)
    # A scene is no script, and only `tune` reads a continuous axis.
    if name != "scene.yaml" and "between:" not in text:
        assert load(name).settings


def _run_python(page, block, names):
    """Run Python of a page, and compare its output if the page shows the output.

    A block whose first line names a file is written into this file and is loaded as a
    plug-in, because commands of the page may load it, too. Later blocks may import the
    file by its name, as a program in the same folder does.
    """
    if heading := re.match(r"# (\w+)\.py\n", block.text):
        file = f"{heading[1]}.py"
        Path(file).write_text(block.text)
        names_before = set(sys.modules)
        load_plugin(file)
        plugins = [name for name in sys.modules if name.startswith(PLUGIN_PREFIX)]
        [module_name] = set(plugins) - names_before
        sys.modules[heading[1]] = sys.modules[module_name]
        return
    if block.has_marker(NOT_RUN):
        compile(block.text, page, "exec")
        return
    if not block.compared:
        exec(block.text, names)
        return
    check_outputs(page, block, python_output(block, names))


def _run_commands(page, block, real):
    """Run the commands of a block, and compare their output if the page shows it.

    Commands that follow a command on real scenes may need its results. Without `real`,
    these commands are only parsed, and the output of the block is not compared.
    """
    commands = split_commands(block.text)
    package_commands = [words for words in commands if _is_package_command(words)]
    for words in commands:
        if words not in package_commands:
            _check_other_program(words)
        elif not expects_error(block):
            _parse_command(_arguments(words))
    if block.has_marker(NOT_RUN):
        return

    if block.compared:
        _refuse_shown_outputs_of_other_tests(page, block, package_commands)
    runnable = package_commands
    if not real:
        runnable = list(itertools.takewhile(_needs_no_data, package_commands))
    compares = block.compared and runnable == package_commands
    printed = ""
    for words in runnable:
        if not _reason_against_running(words):
            fails = words is package_commands[-1] and expects_error(block)
            output = _run_command(_arguments(words), fails=fails, terminal=compares)
            printed += "" if ">" in words else output
    if compares:
        check_outputs(page, block, printed)


def _is_package_command(words):
    """Return whether a command starts the command line of the package."""
    return Path(words[0]).name == "stereo-framework"


def _needs_no_data(words):
    """Return whether a command reads no real scene."""
    return not REAL.search(" ".join(words[1:]))


def _arguments(words):
    """Return the arguments of a command, without a pipe and without a redirection."""
    return list(itertools.takewhile(lambda word: word not in ("|", ">"), words[1:]))


def _refuse_shown_outputs_of_other_tests(page, block, commands):
    """Refuse the shown output of a block with a command that this file does not run."""
    for words in commands:
        reason = _reason_against_running(words)
        if "|" in words:
            reason = "its output goes into another program"
        if reason:
            message = (
                f"{page}:{block.line}: the page shows the output of '{' '.join(words)}', but "
                f"the tests do not run this command: {reason}; write the marker "
                f"'<!-- {NOT_RUN}: REASON -->' above its block"
            )
            raise PageError(message)


def _parse_command(arguments):
    """Parse the options and arguments of a command."""
    command = typer.main.get_command(main.app).commands.get(arguments[0])
    if command is not None:
        command.make_context(arguments[0], arguments[1:])


def _reason_against_running(words):
    """Return the reason why this file does not run a command; empty if it does."""
    text = " ".join(_arguments(words))
    return next((reason for pattern, reason in NOT_HERE.items() if re.search(pattern, text)), "")


def _run_command(arguments, fails, terminal):
    """Run a command, which must end with the expected status, and return its output."""
    _supply(arguments)
    if terminal:
        output, status = terminal_output(*arguments)
    else:
        result = invoke(*arguments)
        output, status = result.output, result.exit_code
    assert (status != 0) == fails, f"{' '.join(arguments)}: status {status}: {output}"
    return output


def _check_other_program(words):
    """Check the files and extras that a command of another program names."""
    text = " ".join(words)
    extras = re.search(r"pip install (?:-e )?\.\[(.*?)\]", text)
    program = re.match(r"(?:python )?((?:scripts/|benchmarks/|\.ci/)\S+)", text)
    if extras:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()
    elif program:
        assert (ROOT / program[1]).is_file()
    else:
        allowed = (
            r"\.venv/bin/|\. \.venv/bin/activate$|python3 -m venv |pip install \.|"
            r"export STEREO_DATA="
        )
        assert re.match(allowed, text), text


def _supply(arguments):
    """Write the ground truth of its scenes into the maps that a command evaluates."""
    if arguments[0] not in {"evaluate", "compare"}:
        return
    if "--truth" in arguments:
        _supply_encodings()
        return

    scenes = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--scene"]
    for file in map(Path, arguments[1:]):
        if file.name == "submission":
            file.mkdir()
            for name in ("tsukuba", "venus", "teddy", "cones"):
                write_disparity(file / f"{name}.pfm", load_scene(f"middlebury-v2/{name}").truth)
        elif file.exists() and file.parent != Path():
            # An earlier command of the page wrote this map.
            continue
        elif file.suffix == ".pfm":
            write_disparity(file, load_scene(scenes[0]).truth)
        elif file.suffix == ".png":
            stored_values = np.nan_to_num(load_scene(scenes[0]).truth * 16)
            write_image(file, stored_values.astype(np.uint8))


def _supply_encodings():
    """Write the files of the page about evaluation in their encodings."""
    truth = load_scene("synthetic/planes").truth
    np.save("sgbm.npy", np.rint(16 * np.nan_to_num(truth, nan=-1)).astype(np.int16))
    write_disparity("pandora.tif", -np.nan_to_num(truth, nan=9999))
    incomplete_truth = np.nan_to_num(truth)
    # The value 0 means unknown in this file.
    incomplete_truth[: truth.shape[0] // 4, : truth.shape[1] // 4] = 0
    write_disparity("cones.tif", incomplete_truth)
    write_disparity("truth.pfm", truth)
    for name, scale in (("mine.png", 64), ("kitti.png", 256)):
        write_image(name, np.rint(scale * np.nan_to_num(truth)).astype(np.uint16))


# The images are smaller than those that the pages speak of, and the ranges wide for them.
@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.DataWarning")
@pytest.mark.parametrize("page", FOLLOWED, ids=_name)
def test_commands_and_python_of_a_page_run_and_print_the_shown_outputs(page, desk, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    _prepare(page, monkeypatch)
    _follow(page, real=False)


def _page_of_test(commands, shown, marker="", language="sh"):
    """Write a page with a block of commands and its shown output."""
    page = Path("page.md")
    page.write_text(f"{marker}```{language}\n{commands}\n```\n\n```text\n{shown}\n```\n")
    return page.resolve()


def test_a_right_output_of_commands_and_of_python_is_accepted(desk):
    output, _ = terminal_output("--version")
    _follow(_page_of_test("stereo-framework --version", output), real=False)
    _follow(_page_of_test("pip install . && stereo-framework --version", output), real=False)
    _follow(_page_of_test("print(1 + 1)", "2", language="python"), real=False)
    error, _ = terminal_output("run", "no_such_method")
    _follow(_page_of_test("stereo-framework run no_such_method", error), real=False)


@pytest.mark.parametrize(
    ("commands", "shown", "language"),
    [
        ("stereo-framework --version", "stereo-framework 0.0.0", "sh"),
        ("stereo-framework --version", "", "sh"),
        ("stereo-framework run no_such_method", "error: another error", "sh"),
        ("pip install .", "Successfully installed", "sh"),
        ("print(1 + 1)", "3", "python"),
        ("print(1 + 1)", "2\nValueError: a", "python"),
    ],
)
def test_a_wrong_output_of_commands_and_of_python_is_reported(desk, commands, shown, language):
    page = _page_of_test(commands, shown, language=language)
    with pytest.raises(PageError, match=r"page\.md:5: the shown output is not the output of"):
        _follow(page, real=False)


def test_a_command_must_fail_if_and_only_if_the_page_shows_an_error(desk):
    with pytest.raises(AssertionError, match="status 2"):
        _follow(_page_of_test("stereo-framework run no_such_method", "..."), real=False)
    with pytest.raises(AssertionError, match="status 0"):
        _follow(_page_of_test("stereo-framework --version", "error: a"), real=False)


def test_the_output_of_a_command_that_does_not_run_needs_a_marker(desk):
    page = _page_of_test("stereo-framework scenes --fetch eth3d", "...")
    with pytest.raises(PageError, match=r"page\.md:1: .* do not run this command: downloads"):
        _follow(page, real=False)
    page = _page_of_test("stereo-framework scenes | head -3", "...")
    with pytest.raises(PageError, match="its output goes into another program"):
        _follow(page, real=False)


def test_commands_with_a_marker_do_not_run(desk):
    marker = "<!-- not run: the method does not exist -->\n"
    page = _page_of_test("stereo-framework run no_such_method", "a", marker=marker)
    _follow(page, real=False)
    python_page = _page_of_test("undefined_name", "a", marker=marker, language="python")
    _follow(python_page, real=False)


def test_the_output_of_a_command_in_a_marker_is_compared(desk):
    marker = "<!-- output of: stereo-framework --version -->\n"
    output, _ = terminal_output("--version")
    page = Path("page.md").resolve()
    page.write_text(f"{marker}```text\n{output}```\n")
    _follow(page, real=False)
    page.write_text(f"{marker}```text\nstereo-framework 0.0.0\n```\n")
    with pytest.raises(PageError, match="the shown output is not the output of"):
        _follow(page, real=False)


def test_outputs_on_real_scenes_are_compared_by_the_slow_test(desk):
    page = _page_of_test("stereo-framework run window --scene tsukuba", "a")
    _follow(page, real=False)
    assert _uses_real_scenes(page)
    assert not _uses_real_scenes(_page_of_test("stereo-framework --version", "a"))
    assert _uses_real_scenes(_page_of_test("stereo-framework reproduce taxonomy2002/table4", "a"))


def test_python_on_real_scenes_and_what_follows_is_only_checked_without_them(desk):
    text = '```python\nscene = load_scene("middlebury2003/teddy")\n```\n'
    following = "```python\nundefined_name\n```\n"
    page = Path("page.md").resolve()
    page.write_text(text + following)
    _follow(page, real=False)
    assert _uses_real_scenes(page)
    with pytest.raises(NameError, match="load_scene"):
        _follow(page, real=True)
    page.write_text(f"{text}```python\nwrong syntax\n```\n")
    with pytest.raises(SyntaxError):
        _follow(page, real=False)
    page.write_text(f"{text}```yaml\nno_such_key: 1\n```\n")
    with pytest.raises(jsonschema.ValidationError):
        _follow(page, real=False)
    page.write_text(f"{text}```sh\nstereo-framework run --no-such-option\n```\n")
    with pytest.raises(Exception, match="no-such-option"):
        _follow(page, real=False)


def test_python_of_a_page_imports_a_file_of_the_page(desk):
    file = "```python\n# half_of_a_page.py\nHALF = 0.5\n```\n"
    page = Path("page.md").resolve()
    program = "from half_of_a_page import HALF\nprint(HALF)"
    page.write_text(f"{file}```python\n{program}\n```\n\n```text\n0.5\n```\n")
    _follow(page, real=False)


def _uses_real_scenes(page):
    """Return whether only the test on real scenes runs all blocks of a page."""
    for block in read_blocks(_name(page), page.read_text("utf-8")):
        if block.language in COMMANDS and REAL.search(block.text):
            return True
        if block.language == "python" and REAL_PYTHON.search(block.text):
            return True
    return False


def _pages_on_real_scenes():
    """Return the pages that use real scenes, with the marker of their test."""
    pages = []
    for page in FOLLOWED:
        if _uses_real_scenes(page):
            marks = () if _name(page) in QUICK else pytest.mark.slow
            pages.append(pytest.param(page, marks=marks, id=_name(page)))
    return pages


@pytest.mark.parametrize("page", _pages_on_real_scenes())
def test_commands_and_python_of_a_page_on_real_scenes_run_and_print_the_shown_outputs(
    page, desk, data, monkeypatch
):
    _prepare(page, monkeypatch)
    _follow(page, real=True)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in FOLLOWED], ids=_name)
def test_a_page_whose_commands_another_test_runs_shows_no_output(page):
    blocks = read_blocks(_name(page), page.read_text("utf-8"))
    assert [f"{_name(page)}:{block.line}" for block in blocks if block.compared] == []


def test_contributing_shows_no_output_of_its_stage():
    """Another test runs the stage, which reads no data on the page."""
    blocks = read_blocks("CONTRIBUTING.md", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert not any(block.compared for block in blocks if block.language == "python")


def _exclusions():
    """Return the place and the reason of each block that is not run or not compared."""
    exclusions = {}
    for page in PAGES:
        for block in marked_blocks(_name(page), page.read_text("utf-8")):
            place = f"{_name(page)}:{block.line}"
            exclusions[place] = f"{block.marker.kind}: {block.marker.text}"
    return exclusions


@pytest.mark.parametrize(("place", "reason"), _exclusions().items())
def test_every_block_with_a_marker_is_listed(place, reason):
    pytest.skip(f"{place}: {reason}")


@pytest.mark.parametrize("folder", ["configs", "docs/methods"])
def test_the_settings_that_scripts_and_pages_of_methods_propose_are_allowed(folder):
    """Their commands are run elsewhere, slowly or not at all."""
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".yaml", ".md")]
    commands = [
        line.split()
        for path in files
        for line in re.findall(r"stereo-framework run (.+)", path.read_text())
    ]
    found = [
        (words[0], [words[i + 1] for i, word in enumerate(words) if word == "--set"])
        for words in commands
    ]
    assert found
    for script, overrides in found:
        assert load(script, overrides=overrides).settings


def test_scripts_that_programs_of_the_repository_run_have_no_errors():
    files = [
        path
        for folder in ("scripts", "docs/images")
        for path in (ROOT / folder).rglob("*.yaml")
        if path.name != "parameter_symbols.yaml"  # a table, not a script
    ]
    # The table of the page of names is no parameter script.
    scripts = [path for path in files if path.name != "parameter_symbols.yaml"]
    assert scripts
    assert [path for path in scripts if not load(path).settings] == []
    # The study names settings as tables do.
    tuned = load(ROOT / "scripts/method_choice/tuned.yaml").settings
    named = {
        f"{s.method} ({', '.join(f'{key}={setting_text(value)}' for key, value in s.axes.items())})"
        for s in tuned
    }
    assert set(DEFAULTS.values()) <= named


def readme_sections():
    """Return the text of each section of README by its heading."""
    parts = re.split(r"^## (.*)\n", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def test_readme_has_at_most_900_words_without_code():
    text = (ROOT / "README.md").read_text()
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    # Targets of links and marks of tables are no words.
    prose = re.sub(r"\]\([^)]*\)|<[^>]*>|[|-]{2,}", " ", prose)
    assert len(re.findall(r"\w[^\s|]*", prose)) <= 900


def test_readme_begins_with_two_sentences_and_two_commands():
    first, *rest = readme_sections()[""].split("\n\n")[1:]
    assert len(re.findall(r"[.] |[.]$", first)) == 2
    commands = rest[0].splitlines()[1:-1]
    assert len(commands) == 2
    assert re.search(r"pip install \. && .*stereo-framework run ", commands[0])
    assert commands[1].endswith("pytest")


USERS = (
    "",
    "Match two photographs",
    "Sweep parameters",
    "Write your own stage",
    "Evaluate the disparity maps of other programs",
    "Reproduce a paper",
)
"""Sections of README with an example for a user; the first one is that of its top."""


@pytest.mark.parametrize("heading", USERS)
def test_each_user_finds_an_example_with_its_output_in_readme(heading):
    blocks = read_blocks("README.md", readme_sections()[heading])
    assert any(block.outputs for block in blocks)


def test_readme_shows_the_script_of_its_first_command():
    shown = _blocks("README.md", "yaml")[0]
    file = (ROOT / "examples/first_sweep.yaml").read_text()
    assert shown in file
    assert load(str(ROOT / "examples/first_sweep.yaml")).settings


def test_the_fault_that_is_shown_is_the_fault_that_is_told(tmp_path, monkeypatch, capsys):
    example = _blocks("docs/howto/sweep.md", "yaml")[0]
    [shown] = _blocks("docs/howto/sweep.md", "text")
    (tmp_path / "truncation.yaml").write_text(
        example.replace("{use: box, size: 9}", "{use: box, sise: 9}")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["stereo-framework", "check", "truncation.yaml"])
    with pytest.raises(SystemExit, match="2"):
        main.main()
    assert shown.strip() in capsys.readouterr().err.splitlines()


def test_contributing_lists_all_packages():
    blocks = read_blocks("CONTRIBUTING.md", (ROOT / "CONTRIBUTING.md").read_text())
    [drawing] = [block.text for block in blocks if block.language == "text"]
    packages = [path.parent.name for path in (ROOT / "stereo_framework").glob("*/__init__.py")]
    assert set(packages) <= set(re.findall(r"[a-z_]+", drawing))


def test_the_slots_of_contributing_are_the_slots():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    start = lines.index("| slot | its stages get | and may name | they return |") + 2
    assert lines[start : start + len(SLOTS) + 1] == [
        *(f"| {' | '.join(slot_row(slot))} |" for slot in SLOTS),
        "",
    ]


def test_the_stage_of_contributing_is_the_example():
    """What that does is tested with the other examples of stages."""
    [example] = _blocks("CONTRIBUTING.md", "python")
    assert example == (ROOT / "examples/stages/refinement.py").read_text()


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == stereo_framework.__version__


def test_licences_are_those_of_the_packages():
    """Of everything that users install; what only tests and this site need is not passed on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [
        project["optional-dependencies"].get(extra, [])
        for extra in ("data", "tables", "notebooks", "onnx", "cluster", "tune")
    ]
    wanted = {
        re.match(r"[\w-]+", name)[0]
        for names in (project["dependencies"], *extras)
        for name in names
    }
    told = dict(
        re.findall(
            r"^\| ([\w-]+) \| ([\w ]+) \|", (ROOT / "docs/licences.md").read_text(), re.MULTILINE
        )
    )
    assert set(told) - {"package"} == wanted
    for name in wanted:
        about = importlib.metadata.metadata(name)
        short = [about.get("License-Expression") or "", (about.get("License") or "")[:40]]
        said = " ".join([*(about.get_all("Classifier") or []), *short])
        assert told[name] in said, (name, said)
        assert told[name] in ("GPL", "LGPL") or "GPL" not in said, name
