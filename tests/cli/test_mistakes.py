"""Mistakes in command lines: each is told in one line, with exit status 2, and nothing else is printed."""

import shlex
from pathlib import Path

import pytest
from cli_parts import invoke

from stereo_framework import load_scene
from stereo_framework.io import write_disparity, write_image

# A command, and what its line says.
MISTAKES = """
match | two images are needed
match l.png | two images are needed
match l.png none.png | none.png: no such file
match l.png r.png --disparities 9: | --disparities '9:': expected MINIMUM:MAXIMUM
match l.png r.png --disparities 9:1 | 1 is not above 9; write MINIMUM:MAXIMUM, such as 0:64
match l.png r.png --disparities 0:9 --disparities 0:8 | --disparities: 2 ranges for 1 pairs
match l.png r.png --disparities 0:1000 | l.png: the range 0..1000 of disparities has 1001 pixels
match l.png r.png --method sdd | did you mean
match l.png r.png --set foo | --set 'foo': not KEY=VALUE
match l.png r.png --method ssd --set aggregation.box.sise=3 | did you mean 'size'?
match l.png r.png --calibration notes.txt | notes.txt: is not a calibration file of a known kind
match l.png r.png --focal 3 | needs both, the focal length in pixels and the baseline
match l.png r.png --focal 3 --baseline 1 --calibration c.txt | give one or the other
match l.png r.png --focal 3 --baseline -1 | the baseline -1 is not a number above 0
match l.png r.png --focal nan --baseline 1 | --focal: nan is not a finite number
match l.png r.png --rectify notes.txt | notes.txt: is not a file of OpenCV's FileStorage
match l.png r.png --mask m.png --mask m.png --mask m.png | --mask: 3 masks
match l.png r.png --ranges small.pfm small.pfm | the map of smallest disparities is 320x50
match l.png r.png --memory lots | --memory 'lots': expected an amount of memory above 0, such as 8G or 500M
match l.png r.png --memory 0G | --memory '0G': expected an amount of memory above 0
match l.png r.png -o "" | -o: an empty text says nothing
match l.png r.png -o notes.txt | notes.txt: is no folder
match l.png r.png --plugin none.py | no file
match l.png r.png --example | --example brings its own images
match notes.txt notes.txt | notes.txt: is damaged, truncated or not an image
run | Missing argument
run sdd --scene synthetic/planes | did you mean
run none.yaml | none.yaml
run bad.yaml | bad.yaml:2:1: not YAML
run ssd | no scene to run on
run ssd --scene synthetic/plane | synthetic/planes
run ssd --scene tsukuba --data folder | folder
run ssd --scene synthetic/planes --workers 0 | workers: 0 is below 1
run ssd --scene synthetic/planes --workers 99999999999999999999 | a whole number of more than 64 bits
run ssd --scene synthetic/planes --executor proces | did you mean 'process'?
run ssd --scene synthetic/planes --protocol middlebury-v9 | no protocol 'middlebury-v9'
run ssd --scene synthetic/planes --protocol "{base:" | not YAML
run ssd --scene synthetic/planes --measure hcj | did you mean 'hci'
run ssd --scene synthetic/planes --report | --report: needs --out DIR
run ssd --scene synthetic/planes --out notes.txt | notes.txt
run ssd --scene synthetic/planes --max-pixels 0 | --max-pixels
run sgbm --scene synthetic/planes --set matcher.numDisparities=16 | OpenCV's numDisparities is called 'search.maximum'
run sgbm --scene synthetic/planes --set matcher.P1=16 | OpenCV's P1 is called 'p1'
run bm --scene synthetic/planes --set matcher.blockSize=16 | OpenCV's blockSize is called 'size'
check | no script; name one or more
check ssd --no-plugins --try | leave out --no-plugins
check ssd --no-plugins --plugin x.py | --plugin and --no-plugins contradict each other
evaluate none.pfm --scene synthetic/planes | none.pfm: no such file or folder
evaluate none --protocol middlebury-v2 | none: no such file or folder
evaluate t.pfm | name the scene it belongs to with one --scene
evaluate t.pfm --scene synthetic/planes --protocol taxonomi2002 | did you mean 'taxonomy2002'?
evaluate t.pfm --scene synthetic/planes --measure mapee | did you mean 'mape'?
evaluate t.pfm --scene synthetic/planes --threshold nan | protocol.thresholds: [nan] is not a number
evaluate t.pfm --truth small.pfm | the map is 320x240, the scene's images are 320x50
evaluate t.pfm --truth t.pfm --scene synthetic/planes | --truth is that of single maps
evaluate t.pfm small.pfm --name x --scene synthetic/planes | one name for 2 maps
evaluate folder | holds no map of a scene
compare t.pfm --scene synthetic/planes | two maps or more
compare t.pfm small.pfm | needs the scene
compare t.pfm small.pfm --mask l.png | --mask goes with --truth
results none | none: no results there
results res --sort bad_pixel_all | did you mean 'bad_pixels_all'?
results res --where size | expected key=value
results res --where scene=plains | no result has 'plains'
results res --group scen | did you mean 'scene'?
results res --group scene --sort aggregation.box.size | the table has no column
results res --format xls | no format 'xls'; legal formats: csv, latex, markdown
results res --format csv --json | one format at a time, not csv and json
results res --export eth | no such benchmark
results res --plots | no script there asks for plots; write them under 'report:'
rank notes.txt | expected a results folder or a .csv file
rank table.csv | not a known measure; say --lower or --higher
rank table.csv --lower a --higher a | 'a' stands in both
rank holes.csv --lower '*' | methods without a score in some column: two (b); leave them out, as by --where 'method!=two'
rank res --protocol eth3d | No such option: --protocol; --where protocol=NAME chooses
rank res --where protocol=eth3d | protocol: no result has 'eth3d'; there are: taxonomy2002
report none | none: no results there
choose l.png | two images are needed
choose --scene synthetic/planes --disparities 0:9 | leave out yours
choose l.png r.png --methods fine | fine is what others are compared with
choose l.png r.png --time nan | --time
choose l.png r.png --scene synthetic/planes | --scene NAME brings its own images
tune ssd --scene synthetic/planes | nothing to tune
tune sweep.yaml | no scene to run on
tune sweep.yaml --scene synthetic/planes --trials 0 | trials: 0 is below 1
tune sweep.yaml --scene synthetic/planes --statistic bad_pixels_nonoc | did you mean 'bad_pixels_nonocc'
reproduce taxonomy2003 | did you mean 'taxonomy2002'?
reproduce taxonomy2002/tabel4 --out p | did you mean 'table4'?
scenes tsukuba | say what to do: --describe tsukuba, or --fetch tsukuba
scenes --new none | none: no such folder
stages bax | did you mean 'box'?
stages eth | did you mean 'eth3d'
stages box --slot smoothness | no stage 'box'; legal names: linear, potts
stages --slot smoothnes | did you mean 'smoothness'?
stages --new x | say of which slot
stages --new mine --slot refinment | no slot 'refinment'; legal slots:
stages --new my-stage --slot refinement | 'my-stage' is no name of a function
stages --new class --slot refinement | 'class' is no name of a function
stages --new median --slot refinement | there is a stage 'median' of refinement already
import none.txt | none.txt: no such file
nosuch | No such command 'nosuch'
run ssd --frob | No such option: --frob
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    scene = load_scene("synthetic/planes")
    write_image(folder / "l.png", scene.reference)
    write_image(folder / "r.png", scene.match)
    write_disparity(folder / "t.pfm", scene.truth)
    write_disparity(folder / "small.pfm", scene.truth[:50])
    (folder / "folder").mkdir()
    for name, text in {
        "notes.txt": "x",
        "bad.yaml": "a: [\n",
        "table.csv": "method,a\none,1\ntwo,2\n",
        "holes.csv": "method,a,b\none,1,2\ntwo,2,\n",
        "sweep.yaml": "include: window\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n",
    }.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert invoke("run", "ssd", "--scene", "synthetic/planes", "--out", "res", "--no-maps").exit_code == 0
    return folder


@pytest.mark.parametrize("line", MISTAKES.strip().splitlines())
def test_a_mistake_is_one_line(desk, monkeypatch, line):
    monkeypatch.chdir(desk)
    monkeypatch.delenv("STEREO_DATA", raising=False)
    before = sorted(Path().rglob("*"))
    command, _, said = line.partition(" | ")
    result = invoke(*shlex.split(command))
    [told] = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, "")
    assert told.startswith("error: ")
    assert said in told
    assert sorted(Path().rglob("*")) == before
