"""Scenes side by side in a browser: small pictures, and the viewer with its values, layers, blinking and keys."""

import base64

import numpy as np
import pytest

from stereo_framework.core.scene import Scene
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.grid import colour_table
from stereo_framework.page.page import Details, Page, Section, Statement
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.tables.tables import Cell, Table

ROWS, COLUMNS = 24, 32
NO_VALUE, MISSING = (178, 178, 178), (140, 90, 160)


def _maps():
    """Truth, and two methods: one half a pixel too near with holes, one that is two pixels too far in its lower half."""
    truth = np.add.outer(np.zeros(ROWS), np.arange(COLUMNS) / 4).astype(np.float32)
    truth[0, 0] = np.nan
    near, far = truth + 0.5, truth.copy()
    near[0, 0] = far[0, 0] = 1
    near[20, 10] = np.nan
    far[12:] -= 2
    return truth, near, far


def _scenes():
    truth, near, far = _maps()
    confidence = np.tile(np.linspace(0, 1, COLUMNS, dtype=np.float32), (ROWS, 1))
    image = np.random.default_rng(3).integers(0, 256, (ROWS, COLUMNS, 3), np.uint8)
    known = Scene.from_images(image, image, (-2, 8), truth=truth, name="known")
    own = Scene.from_images(image, image, (-2, 8), name="own")
    shown = {"near": stored_map(near, confidence, "12 %"), "far": stored_map(far)}
    return Scenes(
        [scene_row(known, shown, resolve("taxonomy2002")), scene_row(own, shown)], "Side by side"
    )


@pytest.fixture
def page(tmp_path):
    Page("Maps", "A lead.", [Section("Maps", [_scenes()])]).write(tmp_path / "page.html")
    return tmp_path / "page.html"


def _colours(tab, selector):
    """All pixels of a canvas of the map's size, uint8 (rows, columns, 3)."""
    text = tab.eval_on_selector(
        selector,
        "c => btoa(String.fromCharCode(...c.getContext('2d').getImageData(0, 0, c.width, c.height).data))",
    )
    width, height = tab.eval_on_selector(selector, "c => [c.width, c.height]")
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)[..., :3]


def _coloured(name, part, missing):
    level = np.clip(255 * part, 0, 255)
    near = colour_table(name)[np.floor(np.nan_to_num(level) + 0.5).astype(int)]
    near[np.isnan(part)] = missing
    return near


def _thumb(row, cell):
    return f".thumb[data-row='{row}'][data-cell='{cell}']"


def _open(tab, row, cell):
    tab.click(_thumb(row, cell))
    tab.wait_for_selector(f"dialog[data-ready={'own' if row else 'known'}]")


def _values(tab):
    """What the viewer says of each picture at the pointer: disparity, error, confidence."""
    rows = "lines => lines.map(line => [...line.cells].slice(2).map(cell => cell.textContent))"
    return {name: rest for name, *rest in tab.eval_on_selector_all("dialog tbody tr", rows)}


def _point(tab, x, y):
    """Move the pointer to the middle of a pixel of a picture that fills the stage."""
    box = tab.locator("dialog canvas[tabindex]").bounding_box()
    scale = min(box["width"] / COLUMNS, box["height"] / ROWS)
    left, top = (box["width"] - COLUMNS * scale) / 2, (box["height"] - ROWS * scale) / 2
    tab.mouse.move(box["x"] + left + (x + 0.5) * scale, box["y"] + top + (y + 0.5) * scale)


def _shown(tab):
    return tab.get_attribute("dialog", "data-shown")


