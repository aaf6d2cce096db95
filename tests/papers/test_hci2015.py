"""Honauer et al. 2015: what is said of measures and methods, on numbers whose answers are known, and the whole page on made scenes."""

import cv2
import numpy as np
import pytest
from failing_hci2015 import made, printed_r2, ranks_as

from stereo_framework.io import write_image, write_pfm
from stereo_framework.papers import find_paper
from stereo_framework.papers.hci2015 import figure5, figure11, figures1_to_5, orderings, rankings
from stereo_framework.papers.hci2015.runs import GEOMETRIC, dense
from stereo_framework.papers.reproduce import reproduce

ROWS, COLUMNS_OF_IMAGE, LEVELS = 100, 240, 24


def truth_of_scene():
    """A slanted wall, an object and thin bars before it; exact in float32."""
    truth = np.tile((4 + np.arange(COLUMNS_OF_IMAGE) / 32).astype(np.float32), (ROWS, 1))
    truth[25:80, 150:185] = 18
    for left in (60, 72, 84):
        truth[25:75, left : left + 3] = 19
    return truth


def write_scene(folder, seed):
    """A scene in the layout of Middlebury v3: nearer pixels hide farther ones, what neither shows is noise."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    truth = truth_of_scene()
    reference = cv2.GaussianBlur(random.integers(0, 256, (ROWS, COLUMNS_OF_IMAGE, 3)).astype(np.float32), (0, 0), 0.8)
    reference = np.clip(3 * (reference - 128) + 128, 0, 255).astype(np.uint8)
    match = random.integers(0, 256, reference.shape).astype(np.uint8)
    owner = np.full(truth.shape, -1)
    for y in range(ROWS):
        for x in np.argsort(truth[y], kind="stable"):
            if (target := x - round(float(truth[y, x]))) >= 0:
                match[y, target], owner[y, target] = reference[y, x], x
    columns = np.arange(COLUMNS_OF_IMAGE)
    targets = columns - np.rint(truth).astype(int)
    seen = (targets >= 0) & (np.take_along_axis(owner, np.maximum(targets, 0), axis=1) == columns)
    write_image(folder / "im0.png", reference)
    write_image(folder / "im1.png", match)
    write_image(folder / "mask0nocc.png", np.where(seen, 255, 128).astype(np.uint8))
    write_pfm(folder / "disp0GT.pfm", truth)
    (folder / "calib.txt").write_text(
        "cam0=[300 0 120; 0 300 50; 0 0 1]\ncam1=[300 0 120; 0 300 50; 0 0 1]\ndoffs=0\nbaseline=100\n"
        f"width={COLUMNS_OF_IMAGE}\nheight={ROWS}\nndisp={LEVELS}\nisint=0\nvmin=2\nvmax=20\n"
    )


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))


def test_figure_5_without_data(tmp_path, no_data):
    done = reproduce(find_paper("hci2015"), tmp_path / "out", item="figure5")
    # Other algorithms' numbers stand there, and nothing is made of them.
    assert len(done.comparisons) == 24
    assert all(c.ours is None and not c.judged for c in done.comparisons)
    assert done.totals[0].endswith("0 are shown without a verdict, 24 were not measured.")
    assert not done.statements
    assert done.status == 0
    page = done.page.read_text()
    assert "33.86" in page  # the published rows stay
    assert "scenes fetch middlebury-v3" in page


@pytest.mark.parametrize("value", [0.5, 1.87, 2.66])
def test_the_lowest_bar_that_can_be_so_porous(value):
    # Equation 10 of a bar of which the first row is found, written down; the middle column alone is as far from it as the outer ones.
    height = next(h for h in range(2, 1000) if np.mean(np.log1p(np.arange(h))) >= value)
    assert figure5._shortest(value) == max(height, 11)  # a structure has at least ten rows, and the search begins above


def _claim(name):
    [claim] = [c for c in find_paper("hci2015").claims if c.name == name]
    return claim


def test_what_figure_11_shows_holds_in_the_published_numbers():
    assert [c.asked(*printed_r2()).holds for c in figure11.CLAIMS] == [True] * 6


def test_figure_11_without_results():
    printed, _ = printed_r2()
    assert [c.asked(printed, {}).holds for c in figure11.CLAIMS] == [None] * 6


def test_opposed_measures():
    def verdict(*pairs):
        found = [made("Pipes", f"m{i}", F_por=a, F_fat=b) for i, (a, b) in enumerate(pairs)]
        return _claim("F_por_against_F_fat").asked(found)

    assert verdict((0.1, 0.3), (0.2, 0.2)).holds is True
    assert (
        "1 of 1 pairs that both tell apart by a tenth; m0 has F_por 0.1, F_fat 0.3; m1 has 0.2, 0.2"
        in verdict((0.1, 0.3), (0.2, 0.2)).figures
    )
    assert verdict((0.1, 0.2), (0.2, 0.3)).holds is False
    assert verdict((0.185, 0.3), (0.2, 0.2)).holds is None  # apart by less than a tenth
    assert verdict((0.0, 0.3), (0.2, 0.0)).holds is True
    assert verdict().holds is None
    # A quarter: of the six pairs of four methods two are enough, one is not.
    assert verdict((0.1, 0.1), (0.2, 0.3), (0.3, 0.2), (0.4, 0.4)).holds is False
    assert verdict((0.1, 0.2), (0.2, 0.3), (0.3, 0.1), (0.4, 0.4)).holds is True


def test_kinds_of_methods():
    found = [made("Pipes", "so", D_fuz=3.0), made("Pipes", "gc", D_fuz=2.0), made("Adirondack", "so", D_fuz=1.0)]
    statement = _claim("rows_are_fuzzy").asked(found)
    assert (statement.holds, statement.figures) == (True, "Pipes: D_fuz 3 against 2")
    found.append(made("Adirondack", "gc", D_fuz=2.0))
    assert _claim("rows_are_fuzzy").asked(found).holds is False


def test_flat_pieces_and_fractions():
    found = [made("Pipes", "window", P_bump=2.0, P_orient=20.0), made("Pipes", "gc", P_bump=0.5, P_orient=10.0)]
    assert _claim("flat_pieces").asked(found).holds is True
    fine = made("Pipes", "window_subpixel", P_bump=1.9, P_orient=15.0, P_off=0.4, D_fat=0.509)
    assert _claim("fractions").asked([found[0], fine]).holds is True


@pytest.mark.parametrize(("widths", "holds"), [(0.72, True), (0.771, False), (0.769, True), (0.669, False)])
def test_the_second_unit_of_fuzziness(widths, holds):
    assert _claim("fuzziness_in_bands").asked([made("Adirondack", "sgbm", D_fuz=7 * widths)]).holds is holds
    table = orderings._text_values([made("Adirondack", "sgbm", D_fuz=7 * widths)])
    units = {row[2].text: row[4].text for row in table.rows if row[1].text == "D_fuz"}
    # The paper's equation as printed comes first.
    assert list(units) == ["as printed", "widths of the band"]
    assert units["widths of the band"].startswith(f"{widths:.2f}")
    assert units["as printed"].startswith(f"{7 * widths:.2f}")


def test_rankings():
    found = [
        made("Pipes", "a", RMS=1.0, D_fat=0.9),
        made("Pipes", "b", RMS=2.0, D_fat=0.1),
        made("Pipes", "c", RMS=3.0, D_fat=0.5),
    ]
    ranks = rankings._ranks(found)
    assert ranks["RMS"] == {"a": 1, "b": 2, "c": 3}
    assert ranks["D_fat"] == {"b": 1, "c": 2, "a": 3}
    assert ranks["P_bump"] == {"a": 1, "b": 1, "c": 1}
    # First by RMS, and first in four of nine metrics, or in five.
    assert _claim("rms_is_limited").asked({"RMS": {"a": 1, "b": 2}} | _first_in(4)).holds is True
    assert _claim("rms_is_limited").asked({"RMS": {"a": 1, "b": 2}} | _first_in(5)).holds is False
    assert _claim("rankings_reveal").asked(ranks_as("abcd", "dabc")).holds is True
    assert _claim("rankings_reveal").asked(ranks_as("abcd", "adbc")).holds is False


def _first_in(count):
    return {c: {"a": 1 if i < count else 2, "b": 2 if i < count else 1} for i, c in enumerate(GEOMETRIC)}


def test_maps_of_the_same_rms():
    scores = {"a": {"RMS": 10.0}, "b": {"RMS": 10.4}, "c": {"RMS": 10.2}, "d": {"RMS": 20.0}}
    for name, value in {"a": 0.1, "b": 0.2, "c": 0.9, "d": 9.0}.items():
        scores[name] |= dict.fromkeys(GEOMETRIC, value)
    assert figures1_to_5._same_rms(scores) == ("a", "c")  # d differs more, but not at the same RMS
    assert figures1_to_5._same_rms({"a": scores["a"], "d": scores["d"]}) is None


def test_a_method_with_one_sparse_map_is_not_dense():
    found = [made("Pipes", "a"), made("Adirondack", "a", matched=0.9), made("Pipes", "b")]
    assert [r.method for r in dense(found)] == ["b"]


# The page


@pytest.mark.slow
def test_the_whole_page_on_made_scenes(tmp_path, no_data):
    for seed, name in enumerate(("Pipes", "Adirondack", "PlaytableP")):
        write_scene(tmp_path / "data/middlebury-v3/trainingQ" / name, seed)
    done = reproduce(find_paper("hci2015"), tmp_path / "out", data=tmp_path / "data")
    assert len(done.missing) == 7
    by_text = {s.text.partition(" ")[0]: s for s in done.checks}
    assert by_text["Scanline"].holds is not None
    results = done.outcomes["scores"].blocks[0].rows
    best = {row[0].text: row for row in results}
    assert len(best) == 15
    # A textured scene without noise: what is matched well is measured as good.
    header = done.outcomes["scores"].blocks[0].header
    assert best["sgbm"][header.index("Bad4.0")].value < 5
    assert best["window"][header.index("D_fat")].value > best["gc"][header.index("D_fat")].value
    assert {p.name for p in (tmp_path / "out/figures").glob("figure2*")} == {
        f"figure2_Adirondack_{method}.png" for method in ("window", "so", "gc", "sgbm")
    }
    errors = done.outcomes["subset_errors"].blocks[0].rows
    assert [row[1].text for row in errors] == ["M_b", "M_f", "M_e", *["M_p"] * 3, "M_s", "M_s", "M_n"]
    assert all(0 <= cell.value <= 1 for row in errors for cell in row[2:] if cell.value is not None)
    figure11_rows = done.outcomes["figure11"].blocks[-1].rows
    assert [row[1].text for row in figure11_rows] == ["published", "ours"] * 5
    assert all(0 <= cell.value <= 1 for row in figure11_rows for cell in row[2:] if cell.value is not None)


def test_subsets_of_a_real_scene(data, tmp_path):
    if not (data / "middlebury-v3/trainingQ/Pipes").is_dir():
        pytest.skip(f"no middlebury-v3/trainingQ/Pipes under {data}")
    done = reproduce(find_paper("hci2015"), tmp_path, item="figure3", data=data, quick=True)
    assert (tmp_path / "figures/figure3_Pipes.png").is_file()
    assert not done.missing
