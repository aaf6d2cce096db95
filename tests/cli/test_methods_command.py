"""The command ``methods`` lists the built-in methods and prints their scripts."""

import json
import re
from pathlib import Path

import pytest
from cli_parts import call, invoke, one_line

from stereo_framework.script import load
from stereo_framework.script.catalogue import built_in_method, built_in_methods

ROOT = Path(__file__).parents[2]

PURPOSE = re.compile(r"[^;]+(; [^;]+)?; (dense|semi-dense), (?P<time>.+)")
"""Form of the comment that states the purpose of a method."""


def test_each_method_is_listed_in_one_line():
    header, *lines = call("methods").stdout.splitlines()
    assert header == "method\tsuited to"
    scripts = sorted(path.stem for path in (ROOT / "configs/methods").glob("*.yaml"))
    assert [line.partition("\t")[0] for line in lines[: len(scripts)]] == scripts
    times, remedy = lines[len(scripts) :]
    assert times.startswith("times are those of a photograph")
    assert remedy == "'stereo-framework methods NAME' prints the script of a method"


@pytest.mark.parametrize("method", built_in_methods(), ids=lambda method: method.name)
def test_each_script_states_its_purpose_in_a_fixed_form(method):
    assert method.read_script().count("\n# Suited to: ") == 1
    assert PURPOSE.fullmatch(method.suited_to)
    assert len(method.suited_to) <= 100
    assert method.description


def seconds_of_table(name):
    """Return the seconds of the methods in a table of the page of results."""
    page = (ROOT / "docs/results.md").read_text()
    table = page.partition(f"<!-- {name} -->\n")[2].partition("<!-- end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {row[0].strip("`"): float(row[-1]) for row in rows}


@pytest.mark.parametrize("method", built_in_methods(), ids=lambda method: method.name)
def test_times_are_those_of_the_page_of_results(method):
    time = PURPOSE.fullmatch(method.suited_to)["time"]
    photographs = seconds_of_table("photographs")
    small_scenes = seconds_of_table("middlebury_v2")
    if method.name in photographs:
        assert time == f"{photographs[method.name]:.2g} s"
    elif method.name in small_scenes:
        assert time == f"{small_scenes[method.name]:.2g} s (small scenes)"
    else:
        assert method.name in ("initial_map", "patch_match")


@pytest.mark.parametrize("name", ["sgm", "methods/sgm", "sgm.yaml"])
def test_the_script_of_a_method_is_printed(name, tmp_path):
    text = call("methods", name).stdout
    assert text == (ROOT / "configs/methods/sgm.yaml").read_text()
    path = tmp_path / "sgm.yaml"
    path.write_text(text)
    assert load(path).resolved == load("sgm").resolved


def test_json_has_the_name_the_purpose_and_the_description():
    records = json.loads(call("methods", "--json").stdout)
    assert [record["name"] for record in records] == [m.name for m in built_in_methods()]
    [record] = [record for record in records if record["name"] == "sgm"]
    assert list(record) == ["name", "suited_to", "description"]
    assert record["suited_to"] == built_in_method("sgm").suited_to
    assert record["description"].startswith("SGM: semi-global matching, ")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fne", "there is no built-in method 'fne'; did you mean 'fine'? "),
        ("methods/censsus", "there is no built-in method 'methods/censsus'; did you mean 'census'"),
        ("xyz", "there is no built-in method 'xyz'; 'stereo-framework methods' lists all methods"),
    ],
)
def test_an_unknown_name_gives_the_nearest_name(name, message):
    one_line(invoke("methods", name), message)


def test_json_of_one_method_is_refused():
    message = "--json has no effect with the name of a method; leave it out"
    one_line(invoke("methods", "sgm", "--json"), message)
