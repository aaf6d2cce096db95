"""Cases that tests have in YAML files beside them."""

from pathlib import Path

import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Where it is there, the one in C: the other takes a tenth of the time in which tests are collected."""


def cases_in(name, test, loader=Loader):
    """What the file of that name beside the file of a test holds."""
    return yaml.load(Path(test).with_name(name).read_text(encoding="utf-8"), loader)
