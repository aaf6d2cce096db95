"""Fixtures of the scripts' tests."""

import functools

import pytest
from jsonschema import Draft202012Validator

from stereo_framework.core.registration import stages
from stereo_framework.script import schema

_validator = functools.cache(lambda names: Draft202012Validator(schema()))


@pytest.fixture
def validator():
    """Gives what checks with the schema of the stages that are there when it is called; making one takes longer than most of what it checks."""
    return lambda: _validator(tuple((one.slot, one.name, repr(one.parameters)) for one in stages()))


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes YAML files, ``a__b`` to the folder a, into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return write
