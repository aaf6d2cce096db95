"""What was done to the program: command lines with the files that they read, and the one line that each must be answered with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attack.made_files import (
    bmp,
    bomb,
    fifo,
    folder,
    inflating,
    sparse,
    stereo,
    tiff,
    two_images,
)

Content = str | bytes | Callable[[str], None]
"""Text, bytes, or what makes the file at a path."""


@dataclass(frozen=True)
class Case:
    """One input.

    Parameters
    ----------
    name : str
    command : str
        As typed in a shell, without the program's name; in a folder that holds left.png, right.png, grey.pfm (their map), window.csv (scores) and
        `files`.
    line : str
        Regular expression of one of the lines on the error stream.
    files : mapping of str to Content
    status : int
    lines : int
        Lines on the error stream.
    """

    name: str
    command: str
    line: str
    files: Mapping[str, Content] = field(default_factory=dict)
    status: int = 2
    lines: int = 1


METHOD = "matching_cost: absolute_difference\noptimization: winner_take_all\n"
SCENE = "frames: [left.png, right.png]\nsearch: {minimum: 0, maximum: 6}\n"
PAIR = "left.png right.png --disparities 0:6"
DEEP = 3000


CASES = [
    # --- files of users -----------------------------------------------------------------------------------------------
    Case("name that leaves the folder", "run s.yaml --out o", "s.yaml:1:7: name: .*cannot be the name of a file",
        {"s.yaml": f"name: ../evil\n{METHOD}"}),
    Case("name of a device", "check s.yaml", "cannot be the name of a file", {"s.yaml": f"name: NUL\n{METHOD}"}),
    Case("method that leaves the folder", "check s.yaml", "methods: .*cannot be the name of a file",
        {"s.yaml": f"{METHOD}methods: {{../evil: {{}}}}\n"}),
    Case("plot that leaves the folder", "check s.yaml", "cannot be the name of a file",
        {"s.yaml": f"{METHOD}report: {{plots: {{../p: {{x: scene, y: rms_error_all}}}}}}\n"}),
    Case("plug-in above the script", "check d/s.yaml", r"d/s.yaml:1:11: plugins.*--plugin",
        {"d": folder, "p.py": "raise SystemExit(3)", "d/s.yaml": f"plugins: [../p.py]\n{METHOD}"}),
    Case("absolute plug-in", "check s.yaml", r"plugins.*outside.*--plugin", {"s.yaml": f"plugins: [/tmp/p.py]\n{METHOD}"}),
    Case("plug-in that exits", "check s.yaml", "p.py cannot be imported: SystemExit: 3",
        {"p.py": "raise SystemExit(3)", "s.yaml": f"plugins: [p.py]\n{METHOD}"}),
    Case("resolved script of a user", "run s.yaml --scene ./scene.yaml --out .", "s.resolved.yaml: .*not overwritten",
        {"s.yaml": METHOD, "scene.yaml": SCENE, "s.resolved.yaml": "mine: 1\n"}),
    Case("import over a file", "import old.txt --out .", "scene.yaml: .*not overwritten",
        {"old.txt": "depth_map a.pgm\n", "scene.yaml": SCENE}, lines=1),
    # --- bombs --------------------------------------------------------------------------------------------------------
    Case("alias bomb", "check s.yaml", r"s.yaml:.*more than \d+ values", {"s.yaml": bomb()}),
    Case("alias bomb in --set",
        "check s.yaml --set 'report={a: &a [1,1,1,1,1,1,1,1,1], b: &b [*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c], e: &e [*d,*d,*d,*d,*d,*d,*d], f: [*e,*e,*e,*e,*e,*e,*e]}'",
        r"--set report: .*more than \d+ values", {"s.yaml": METHOD}),
    Case("alias bomb in scene.yaml", "scenes --describe ./scene.yaml", r"scene.yaml:.*more than \d+ values", {"scene.yaml": bomb()}),
    Case("alias bomb in --protocol",
        "evaluate grey.pfm --scene ./scene.yaml --protocol '{base: &a [1,1,1,1,1,1,1,1,1,1], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c], e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]}'",
        r"--protocol.*more than \d+ values", {"scene.yaml": SCENE}),
    Case("long value", "check s.yaml", ".{20,900}$", {"s.yaml": f"{METHOD}aggregation: {{use: {'x' * 50_000}}}\n"}),
    Case("long key", "check s.yaml", ".{20,900}$", {"s.yaml": f"{METHOD}{'x' * 900}: 1\n"}),
    Case("long value in scene.yaml", "scenes --describe ./scene.yaml", ".{20,900}$", {"scene.yaml": f"{SCENE}border: {'x' * 50_000}\n"}),
    Case("long name of a scene", f"scenes --describe {'x' * 20_000}", ".{20,900}$"),
    Case(
        "include diamonds",
        "check d0.yaml",
        "d0.yaml: no fault",
        {f"d{i}.yaml": (f"include: [e{i}.yaml, f{i}.yaml]\n") for i in range(20)}
        | {f"{c}{i}.yaml": (f"include: d{i + 1}.yaml\n") for i in range(20) for c in "ef"}
        | {"d20.yaml": METHOD},
        status=0,
        lines=0,
    ),
    Case("a chain of includes", "check d0.yaml", "includes .* deep",
        {f"d{i}.yaml": f"include: d{i + 1}.yaml\n" for i in range(300)} | {"d300.yaml": METHOD}),
    Case("many includes", "check s.yaml", "includes more than",
        {f"d{i}.yaml": METHOD for i in range(600)} | {"s.yaml": f"include: [{', '.join(f'd{i}.yaml' for i in range(600))}]\n"}),
    Case(
        "2 x 900,000 settings",
        "check s.yaml",
        r"900000.*values",
        {
            "s.yaml": f"{METHOD}aggregation: [box]\nsweep: {{grid: {{aggregation.box.size: [3, 5], search.step: {{range: [1, 900000, 1]}}}}}}\n"
        },
    ),
    Case("2 x 900,000 ranges", "check s.yaml", r"900000.*values",
        {"s.yaml": f"{METHOD}sweep: {{grid: {{search.minimum: [0, 1], search.maximum: {{range: [1, 900000, 1]}}}}}}\n"}),
    Case(
        "many long axes",
        "check s.yaml",
        r"200000",
        {
            "s.yaml": f"{METHOD}sweep: {{grid: {{search.minimum: {{range: [0, 900000, 1]}}, search.maximum: {{range: [1, 900000, 1]}}, search.step: {{range: [1, 900000, 1]}}}}}}\n"
        },
        lines=3,
    ),
    Case(
        "a product of axes",
        "check s.yaml",
        "9764400 runs.*at most 200000",
        {
            "s.yaml": f"{METHOD}aggregation: [box]\nsweep: {{grid: {{aggregation.box.size: {{range: [1, 309, 1]}}, search.maximum: {{range: [9, 408, 1]}}, "
            "matching_cost.truncation: {range: [1, 79, 1]}}}\n"
        },
    ),
    Case(
        "many methods with long axes",
        "check s.yaml",
        r"200000",
        {
            "s.yaml": f"{METHOD}methods:\n"
            + "".join(f"  m{i}: {{sweep: {{grid: {{search.maximum: {{range: [1, 900000, 1]}}}}}}}}\n" for i in range(20))
        },
        lines=20,
    ),
    Case("BMP of 32000x32000", "match b.bmp b.bmp", "b.bmp: .*32000x32000.*", {"b.bmp": bmp(32000, 32000)}),
    Case("BMP of 9000x9000", "match b.bmp b.bmp", "b.bmp: is damaged, truncated or not an image", {"b.bmp": bmp(9000, 9000)}),
    Case("BMP of -2147483648 rows", "match b.bmp b.bmp", "b.bmp: ", {"b.bmp": bmp(32000, -(2**31))}),
    Case("TIFF of 32000x32000", "match t.tif t.tif", "t.tif: .*32000x32000.*STEREO_MAX_PIXELS", {"t.tif": tiff(32000, 32000)}),
    Case("TIFF with huge tiles", "match t.tif t.tif", "t.tif: .*30000x30000.*STEREO_MAX_PIXELS",
        {"t.tif": tiff(32, 32, (322, 30000), (323, 30000))}),
    Case("TIFF of nothing but a beginning", "match t.tif t.tif", "t.tif: is damaged, truncated or not an image",
        {"t.tif": b"II*\0" + b"\xff" * 40}),
    Case("TIFF that ends early", "match t.tif t.tif", "t.tif: is damaged or truncated: parts of its image",
        {"t.tif": tiff(99, 99, (279, 9801))}),
    Case("TIFF of 200 bands", "match t.tif t.tif", "t.tif: has 200 bands; expected grey or RGB",
        {"t.tif": tiff(8, 8, (277, 200))}),
    Case("TIFF of 11 bits", "match t.tif t.tif", "t.tif: .*11 bits.*gdal_translate", {"t.tif": tiff(8, 8, (258, 11))}),
    Case("TIFF of two images", "run s.yaml --scene ./scene.yaml",
        "warning: .*t.tif: holds several images or a mask, of which the first image is read",
        {"t.tif": two_images, "s.yaml": METHOD, "scene.yaml": SCENE.replace("left.png, right.png", "t.tif, t.tif")}, status=0,
        lines=2),
    *(
        Case(f"--rectify with {name}", "match left.png right.png --disparities 0:6 --rectify c.yml", said, {"c.yml": content})
        for name, said, content in (
            ("no matrices", "c.yml: no M1, K1 or cameraMatrix1, no D1", "%YAML:1.0\n---\nQ: 3\n"),
            ("something else", "c.yml: is not a file of OpenCV's FileStorage", "cam0=[1 0 0]\n"),
            ("a huge middle", "left.png: the calibration's principal point, column 1e\\+300", stereo(1e300)),
            ("cameras of another size", "left.png: the calibration's principal point.*outside the image of 32x24", stereo(900)),
        )
    ),
    Case("--rectify and --calibration", "match left.png right.png --rectify c.yml --calibration c.yml", "leave out the other",
        {"c.yml": stereo(8)}),
    Case("npz that inflates", "evaluate a.npz --scene ./scene.yaml", "a.npz: unpacks to .* bytes.*STEREO_MAX_PIXELS|a.npz: .*damaged",
        {"a.npz": inflating, "scene.yaml": SCENE}),
    Case("a file of 1 TB", "match s.png s.png", r"s.png: is 1099511627776 bytes long", {"s.png": sparse}),
    Case("a script of 1 TB", "check s.yaml", r"s.yaml:1:1: is 1099511627776 bytes long", {"s.yaml": sparse}),
    Case("a calibration of 1 TB", "match left.png right.png --disparities 0:6 --calibration c.txt",
        r"c.txt: is 1099511627776 bytes long", {"c.txt": sparse}),
    Case(
        "an old script that is none",
        "import s.txt",
        "further lines cannot be carried over either",
        {"s.txt": "no\x1b[2J line\n" * 9000 + "depth_map a.pgm\n"},
        status=0,
        # And that no scene is named.
        lines=201,
    ),
    Case("a key with ends of lines", "scenes --describe s.yaml", r"s.yaml:1:1: unknown key '0\\n\\nx'", {"s.yaml": SCENE + '"0\\n\\nx": 1\n'}),
    Case("/dev/zero as an image", "match /dev/zero right.png --method window --disparities 0:6",
        "/dev/zero: is not a regular file"),
    Case("a FIFO as an image", "match f.png right.png --method window --disparities 0:6", "f.png: is not a regular file",
        {"f.png": fifo}),
    Case("a FIFO as a scene", "scenes --describe ./scene.yaml", "scene.yaml: is not a regular file", {"scene.yaml": fifo}),
    Case("/dev/zero as a script", "check /dev/zero", "/dev/zero:1:1: is not a regular file"),
    Case("/dev/zero as an include", "check s.yaml", "/dev/zero:1:1: is not a regular file", {"s.yaml": "include: /dev/zero\n"}),
    # --- one line: scene.yaml -----------------------------------------------------------------------------------------
    *(
        Case(f"scene.yaml: {name}", "scenes --describe ./scene.yaml", "scene.yaml", {"scene.yaml": text},
            lines={"!!set": 3, "a key that is a list": 2}.get(name, 1))
        for name, text in {
            "a date": "2001-01-01\n",
            "a date as a key": f"{SCENE}2001-01-01: 3\n",
            "no date": f"{SCENE}border: 2001-99-99\n",
            "a date as a border": f"{SCENE}border: 2001-01-01\n",
            "binary": f"{SCENE}border: !!binary aGVsbG8=\n",
            "binary that is none": f"{SCENE}border: !!binary a\n",
            "!!int abc": f"{SCENE}border: !!int abc\n",
            "!!float x": f"{SCENE}border: !!float x\n",
            "!!bool 3": f"{SCENE}border: !!bool 3\n",
            "!!timestamp x": f"{SCENE}border: !!timestamp x\n",
            "!!set": f"{SCENE}masks: !!set {{a, b}}\n",
            "!!python/object": f"{SCENE}border: !!python/object/apply:os.system [echo]\n",
            "5000 digits": f"{SCENE}border: {'9' * 5000}\n",
            "400 digits": f"{SCENE}search: {{minimum: 0, maximum: {'9' * 400}}}\n",
            "sexagesimal": f"{SCENE}border: 1:30:00:x\n",
            "3000 deep": "[" * DEEP,
            "3000 deep and closed": "frames: " + "[" * DEEP + "]" * DEEP + "\n",
            "an alias of itself": "frames: &a [*a]\n",
            "a key that is a list": "? [a, b]\n: 1\n",
            "two documents": "---\na: 1\n---\nb: 2\n",
            "NUL": "frames: [\0]\n",
            "a huge position": "frames: [{file: left.png, position: 1.0e+400}, right.png]\n",
            "a huge reference": f"{SCENE}reference: {'9' * 40}\n",
        }.items()
    ),
    Case("scene.yaml: a merge key", "scenes --describe ./scene.yaml", r"merge keys \(<<\) are not used here", {"scene.yaml": f"border: &a 1\n{SCENE}<<: *a\n"}),
    Case("scene.yaml: a file name with NUL", "scenes --describe ./scene.yaml", "null byte",
        {"scene.yaml": 'frames: ["a\\0b", right.png]\n'}),
    Case("scene.yaml: a long file name", "scenes --describe ./scene.yaml", "too long",
        {"scene.yaml": f"frames: [{'a' * 300}.png, right.png]\n"}),
    # --- one line: scripts --------------------------------------------------------------------------------------------
    Case("400 digits in --set", f"check s.yaml --set seed={'9' * 400}", "--set seed: .*whole number", {"s.yaml": METHOD}),
    Case("400 digits in an axis", "check s.yaml", "s.yaml:.*whole number",
        {"s.yaml": f"{METHOD}sweep: {{grid: {{search.step: [1, {'9' * 400}]}}}}\n"}),
    Case("400 digits in a range", "check s.yaml", "s.yaml:.*whole number",
        {"s.yaml": f"{METHOD}sweep: {{grid: {{search.maximum: {{range: [1, {'9' * 400}, 1]}}}}}}\n"}, lines=2),
    Case("400 digits as a parameter", "check s.yaml", "s.yaml:.*whole number",
        {"s.yaml": f"{METHOD}aggregation: [{{use: box, size: {'9' * 400}}}]\n"}),
    Case("tiny steps", "check s.yaml", "values",
        {"s.yaml": f"{METHOD}sweep: {{grid: {{search.maximum: {{range: [1, 2, 1e-300]}}}}}}\n"}),
    Case("huge geometric spacing", "check s.yaml", "search.maximum.*level",
        {"s.yaml": f"{METHOD}search: {{minimum: 0}}\nsweep: {{grid: {{search.maximum: {{geomspace: [1e-308, 1e308, 3]}}}}}}\n"}),
    Case("fractions as a count", "check s.yaml", "values",
        {"s.yaml": f"{METHOD}sweep: {{grid: {{search.maximum: {{linspace: [1, 2, 1e308]}}}}}}\n"}),
    Case("3000 deep", "check s.yaml", "nested too deeply", {"s.yaml": "a: " + "[" * DEEP}),
    Case("300 deep", "check s.yaml", "s.yaml", {"s.yaml": METHOD + "alternatives: {a: " * 150 + "x" + "}" * 150}),
    Case("a script of 300 letters", f"check {'a' * 300}.yaml", "no such file|too long"),
    Case("an include of 300 letters", "check s.yaml", "s.yaml", {"s.yaml": f"include: {'a' * 300}\n"}),
    Case("an include of a folder", "check s.yaml", "folder", {"s.yaml": "include: .\n"}),
    Case("a plug-in of 300 letters", "check s.yaml", "s.yaml", {"s.yaml": f"plugins: {'a' * 300}.py\n{METHOD}"}),
    Case("a plug-in with NUL", "check s.yaml", "s.yaml", {"s.yaml": f'plugins: "a\\0.py"\n{METHOD}'}),
    Case("a module with dots", "check s.yaml", "s.yaml", {"s.yaml": f"plugins: ...\n{METHOD}"}),
    Case("a binary script", "check s.yaml", "UTF-8|not allowed", {"s.yaml": bytes(range(256))}),
    Case("a folder as a script", "check d", "folder", {"d": folder}),
    # --- one line: folders and paths ----------------------------------------------------------------------------------
    Case("~nosuchuser as a scene", "scenes --describe '~nosuchuser/scene.yaml'", "nosuchuser"),
    Case("a scene of 300 letters", f"scenes --describe {'a' * 300}", "unknown scene"),
    Case("an image of 300 letters", f"match {'a' * 300}.png right.png", "too long|no such"),
    Case("an output folder of 300 letters", f"run s.yaml --scene ./scene.yaml --out {'a' * 300}", "too long",
        {"s.yaml": METHOD, "scene.yaml": SCENE}),
    Case("an output folder that is a file", "run s.yaml --scene ./scene.yaml --out left.png", "'left.png'; choose another folder",
        {"s.yaml": METHOD, "scene.yaml": SCENE}),
    Case("maps that is a file", "run s.yaml --scene ./scene.yaml --out o", "o/maps",
        {"s.yaml": METHOD, "scene.yaml": SCENE, "o": folder, "o/maps": "x"}),
    Case("scores of 300 letters", f"rank {'a' * 300}.csv", "too long|no such|cannot be read"),
    Case("a calibration of 300 letters", f"match left.png right.png --disparities 0:6 --calibration {'a' * 300}",
        "too long|no such"),
    # --- one line: scores ---------------------------------------------------------------------------------------------
    Case("a field of 200,000 letters", "rank s.csv", "s.csv", {"s.csv": f"method,s:m\n{'a' * 200_000},1\nb,2\n"}),
    Case("400 digits in a CSV", "rank s.csv --lower '*'", "", {"s.csv": f"method,s:m\na,{'9' * 400}\nb,2\n"}, status=0, lines=0),
    Case("NUL in a CSV", "rank s.csv", "s:m", {"s.csv": b"method,s:m\na\0,1\nb,2\n"}),
    Case("an open quote in a CSV", "rank s.csv", "s.csv|s:m", {"s.csv": b'method,s:m\n"a,1\nb,2\n'}),
    # --- one line: numbers of options ---------------------------------------------------------------------------------
    Case("compare --threshold nan", "compare grey.pfm grey.pfm --scene ./scene.yaml --threshold nan", "--threshold",
        {"scene.yaml": SCENE}),
    Case("match --focal nan", "match left.png right.png --focal nan --baseline 1", "--focal"),
    Case("evaluate --scale nan", "evaluate grey.pfm --scene ./scene.yaml --scale nan", "--scale", {"scene.yaml": SCENE}),
    Case("--workers of 400 digits", f"run window --scene synthetic/planes --workers {'9' * 400}", "--workers"),
    Case("--memory of 400 digits", f"match {PAIR} --method window --memory {'9' * 400}", "--memory"),
    Case("--disparities nan:5", "match left.png right.png --method window --disparities nan:5", "disparities|search"),
    Case("--disparities 0:inf", "match left.png right.png --method window --disparities 0:inf", "disparities|search"),
    Case("--where of 400 digits", f"results o --where seed={'9' * 400}", "", {"o": folder}),
    Case("--disparities wider than the image", "match left.png right.png --method window --disparities 0:2000",
        "2001.*wider than.* 32"),
    Case("--disparities beyond the image", "match left.png right.png --disparities 500:505", "beyond|wider"),
    Case("scene.yaml wider than the image", "run window --scene ./scene.yaml", "2001.*wider than.* 32",
        {"scene.yaml": "frames: [left.png, right.png]\nsearch: {minimum: 0, maximum: 2000}\n"}),
    Case("half as wide as the image", "run s.yaml --scene ./scene.yaml", "warning: .*half",
        {"s.yaml": METHOD, "scene.yaml": SCENE.replace("6", "20")}, status=0),
    Case("a huge window", f"match {PAIR} --method s.yaml --set aggregation.box.size=99999999999",
        "--set aggregation.box.size: 99999999999 pixels are more than any image has",
        {"s.yaml": f"{METHOD}aggregation: [box]\n"}),
    Case("trials of 5000 digits", f"tune window --trials {'9' * 5000}", "--trials"),
    Case("an option of 50,000 letters", f"rank window.csv --{'x' * 50_000}", "No such option.*characters"),
]  # fmt: skip
