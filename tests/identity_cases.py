"""Pairs of runs that differ in one input: a case yields the first run, changes the input, and yields the second run."""

import importlib
import os
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import PIL.Image
import yaml
from networks import move_weights, write_network, write_weights
from sweep_parts import dots

from stereo_framework import load_scene
from stereo_framework.io import write_disparity, write_image

CASES = {}
"""The cases by the name of the input that changes: ``kind: what changes``."""

WINDOW = {"matching_cost": "absolute_difference", "optimization": "winner_take_all"}
ROWS, COLUMNS = 24, 32


@dataclass
class Run:
    """Arguments of `stereo_framework.run`."""

    script: Any
    scene: Any
    options: dict = field(default_factory=dict)


def case(name, numbers_differ=True):
    """Register a case; `numbers_differ` is False if the input changes no number of these runs."""

    def register(function):
        assert name not in CASES
        CASES[name] = (function, numbers_differ)
        return function

    return register


def write_map(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_disparity(path, np.full((ROWS, COLUMNS), value, np.float32))


def rewrite(path, content):
    """Write as many bytes as before, and keep the time of modification."""
    times = path.stat()
    assert len(content) == times.st_size
    path.write_text(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def typed_in_a_notebook(text):
    """Run a cell of a notebook, whose functions have no source file."""
    names = {"__name__": "__main__"}
    exec(textwrap.dedent(text), names)
    return names


# --- files of stages --------------------------------------------------------------------------------------------------


def _maps(folder, place, file):
    write_map(folder / file, 2)
    run = Run({"maps": str(folder / place)}, dots())
    yield run
    write_map(folder / file, 3)
    yield run


@case("files: matcher.maps, a folder")
def _(folder):
    yield from _maps(folder, "maps", "maps/tiny.pfm")


@case("files: matcher.maps, a path with the name of the scene")
def _(folder):
    yield from _maps(folder, "{scene}.pfm", "tiny.pfm")


@case("files: matcher.maps, a single file")
def _(folder):
    yield from _maps(folder, "any.pfm", "any.pfm")


@case("files: matcher.maps, two maps that change places")
def _(folder):
    for place, value in (("a", 2), ("b", 3)):
        write_map(folder / f"{place}/tiny.pfm", value)
    run = Run({"maps": str(folder / "a")}, dots())
    yield run
    (folder / "a").rename(folder / "c")
    (folder / "b").rename(folder / "a")
    yield run


@case("files: matcher.maps, scale of a picture")
def _(folder):
    write_image(folder / "tiny.png", np.full((ROWS, COLUMNS), 8, np.uint8))
    yield Run({"maps": {"path": str(folder), "disparity_scale": 4.0}}, dots())
    yield Run({"maps": {"path": str(folder), "disparity_scale": 2.0}}, dots())


@case("files: matcher.maps, grey level without an estimate")
def _(folder):
    grey = np.full((ROWS, COLUMNS), 8, np.uint8)
    grey[:5] = 12
    write_image(folder / "tiny.png", grey)
    yield Run({"maps": {"path": str(folder), "disparity_scale": 4.0}}, dots())
    yield Run({"maps": {"path": str(folder), "disparity_scale": 4.0, "unknown": 12}}, dots())


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
sys.path.insert(0, str(Path(__file__).parent))
{imports}
np.save(sys.argv[1], np.full(({rows}, {columns}), {value}, np.float32))
"""


def _program(folder, value="2", imports=""):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(rows=ROWS, columns=COLUMNS, value=value, imports=imports))
    return path


def _command(program, more="", **options):
    run = f"{sys.executable} {program} {{output}} {more}"
    return Run(
        {"matcher": {"use": "command", "command_line": run, "map_format": "npy", **options}}, dots()
    )


@case("files: matcher.command, the program")
def _(folder):
    program = folder / "program"
    for value in (2, 3):
        text = PROGRAM.format(rows=ROWS, columns=COLUMNS, value=value, imports="")
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
        yield Run(
            {
                "matcher": {
                    "use": "command",
                    "command_line": f"{program} {{output}}",
                    "map_format": "npy",
                }
            },
            dots(),
        )


@case("files: matcher.command, a script among the words")
def _(folder):
    run = _command(_program(folder, "2"))
    yield run
    _program(folder, "3")
    yield run


@case("files: matcher.command, a module that the script imports")
def _(folder):
    (folder / "helper.py").write_text("limit = 2")
    run = _command(_program(folder, "helper.limit", "import helper"))
    yield run
    rewrite(folder / "helper.py", "limit = 3")
    yield run


@case("files: matcher.command, the value of an option")
def _(folder):
    (folder / "limit.txt").write_text("2")
    program = _program(folder, "float(Path(sys.argv[2].partition('=')[2]).read_text())")
    run = _command(program, f"--limit={folder}/limit.txt")
    yield run
    rewrite(folder / "limit.txt", "3")
    yield run


@case("files: matcher.command, a listed file")
def _(folder):
    (folder / "limit.txt").write_text("2")
    program = _program(folder, "float(Path(__file__).with_name('limit.txt').read_text())")
    run = _command(program, files=[str(folder / "limit.txt")])
    yield run
    rewrite(folder / "limit.txt", "3")
    yield run


@case("files: matcher.command, a program behind a sign of the shell")
def _(folder):
    program = folder / "program"
    for value in (2, 3):
        text = PROGRAM.format(rows=ROWS, columns=COLUMNS, value=value, imports="")
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
        matcher = {
            "use": "command",
            "command_line": f"true;{program} {{output}}",
            "map_format": "npy",
            "shell": True,
        }
        yield Run({"matcher": matcher}, dots())


@case("files: matcher.command, a command in quotation marks")
def _(folder):
    program = _program(folder)
    text = f"sh -c '{sys.executable} {program} {{output}}'"
    run = Run({"matcher": {"use": "command", "command_line": text, "map_format": "npy"}}, dots())
    yield run
    _program(folder, "3")
    yield run


FUNCTION = """
import sys
from pathlib import Path
import numpy as np
sys.path.insert(0, str(Path(__file__).parent))
{imports}
del sys.path[0]
def match(left, right, minimum, maximum):
    return np.full(left.shape[:2], {value}, np.float32)
"""


def _function(folder, value, imports="", **options):
    path = folder / "function.py"
    path.write_text(FUNCTION.format(value=value, imports=imports))
    return Run({"matcher": {"use": "python", "function": f"{path}:match", **options}}, dots())


@case("files: matcher.python, the function's file")
def _(folder):
    run = _function(folder, "2")
    yield run
    rewrite(
        folder / "function.py", (folder / "function.py").read_text().replace("[:2], 2", "[:2], 3")
    )
    yield run


@case("files: matcher.python, an imported module")
def _(folder):
    (folder / "helper_of_identities.py").write_text("limit = 2")
    run = _function(folder, "helper_of_identities.limit", "import helper_of_identities")
    yield run
    rewrite(folder / "helper_of_identities.py", "limit = 3")
    yield run


@case("files: matcher.python, a module of an imported package")
def _(folder):
    package = folder / "package_of_identities"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("limit = 2")
    run = _function(folder, "limit", "from package_of_identities.inner import limit")
    yield run
    rewrite(package / "inner.py", "limit = 3")
    yield run


@case("files: matcher.python, a listed file")
def _(folder):
    (folder / "limit.txt").write_text("2")
    value = "float(Path(__file__).with_name('limit.txt').read_text())"
    run = _function(folder, value, files=[str(folder / "limit.txt")])
    yield run
    rewrite(folder / "limit.txt", "3")
    yield run


@case("files: matcher.python, contents that move to the other listed file")
def _(folder):
    # In the order of the list the contents stay the same.
    a, b = folder / "a.txt", folder / "b.txt"
    a.write_text("2")
    b.write_text("3")
    value = "float(Path(__file__).with_name('a.txt').read_text())"
    yield _function(folder, value, files=[str(a), str(b)])
    a.write_text("3")
    b.write_text("2")
    yield _function(folder, value, files=[str(b), str(a)])


def _network(folder, name, location=None):
    model = folder / name
    write_network(model, factor=0.01)
    if location:
        move_weights(model, location)
        write_weights(folder / location, 0.01)
    run = Run({"matcher": {"use": "onnx", "model": str(model)}}, dots())
    yield run
    if location:
        write_weights(folder / location, 0.03)
    else:
        write_network(model, factor=0.03)
    yield run


@case("files: matcher.onnx, the model")
def _(folder):
    yield from _network(folder, "net.onnx")


@case("files: matcher.onnx, weights beside the model")
def _(folder):
    yield from _network(folder, "net.onnx", "weights.bin")


@case("files: matcher.onnx, weights below the model")
def _(folder):
    yield from _network(folder, "net.onnx", "sub/weights.bin")


@case("files: matcher.onnx, weights with the name of a pattern")
def _(folder):
    yield from _network(folder, "net[1].onnx", "net[1].onnx.data")


STAGE_WITH_FILES = """
from pathlib import Path
import numpy as np
from stereo_framework import stage

@stage("matcher", source="a test", files=lambda place: [Path(place)])
def from_files(reference, match, search, *, place: str = ""):
    '''The number in a file, or in the file of a folder that is called limit.'''
    path = Path(place)
    number = float((path / "limit" if path.is_dir() else path).read_text())
    return np.full(reference.shape[:2], number, np.float32)
"""


@case("files: a plug-in's stage, a file")
def _(folder):
    (folder / "stage.py").write_text(STAGE_WITH_FILES)
    (folder / "limit").write_text("2")
    script = {
        "matcher": {"use": "from_files", "place": str(folder / "limit")},
        "plugins": [str(folder / "stage.py")],
    }
    yield Run(script, dots())
    rewrite(folder / "limit", "3")
    yield Run(script, dots())


@case("files: a plug-in's stage, a folder")
def _(folder):
    (folder / "stage.py").write_text(STAGE_WITH_FILES)
    (folder / "weights").mkdir()
    (folder / "weights" / "limit").write_text("2")
    (folder / "weights" / "other").write_text("3")
    script = {
        "matcher": {"use": "from_files", "place": str(folder / "weights")},
        "plugins": [str(folder / "stage.py")],
    }
    yield Run(script, dots())
    # The contents stay the same, and the names change places.
    (folder / "weights" / "limit").write_text("3")
    (folder / "weights" / "other").write_text("2")
    yield Run(script, dots())


# --- code of the running program --------------------------------------------------------------------------------------

CELL = """
import functools
import numpy as np
from stereo_framework import stage
LIMIT = {limit}
TABLE = {{"limit": {table}}}
ARRAY = np.array([{array}])
class Helper:
    def value(self):
        return {method}
def helper():
    return {function}
def maker(bound):
    @stage("matcher", source="a test")
    def typed(reference, match, search):
        total = LIMIT + TABLE["limit"] + ARRAY[0] + Helper().value() + helper() + bound + partial()
        return np.full(reference.shape[:2], total, np.float32)
partial = functools.partial(lambda x: x, {partial})
maker({bound})
"""


def _typed_stage(changed):
    numbers = dict.fromkeys(
        ("limit", "table", "array", "method", "function", "bound", "partial"), 0
    )
    for value in (1, 2):
        typed_in_a_notebook(CELL.format(**{**numbers, changed: value}))
        yield Run({"matcher": "typed"}, dots())


for _part in ("limit", "table", "array", "method", "function", "bound", "partial"):
    case(f"program: {_part} of a stage in a notebook")(
        lambda folder, part=_part: _typed_stage(part)
    )


@case("program: a metric in a notebook")
def _(folder):
    for value in (1, 2):
        typed_in_a_notebook(f"""
            from stereo_framework import metric
            def helper():
                return {value}
            @metric(unit="px", better="lower")
            def typed_metric(disparity, truth, mask):
                return helper()
            """)
        yield Run({**WINDOW, "evaluation": {"metrics": ["typed_metric"]}}, dots())


@case("program: a reader of disparity maps in a notebook")
def _(folder):
    (folder / "tiny.typed").write_text("")
    for value in (1, 2):
        typed_in_a_notebook(f"""
            import numpy as np
            from stereo_framework import reader
            @reader(".typed", kind="disparity")
            def typed_reader(path):
                return np.full(({ROWS}, {COLUMNS}), {value}, np.float32)
            """)
        yield Run({"maps": str(folder)}, dots())


@case("program: a module of the user that registers a stage")
def _(folder):
    file = folder / "stages_of_identities.py"
    sys.path.insert(0, str(folder))
    try:
        file.write_text(
            CELL.format(
                **dict.fromkeys(
                    ("limit", "table", "array", "method", "function", "bound", "partial"), 1
                )
            )
        )
        module = importlib.import_module(file.stem)
        yield Run({"matcher": "typed"}, dots())
        file.write_text(file.read_text().replace("return 1", "return 22"))
        importlib.reload(module)
        yield Run({"matcher": "typed"}, dots())
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(file.stem, None)


@case("program: a module that a stage in a notebook uses")
def _(folder):
    file = folder / "numbers_of_identities.py"
    sys.path.insert(0, str(folder))
    try:
        file.write_text("def limit():\n    return 1\n")
        cell = """
            import importlib
            import numpy as np
            import numbers_of_identities
            from stereo_framework import stage
            importlib.reload(numbers_of_identities)
            @stage("matcher", source="a test")
            def typed(reference, match, search):
                return np.full(reference.shape[:2], numbers_of_identities.limit(), np.float32)
            """
        typed_in_a_notebook(cell)
        yield Run({"matcher": "typed"}, dots())
        file.write_text("def limit():\n    return 22\n")
        typed_in_a_notebook(cell)
        yield Run({"matcher": "typed"}, dots())
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(file.stem, None)


# --- keys of scripts --------------------------------------------------------------------------------------------------


def _scripts(first, second, scene=None):
    for script in (first, second):
        yield Run(script, scene or dots())


ANNEALING = {
    "matching_cost": "absolute_difference",
    "smoothness": "truncated_linear",
    "optimization": {"use": "simulated_annealing", "iterations": 1, "end_temperature": 5.0},
}
SCRIPTS = {
    "seed": ({**ANNEALING, "seed": 1}, {**ANNEALING, "seed": 2}),
    "by_scene": (
        {**WINDOW, "by_scene": {"*": {"search.maximum": 5}}},
        {**WINDOW, "by_scene": {"*": {"search.maximum": 2}}},
    ),
    "search": ({**WINDOW, "search": {"maximum": 5}}, {**WINDOW, "search": {"maximum": 2}}),
    "sweep": (
        {**WINDOW, "aggregation": "box", "sweep": {"grid": {"aggregation.box.size": [3]}}},
        {**WINDOW, "aggregation": "box", "sweep": {"grid": {"aggregation.box.size": [5]}}},
    ),
    "methods": (
        {
            **WINDOW,
            "aggregation": "box",
            "methods": {"a": {"aggregation": {"use": "box", "size": 3}}},
        },
        {
            **WINDOW,
            "aggregation": "box",
            "methods": {"a": {"aggregation": {"use": "box", "size": 5}}},
        },
    ),
    "preprocessing": (WINDOW, {**WINDOW, "preprocessing": "binomial_blur"}),
    "matcher": ({"matcher": "patch_match"}, {"matcher": {"use": "patch_match", "iterations": 1}}),
    "matching_cost": (WINDOW, {**WINDOW, "matching_cost": "squared_difference"}),
    "aggregation": (WINDOW, {**WINDOW, "aggregation": "box"}),
    "smoothness": (
        {**ANNEALING, "optimization": "scanline_optimization"},
        {**ANNEALING, "optimization": "scanline_optimization", "smoothness": "potts"},
    ),
    "optimization": (
        {**ANNEALING, "optimization": "scanline_optimization"},
        {**ANNEALING, "optimization": "semi_global", "smoothness": None},
    ),
    "refinement": (WINDOW, {**WINDOW, "refinement": ["median"]}),
}


def _registered_scripts():
    for key, (first, second) in SCRIPTS.items():
        case(f"key: {key}")(lambda folder, first=first, second=second: _scripts(first, second))


_registered_scripts()


@case("key: evaluation")
def _(folder):
    for threshold in (1, 2):
        yield Run(
            {
                **WINDOW,
                "evaluation": {"protocol": {"base": "taxonomy2002", "threshold": threshold}},
            },
            dots(),
        )


@case("key: confidence")
def _(folder):
    yield from _scripts(
        {**WINDOW, "confidence": ["curvature"]}, {**WINDOW, "confidence": ["entropy"]}
    )


@case("key: scheme")
def _(folder):
    yield from _scripts(WINDOW, {**WINDOW, "scheme": {"use": "tiles", "tile_size": 64}})


@case("key: auxiliary")
def _(folder):
    auxiliary = {
        "auxiliary": {"other": {"include": "window"}},
        "refinement": ["blend"],
        **WINDOW,
    }
    typed_in_a_notebook("""
        import numpy as np
        from stereo_framework import stage
        @stage("refinement", source="a test")
        def blend(disparity, auxiliary):
            return np.float32(auxiliary["other"].disparity)
        """)
    for size in (3, 9):
        yield Run(
            auxiliary, dots(), {"overrides": [f"auxiliary.other.aggregation.box.size={size}"]}
        )


@case("key: include")
def _(folder):
    included, script = folder / "included.yaml", folder / "script.yaml"
    script.write_text("include: included.yaml\n")
    for size in (3, 9):
        included.write_text(yaml.safe_dump({**WINDOW, "aggregation": {"use": "box", "size": size}}))
        yield Run(script, dots())


@case("key: maps")
def _(folder):
    yield from _maps(folder, "maps", "maps/tiny.pfm")


@case("key: name", numbers_differ=False)
def _(folder):
    yield from _scripts({**WINDOW, "name": "a"}, {**WINDOW, "name": "b"})


@case("key: scenes")
def _(folder):
    yield Run({**WINDOW, "scenes": ["synthetic/planes"]}, dots(seed=1))
    yield Run({**WINDOW, "scenes": ["synthetic/planes"]}, dots(seed=2))


@case("option: overrides")
def _(folder):
    for size in (3, 9):
        yield Run(
            {**WINDOW, "aggregation": "box"},
            dots(),
            {"overrides": [f"aggregation.box.size={size}"]},
        )


# --- files of scenes --------------------------------------------------------------------------------------------------


def _picture(path, seed):
    write_image(path, np.random.default_rng(seed).integers(0, 256, (ROWS, COLUMNS), dtype=np.uint8))


def _turn(path):
    """Give an image the EXIF orientation of half a turn."""
    with PIL.Image.open(path) as image:
        image.load()
    header = image.getexif()
    header[0x0112] = 3
    image.save(path, exif=header)


def _mask(path, column):
    mask = np.full((ROWS, COLUMNS), 255, np.uint8)
    mask[:, column : column + 4] = 0
    write_image(path, mask)


def _varied(low, high):
    return np.linspace(low, high, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)


ENTRY = {
    "frames": [
        {"file": "left.png", "position": 0, "mask": "left_mask.png"},
        {"file": "right.png", "position": 1, "mask": "right_mask.png"},
        {"file": "third.png", "position": 2, "mask": "third_mask.png"},
    ],
    "reference": 0,
    "match": 1,
    "search": {
        "minimum": 0,
        "maximum": 5,
        "step": 1,
        "low": {"file": "low.pfm"},
        "high": {"file": "high.pfm"},
    },
    "truth": {"file": "truth.pfm"},
    "match_truth": {"file": "match_truth.pfm"},
    "masks": {"nonocc": "nonocc.png", "evaluated": "evaluated.png"},
    "calibration": {"focal_length": 100.0, "baseline": 10.0, "doffs": 0.0},
    "border": 0,
}


def _write_scene(folder):
    for i, name in enumerate(("left", "right", "third")):
        _picture(folder / f"{name}.png", seed=i)
        _mask(folder / f"{name}_mask.png", column=5 * i)
    _mask(folder / "nonocc.png", column=3)
    _mask(folder / "evaluated.png", column=9)
    write_disparity(folder / "truth.pfm", _varied(1, 4))
    write_disparity(folder / "match_truth.pfm", _varied(1, 4))
    write_map(folder / "low.pfm", 1)
    write_map(folder / "high.pfm", 4)
    (folder / "scene.yaml").write_text(yaml.safe_dump(ENTRY))


SCRIPT_OF_SCENES = {
    **WINDOW,
    "evaluation": {
        "protocol": {"base": "taxonomy2002", "masks": "scene", "regions": ["all", "nonocc"]}
    },
}

SCENE_FILES = {
    "frames.file, the reference": ("left.png", lambda path: _picture(path, seed=7)),
    "frames.file, the match": ("right.png", lambda path: _picture(path, seed=7)),
    "frames.file, another frame": ("third.png", lambda path: _picture(path, seed=7)),
    "frames.mask, the reference": ("left_mask.png", lambda path: _mask(path, column=17)),
    "frames.mask, the match": ("right_mask.png", lambda path: _mask(path, column=17)),
    "frames.mask, another frame": ("third_mask.png", lambda path: _mask(path, column=17)),
    "search.low": ("low.pfm", lambda path: write_map(path, 2)),
    "search.high": ("high.pfm", lambda path: write_map(path, 3)),
    "truth": ("truth.pfm", lambda path: write_disparity(path, _varied(2, 5))),
    "match_truth": ("match_truth.pfm", lambda path: write_disparity(path, _varied(2, 5))),
    "masks, a region": ("nonocc.png", lambda path: _mask(path, column=17)),
    "masks, the evaluated pixels": ("evaluated.png", lambda path: _mask(path, column=17)),
}
SCENE_VALUES = {
    "frames.position": (("frames", 2, "position"), 3),
    "frames.baseline": (("frames", 2), {"file": "third.png", "baseline": 3}),
    "frames.time": (("frames", 2, "time"), 1),
    "search.minimum": (("search", "minimum"), 2),
    "search.maximum": (("search", "maximum"), 3),
    "search.step": (("search", "step"), 0.5),
    "reference": (("reference",), 2),
    "match": (("match",), 2),
    "calibration.focal_length": (("calibration", "focal_length"), 200.0),
    "calibration.baseline": (("calibration", "baseline"), 20.0),
    "calibration.doffs": (("calibration", "doffs"), 1.0),
    "border": (("border",), 3),
    "upright": (("upright",), True),
    "truth.disparity_scale": (("truth",), {"file": "truth.png", "disparity_scale": 8.0}),
    "truth.unknown": (("truth",), {"file": "truth.png", "disparity_scale": 4.0, "unknown": 12}),
    "truth.disparity_offset": (
        ("truth",),
        {"file": "truth.png", "disparity_scale": 4.0, "disparity_offset": 1.0},
    ),
}
WITHOUT_EFFECT = {
    "frames.time",
    "match_truth",
    "calibration.focal_length",
    "calibration.baseline",
    "calibration.doffs",
}
"""Inputs on which no statistic of `SCRIPT_OF_SCENES` depends."""


def _scene_file(folder, name):
    _write_scene(folder)
    file, change = SCENE_FILES[name]
    yield Run(SCRIPT_OF_SCENES, load_scene(str(folder)))
    change(folder / file)
    yield Run(SCRIPT_OF_SCENES, load_scene(str(folder)))


def _scene_value(folder, name):
    _write_scene(folder)
    path, value = SCENE_VALUES[name]
    entry = yaml.safe_load(yaml.safe_dump(ENTRY))
    if path == ("truth",):
        write_image(folder / "truth.png", np.uint8(4 * _varied(1, 4)))
        entry["truth"] = {"file": "truth.png", "disparity_scale": 4.0}
        (folder / "scene.yaml").write_text(yaml.safe_dump(entry))
    if name == "upright":
        for file in ("left.png", "right.png"):
            _turn(folder / file)
    yield Run(SCRIPT_OF_SCENES, load_scene(str(folder)))
    place = entry
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (folder / "scene.yaml").write_text(yaml.safe_dump(entry))
    yield Run(SCRIPT_OF_SCENES, load_scene(str(folder)))


def _register_scenes():
    for name in SCENE_FILES:
        case(f"scene: {name}", name not in WITHOUT_EFFECT)(
            lambda folder, name=name: _scene_file(folder, name)
        )
    for name in SCENE_VALUES:
        case(f"scene: {name}", name not in WITHOUT_EFFECT)(
            lambda folder, name=name: _scene_value(folder, name)
        )


_register_scenes()
