"""Right scripts: the settings that come of them; what is written out of them loads to the same, and the schema accepts it all."""

import pytest
import yaml
from yaml_cases import cases_in

from stereo_framework.script import load

CASES = cases_in("right_scripts.yaml", __file__)


def _again(mapping):
    """A mapping after a trip through a YAML file."""
    return yaml.safe_load(yaml.safe_dump(mapping, sort_keys=False))


def _field_or_parameter(script, run, name):
    """What a case says of a setting: one of its fields, else a parameter."""
    fields = {
        "method": run.method,
        "axes": run.axes,
        "seed": run.seed,
        "search": run.search,
        "seeded": [
            address
            for address, one in run.pipeline.stages()
            if one.parameters.get("seed") == run.seed
        ],
        "protocols": [protocol.name for protocol in script.protocols],
    }
    return _in_order(fields[name] if name in fields else run.parameters.get(name))


def _in_order(value):
    return list(value.items()) if isinstance(value, dict) else value


def _content(run):
    types = {name: type(value) for name, value in run.parameters.items()}
    return (
        run.method,
        list(run.parameters.items()),
        types,
        run.axes,
        run.search,
        run.seed,
        run.pipeline,
        run.mapping,
    )


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("case", CASES, ids=[case["of"] for case in CASES])
def test_settings_of_a_right_script(case, validator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in case.get("files", {}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    script = load(case["load"], overrides=case.get("overrides", ()))
    for name in {"name", "scenes", "report"} & case.keys():
        assert (
            _again(getattr(script, name) if name != "scenes" else list(script.scenes)) == case[name]
        )
    assert len(script.settings) == len(case["settings"])
    for run, wanted in zip(script.settings, case["settings"], strict=True):
        assert {name: _field_or_parameter(script, run, name) for name in wanted} == {
            name: _in_order(value) for name, value in wanted.items()
        }
    again = load(_again(script.resolved))
    for name in ("resolved", "scenes", "report", "protocols"):
        assert getattr(again, name) == getattr(script, name)
    for run, one in zip(script.settings, again.settings, strict=True):
        assert _content(one) == _content(run)
        alone = load(_again(run.mapping))
        assert alone.protocols == script.protocols
        assert _content(alone.only) == (*_content(run)[:3], {}, *_content(run)[4:])
    for mapping in (case["load"], script.resolved, script.settings[0].mapping):
        if isinstance(mapping, dict):
            validator().validate(mapping)
