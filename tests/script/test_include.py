"""Files that scripts build on; what is merged and what replaced stands in ``right_scripts.yaml``."""

import pytest

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load


def test_a_missing_include_is_the_only_fault(write):
    write(mine="include: windw\n")
    with pytest.raises(
        ScriptError, match=r"^mine\.yaml:1:10: include: script 'windw': .*did you mean 'window'"
    ) as caught:
        load("mine.yaml")
    assert len(caught.value.faults) == 1


def test_files_that_are_no_scripts(write, tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    write(list="- box\n")
    for name, said in (
        ("binary", "the text is not UTF-8"),
        ("list", "this is not a script; expected keys and values"),
    ):
        with pytest.raises(ScriptError, match=rf"^{name}\.yaml:1:1: {said}"):
            load(f"{name}.yaml")


def test_loops(write):
    write(
        a="include: window\nauxiliary: {x: {auxiliary: {y: {include: b.yaml}}}}\n",
        b="auxiliary: {x: {include: a.yaml}}\n",
    )
    circle = {"matcher": "flat", "refinement": "blend"}
    circle["auxiliary"] = {"itself": circle}
    write(alias="matcher: winner\nauxiliary: &a {x: {auxiliary: *a}}\n")
    for source, said in (
        (
            "a.yaml",
            r"b\.yaml:1:26: auxiliary\.x\.include: the scripts include each other in a loop: "
            r"a\.yaml > b\.yaml > a\.yaml",
        ),
        (
            circle,
            "^script: this is not a script, because it is nested too deeply, or because a mapping contains itself$",
        ),
        ("alias.yaml", "an alias inside its own anchor"),
    ):
        with pytest.raises(ScriptError, match=said):
            load(source)