@pytest.mark.parametrize("single_file", [True, False])
def test_small_pictures_have_the_colours_of_the_figures(single_file, tmp_path, open_page):
    Page("Maps", sections=[Section("Maps", [_scenes()])]).write(
        tmp_path / "page.html", single_file=single_file
    )
    assert (tmp_path / "assets").exists() != single_file
    tab = open_page(tmp_path / "page.html")
    truth, near, far = _maps()
    tab.wait_for_selector(f"{_thumb(0, 3)}[data-drawn=disparity]")
    np.testing.assert_array_equal(
        _colours(tab, f"{_thumb(0, 3)} canvas"), _coloured("viridis", (far + 2) / 10, NO_VALUE)
    )
    tab.click("text=error")
    for cell, values in ((2, near), (3, far)):
        tab.wait_for_selector(f"{_thumb(0, cell)}[data-drawn=error]")
        found = _colours(tab, f"{_thumb(0, cell)} canvas")
        np.testing.assert_array_equal(
            found, _coloured("RdBu_r", (values - truth + 4) / 8, NO_VALUE)
        )
    tab.click("text=bad pixels")
    tab.wait_for_selector(f"{_thumb(0, 2)}[data-drawn='bad pixels']")
    expected = np.full((ROWS, COLUMNS, 3), 255, np.uint8)
    expected[20, 10] = MISSING
    np.testing.assert_array_equal(_colours(tab, f"{_thumb(0, 2)} canvas"), expected)
    tab.wait_for_selector(f"{_thumb(0, 3)}[data-drawn='bad pixels']")
    # Two pixels off is bad in the lower half; what the match image hides is told apart.
    image = np.zeros((ROWS, COLUMNS), np.uint8)
    masks = region_masks(Scene.from_images(image, image, truth=truth), resolve("taxonomy2002"))
    lower = np.arange(ROWS)[:, None] >= 12
    assert (masks["occ"] & lower).any()
    expected = np.select([masks["nonocc"] & lower, masks["occ"] & lower], [0, 200], 255)
    np.testing.assert_array_equal(_colours(tab, f"{_thumb(0, 3)} canvas")[..., 0], expected)
    tab.click("text=confidence")
    tab.wait_for_selector(f"{_thumb(0, 2)}[data-drawn=confidence]")
    grey = _colours(tab, f"{_thumb(0, 2)} canvas")[5, :, 0]
    assert (grey[0], grey[-1]) == (0, 255)
    assert (np.diff(grey.astype(int)) >= 0).all()


def test_the_values_under_the_pointer(page, open_page):
    tab = open_page(page)
    _open(tab, 0, 2)
    truth, near, far = _maps()
    for x, y in ((9, 17), (31, 0), (0, 23)):
        _point(tab, x, y)
        assert tab.text_content("dialog aside [aria-live]") == f"column {x}, row {y}"
        found = _values(tab)
        assert found["truth"][0] == f"{truth[y, x]:.2f}"
        assert found["near"][:2] == [f"{near[y, x]:.2f}", "+0.50"]
        assert found["far"][:2] == [
            f"{far[y, x]:.2f}",
            f"{far[y, x] - truth[y, x]:+.2f}" if y >= 12 else "0.00",
        ]
        # Eight bits between 0 and 1, two digits.
        assert float(found["near"][2]) == pytest.approx(x / 31, abs=0.5 / 255 + 0.005 + 1e-6)
    _point(tab, 10, 20)
    assert _values(tab)["near"][:2] == ["–", "–"]
    # Zooming keeps the pixel under the pointer, and the other scene keeps the view.
    tab.mouse.wheel(0, -300)
    tab.keyboard.press("ArrowDown")
    tab.wait_for_selector("dialog[data-ready=own]")
    tab.wait_for_function(
        "document.querySelector('dialog aside [aria-live]').textContent === 'column 10, row 20'"
    )
    assert "truth" not in _values(tab)
    # Dragging moves the picture with the pointer.
    tab.mouse.down()
    tab.mouse.move(300, 300)
    tab.mouse.up()
    assert tab.text_content("dialog aside [aria-live]") == "column 10, row 20"


def test_blinking(page, open_page):
    tab = open_page(page)
    _open(tab, 0, 2)
    assert _shown(tab) == "near"
    tab.click("text=blink A/truth")
    for name in ("truth", "near", "truth"):
        tab.wait_for_selector(f"dialog[data-shown={name}]")
    tab.click("text=blink A/truth")
    assert _shown(tab) == "near"
    tab.check("dialog tr:has-text('far') input[name=b]")
    tab.click("text=blink A/B")
    assert tab.get_attribute("dialog [data-do=blink]", "aria-pressed") == "true"
    for name in ("far", "near"):
        tab.wait_for_selector(f"dialog[data-shown={name}]")
    tab.keyboard.press("Escape")
    assert not tab.is_visible("dialog")


