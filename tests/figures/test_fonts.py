"""Names in all letters: fonts of the system lend those that matplotlib's own font lacks, and one line tells where none has them."""

import warnings

import matplotlib
import numpy as np
import pytest
from cli_parts import invoke

from stereo_framework import load_scene
from stereo_framework.figures import saving
from stereo_framework.figures.disparity_figures import disparity_figure
from stereo_framework.io import write_disparity

LENT = "\u1d81"
"""A letter of STIX, which comes with matplotlib as DejaVu Sans does, but not of that."""
NOBODYS = "\U00012000"
"""A sign of cuneiform."""


def rendered(title):
    return saving.rendered(disparity_figure(np.zeros((200, 300), np.float32), (0, 9), title))


def test_letters_are_lent(monkeypatch):
    monkeypatch.setattr(saving, "FURTHER_FONTS", ("no such font", "STIXGeneral"))
    # If an earlier figure has added fonts of this machine, no further fonts are added.
    with matplotlib.rc_context({"font.family": ["sans-serif"]}), warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = [rendered(f"Ωμέγα 😀 {letter}") for letter in (LENT, " ")]
    assert not np.array_equal(*shown)


def test_a_user_s_own_fonts_stay():
    with matplotlib.rc_context({"font.family": ["DejaVu Serif"]}):
        rendered("a")
        assert matplotlib.rcParams["font.family"] == ["DejaVu Serif"]


@pytest.mark.filterwarnings("always:Glyph")
@pytest.mark.parametrize(("name", "told"), [("Ωμέγα", 0), (NOBODYS, 1)])
def test_names_of_maps_that_no_font_has(name, told, tmp_path, monkeypatch, small_scenes):
    monkeypatch.chdir(tmp_path)
    for map_name in (name, "other"):
        write_disparity(f"{map_name}.pfm", load_scene("synthetic/slanted").truth)
    result = invoke(
        "compare", f"{name}.pfm", "other.pfm", "--scene", "synthetic/slanted", "--out", "pictures"
    )
    assert result.exit_code == 0, result.output
    line = "warning: pictures show boxes for letters that no font here has; install one that has them, such as Noto Sans CJK"
    assert result.stderr.splitlines() == [line] * told
