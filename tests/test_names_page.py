"""The page of names lists every parameter, and its generated tables are up to date."""

import re

import cv2
import name_tables
import pytest

from stereo_framework.core import former_names
from stereo_framework.core.slots import SLOTS

STAGES = {
    f"{slot}.{stage.name}": stage for slot in SLOTS for stage in name_tables.package_stages(slot)
}

MATCHERS = {
    "matcher.opencv_bm": cv2.StereoBM_create(),
    "matcher.opencv_sgbm": cv2.StereoSGBM_create(),
}


def test_every_parameter_of_a_stage_has_an_entry_for_its_names_elsewhere():
    entries = {name: set(names) for name, names in name_tables.symbols().items()}
    assert entries == {name: set(stage.parameters) for name, stage in STAGES.items()}


def test_the_page_of_names_is_up_to_date():
    text = name_tables.PAGE.read_text("utf-8")
    assert text == name_tables.page(text), "run: python scripts/name_tables.py"


def test_the_page_shows_every_section_of_the_table_of_former_names():
    assert set(name_tables.SECTIONS) == set(former_names.table())


@pytest.mark.parametrize("name", sorted(name_tables.symbols()))
def test_names_elsewhere_have_a_column_on_the_page(name):
    for elsewhere in name_tables.symbols()[name].values():
        assert set(elsewhere) <= set(name_tables.SOURCES)


@pytest.mark.parametrize("name", MATCHERS)
def test_parameters_of_opencv_matchers_have_the_names_of_opencv(name):
    for parameter, elsewhere in name_tables.symbols()[name].items():
        opencv_name = elsewhere["opencv"]
        assert hasattr(MATCHERS[name], f"set{opencv_name[0].upper()}{opencv_name[1:]}")
        assert parameter == re.sub(r"(?<=[a-z0-9])[A-Z]", r"_\g<0>", opencv_name).lower()


def test_parameters_of_remove_speckles_are_those_of_opencv():
    names = name_tables.symbols()["refinement.remove_speckles"]
    for elsewhere in names.values():
        assert elsewhere["opencv"] in cv2.filterSpeckles.__doc__
