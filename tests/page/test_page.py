"""HTML pages: what stands in them, and, in a browser, what they do."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from stereo_framework.errors import DataError
from stereo_framework.io import write_image
from stereo_framework.page.page import Cell, Details, Page, PageTable, Picture, Section, Statement, Text, Viewer, mark_best


@pytest.fixture
def page(tmp_path):
    pictures = []
    for level in (0, 255):
        write_image(tmp_path / "p.png", np.full((20, 30), level, np.uint8))
        pictures.append((tmp_path / "p.png").read_bytes())
    rows = [
        [Cell("ssd"), Cell("5.23", 5.23), Cell("-")],
        [Cell("dp <b>"), Cell("4.12", 4.12, hint="a hint"), Cell("9", 9.0)],
        [Cell("gc"), Cell("10.00", 10.0, "bad"), Cell("8", 8.0)],
    ]
    blocks = [
        Text("A & B"),
        PageTable("scores", ["method", "bad (%)", "seconds"], mark_best(rows, ["", "lower", "lower"]), "a note"),
        Picture("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", "a dot", "the caption"),
        Picture(pictures[0], "a black picture"),
        Viewer("tsukuba, ssd", [("truth", pictures[0]), ("result", pictures[1]), ("error", pictures[0])]),
        Statement("it holds", True, "1 < 2"),
        Statement("it does not", False, "2 < 1"),
        Statement("who knows", None, "no data"),
        Details("parameters", "a: 1\nb: <2>"),
    ]
    return Page("Title & more", "The lead.", [Section("First", blocks), Section("Second", [Text("end")])])


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links, self.pictures = [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ("meta", "link", "img", "br", "input"):
            self.open.append(tag)
        self.links += [values[k] for k in ("href", "src") if k in values]
        self.pictures += [values] * (tag == "img")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_file_is_whole_and_holds_everything(page, tmp_path):
    page.write(tmp_path / "new" / "page.html")
    text = (tmp_path / "new" / "page.html").read_text()
    reader = _Reader()
    reader.feed(text)
    assert reader.open == []
    # Nothing is fetched from anywhere, and every picture is told in words.
    assert all(link.startswith(("data:", "#")) for link in reader.links)
    assert all(picture["alt"] for picture in reader.pictures)
    assert len(reader.pictures) == 5
    assert "A &amp; B" in text
    assert "dp &lt;b&gt;" in text
    assert "b: &lt;2&gt;" in text
    assert re.search(r'data-value="4.12" class="best"', text)
    assert re.search(r'class="bad"', text)
    # The viewer's first and last picture are the same: it is stored once there.
    assert text.count("data-same=") == 1


def test_a_page_that_cannot_be_written(page, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/page.html: cannot be written"):
        page.write(tmp_path / "file" / "page.html")


def test_the_best_of_a_column():
    rows = [[Cell("a", 1.0), Cell("b", 1.0)], [Cell("c", 2.0), Cell("-")], [Cell("d", 1.0), Cell("-")]]
    lower = mark_best(rows, ["lower", "lower"])
    assert [row[0].mark for row in lower] == ["best", "", "best"]
    assert [row[1].mark for row in lower] == ["", "", ""]  # one number is no contest
    assert [row[0].mark for row in mark_best(rows, ["higher", ""])] == ["", "best", ""]
    assert rows[0][0].mark == ""


def test_in_a_browser(page, tmp_path, browser):
    page.write(tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("requestfailed", lambda request: errors.append(request.url[:80]))
    tab.goto(f"file://{tmp_path}/page.html")
    # On a phone only tables scroll sideways, not the page.
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390

    def column(i):
        return tab.eval_on_selector_all("tbody tr", f"rows => rows.map(row => row.cells[{i}].firstChild.textContent)")

    tab.click("th:nth-child(2) button")
    assert column(1) == ["4.12", "5.23", "10.00"]
    assert tab.get_attribute("th:nth-child(2)", "aria-sort") == "ascending"
    tab.click("th:nth-child(2) button")
    assert column(1) == ["10.00", "5.23", "4.12"]
    for expected in (["8", "9", "-"], ["9", "8", "-"]):  # what has no value stays last
        tab.click("th:nth-child(3) button")
        assert column(2) == expected

    def shown():
        return tab.eval_on_selector_all(".stage img", "all => all.map(picture => !picture.hidden)")

    assert shown() == [True, False, False]
    tab.click("text=result")
    assert shown() == [False, True, False]
    tab.focus(".stage")
    tab.keyboard.press("ArrowRight")
    assert shown() == [False, False, True]
    tab.click("text=blink")
    tab.wait_for_function("!document.querySelectorAll('.stage img')[1].hidden")
    tab.wait_for_function("!document.querySelectorAll('.stage img')[2].hidden")
    tab.click("text=blink")
    tab.click("[data-do=in]")
    assert tab.eval_on_selector(".stage img:not([hidden])", "picture => picture.getBoundingClientRect().width") == 60
    assert tab.eval_on_selector(".stage img:nth-child(3)", "picture => picture.naturalWidth") == 30
    assert errors == []


def test_numbers_of_cells():
    assert Cell.number(2.345, ".1f", mark="bad", hint="rank 1") == Cell("2.3", 2.345, "bad", "rank 1")
    assert Cell.number(-0.5, "+.2f") == Cell("-0.50", -0.5)
    # What is missing is shown, and sorts like a text.
    assert Cell.number(None) == Cell.number(float("nan")) == Cell("-")