def test_sliders(page, open_page):
    tab = open_page(page)
    _open(tab, 0, 2)

    def slide(name, *keys):
        tab.focus(f"input[data-do='{name}']")
        for key in keys:
            tab.keyboard.press(key)

    def pixel(x, y):
        """Colour of the stage at a place given in parts of it."""
        read = "([c, x, y]) => [...c.getContext('2d').getImageData(c.width * x, c.height * y, 1, 1).data].slice(0, 3)"
        return tuple(tab.evaluate(read, [tab.query_selector("dialog canvas[tabindex]"), x, y]))

    table = colour_table("RdBu_r")
    tab.click("dialog [data-do=error]")
    assert pixel(0.5, 0.25) == tuple(table[round(127.5 * (1 + 0.5 / 4))])
    slide("error to", "ArrowLeft", "ArrowLeft")
    assert tab.text_content("label:has(input[data-do='error to']) output") == "±1 px"
    assert pixel(0.5, 0.25) == tuple(table[round(127.5 * 1.5)])
    # B covers the right half; it has no error up there.
    tab.check("dialog tr:has-text('far') input[name=b]")
    slide("wipe", *["PageDown"] * 5)
    assert (pixel(0.3, 0.25), pixel(0.8, 0.25)) == (
        tuple(table[round(127.5 * 1.5)]),
        tuple(table[128]),
    )
    slide("wipe", "End")
    slide("image", "End")
    image = pixel(0.5, 0.25)
    slide("image", "Home")
    assert image != pixel(0.5, 0.25)
    tab.click("dialog [data-do='bad pixels']")
    assert pixel(0.5, 0.25) == (255, 255, 255)
    slide("bad above", "Home")
    assert pixel(0.5, 0.25) == (0, 0, 0)


def test_the_keyboard_alone_and_errors_without_truth(page, open_page):
    tab = open_page(page)
    tab.focus(_thumb(1, 2))
    tab.keyboard.press("Enter")
    tab.wait_for_selector("dialog[data-ready=own]")
    # Without truth an error is the difference from B.
    tab.keyboard.press("2")
    assert tab.get_attribute("dialog [data-do=error]", "aria-pressed") == "true"
    assert "against far" in tab.text_content("dialog .legend")
    tab.focus("dialog canvas[tabindex]")
    for key, name in (
        ("s", "far"),
        ("s", "near"),
        ("ArrowRight", "far"),
        ("ArrowLeft", "near"),
        ("ArrowLeft", "image"),
    ):
        tab.keyboard.press(key)
        assert tab.text_content("dialog h2") == f"own: {name}"
    tab.keyboard.press("ArrowUp")
    tab.wait_for_selector("dialog[data-ready=known]")
    tab.keyboard.press("t")
    assert tab.get_attribute("dialog [data-do=blink]", "aria-pressed") == "true"
    tab.keyboard.press("b")
    assert tab.get_attribute("dialog [data-do=blink]", "aria-pressed") == "false"
    places = [tab.text_content("dialog aside [aria-live]")]
    for key in ("+", "Shift+ArrowRight", "0"):
        tab.keyboard.press(key)
        places.append(tab.text_content("dialog aside [aria-live]"))
    assert places == ["column 16, row 12", "column 16, row 12", places[2], "column 16, row 12"]
    assert places[2] not in places[:2]
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.dataset") == {
        "row": "1",
        "cell": "2",
        "drawn": "disparity",
    }


def test_a_page_without_its_assets_says_so(page, open_page):
    for file in (page.parent / "assets").iterdir():
        file.write_text("")  # as a damaged copy; a missing file would be told in the console, too
    tab = open_page(page)
    tab.wait_for_function("document.querySelector('.thumb').title.includes('belongs to this page')")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_contrast(scheme, tmp_path, open_page):
    best, bad = Cell("1.00", 1.0, "best"), Cell("2.00", 2.0, "bad")
    table = Table(
        ["a", "b", "c"], [["row", best, bad], ["other", None, bad]], 1, "numbers", ["a note"]
    )
    blocks = [
        table,
        Statement("It does", True, "1 < 2", "section 1"),
        Statement("Does it", None, "-"),
        Details("more", "text"),
    ]
    sections = [Section("Maps", [_scenes()]), Section("All kinds", blocks)]
    Page("Maps", "A lead.", sections).write(tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html", scheme=scheme)
    tab.click("summary")
    tab.hover("td.best")
    _open(tab, 0, 2)
    assert tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
    # WCAG 2.1, 1.4.3: relative luminances of text and what lies behind it, 4.5 : 1.
    poor = tab.evaluate(
        """() => {
        const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const over = colours => {
            context.clearRect(0, 0, 1, 1);
            for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
            return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const light = rgb => {
            const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const base = matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff";
        const poor = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const node = walker.currentNode.parentElement;
            if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || node.closest("script, style, :disabled")) continue;
            const behind = [];
            for (let one = node; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
            const [a, b] = [light(over([base, ...behind])), light(over([base, ...behind, getComputedStyle(node).color]))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) poor.push([node.textContent.slice(0, 30), ratio]);
        }
        return poor;
    }"""
    )
    assert poor == []
