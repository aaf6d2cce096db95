"""HTML pages: what stands in them, and, in a browser, what they do."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.io import output_folder, write_bytes, write_image
from stereo_framework.io.output_folders import RECORD
from stereo_framework.page.page import (
    Curves,
    Details,
    Folded,
    Page,
    Picture,
    Section,
    Statement,
    Text,
)
from stereo_framework.tables.tables import Cell, Table


@pytest.fixture
def page(tmp_path):
    write_image(tmp_path / "p.png", np.zeros((20, 30), np.uint8))
    picture = (tmp_path / "p.png").read_bytes()
    rows = [
        [Cell("ssd"), Cell("5.23", 5.23), Cell("-")],
        [Cell("dp <b>"), Cell("4.12", 4.12, "best", "a hint"), Cell("9", 9.0)],
        [Cell("gc"), Cell("10.00", 10.0, "the check fails"), Cell("8", 8.0, "best")],
    ]
    blocks = [
        Text("A & B"),
        Table(["method", "bad (%)", "seconds"], rows, 1, "scores", ["a note"]),
        Picture(
            "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", "a dot", "the caption"
        ),
        Picture(picture, "a black picture"),
        Picture(picture, "the same again"),
        Statement("it holds", True, "1 < 2"),
        Statement("it does not", False, "2 < 1"),
        Statement("who knows", None, "no data"),
        Details("parameters", "a: 1\nb: <2>"),
        Folded("more", [Table(["key"], [["inside"]], 1, "inner")]),
    ]
    return Page(
        "Title & more", "The lead.", [Section("First", blocks), Section("Second", [Text("end")])]
    )


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
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"page.html", "assets", RECORD}
    text = (tmp_path / "new" / "page.html").read_text()
    reader = _Reader()
    reader.feed(text)
    assert reader.open == []
    # Nothing is fetched from anywhere, and every picture is told in words.
    assert all(link.startswith(("data:", "#", "assets/")) for link in reader.links)
    assert all(picture["alt"] for picture in reader.pictures)
    assert len(reader.pictures) == 3
    assert "A &amp; B" in text
    assert "dp &lt;b&gt;" in text
    assert "b: &lt;2&gt;" in text
    assert re.search(r'data-value="4.12" class="best"', text)
    # What is wrong is told in words too.
    assert 'class="bad">10.00<span class="unseen"> (the check fails)</span>' in text
    assert "inside" in text


def test_pictures_beside_a_page(page, tmp_path):
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("page-8.js", "page-9-1.js", "notes.txt"):
        (assets / name).write_text("mine")
    with output_folder(tmp_path):
        write_bytes(assets / "page-9.js", b"earlier")
    page.write(tmp_path / "page.html")
    reader = _Reader()
    reader.feed((tmp_path / "page.html").read_text())
    # What is shown twice is stored once. What an earlier page of this name left goes, what others have put there stays.
    assert [picture["src"] for picture in reader.pictures] == [
        "assets/page-0.svg",
        "assets/page-1.png",
        "assets/page-1.png",
    ]
    assert {path.name for path in assets.iterdir()} == {
        "page-0.svg",
        "page-1.png",
        "page-8.js",
        "page-9-1.js",
        "notes.txt",
    }
    assert all(picture["loading"] == "lazy" for picture in reader.pictures)
    assert (assets / "page-1.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_that_cannot_be_written(page, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/assets/page-0\.svg: the file cannot be written"):
        page.write(tmp_path / "file" / "page.html")


def test_in_a_browser(page, tmp_path, open_page):
    page.write(tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html", width=390)
    # On a phone only tables scroll sideways, not the page.
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390

    def column(i):
        return tab.eval_on_selector_all(
            "table:first-of-type tbody tr",
            f"rows => rows.slice(0, 3).map(row => row.cells[{i}].firstChild.textContent)",
        )

    tab.click("th:nth-child(2) button")
    assert column(1) == ["4.12", "5.23", "10.00"]
    assert tab.get_attribute("th:nth-child(2)", "aria-sort") == "ascending"
    tab.focus("th:nth-child(2) button")
    tab.keyboard.press("Enter")
    assert column(1) == ["10.00", "5.23", "4.12"]
    for expected in (["8", "9", "-"], ["9", "8", "-"]):  # what has no value stays last
        tab.click("th:nth-child(3) button")
        assert column(2) == expected
    assert tab.eval_on_selector_all(
        "figure img", "all => all.every(picture => picture.complete && picture.naturalWidth > 0)"
    )
    tab.click("summary:has-text('more')")
    assert tab.is_visible("text=inside")


def test_tables_are_taken_along(tmp_path, open_page):
    rows = [
        [Cell("a, b_1"), Cell.number(1.23456, ".2f", mark="best")],
        [Cell('say "x"'), Cell("-")],
    ]
    Page("Title", "", [Section("One", [Table(["method", "bad %"], rows)])]).write(
        tmp_path / "p.html"
    )
    tab = open_page(tmp_path / "p.html")

    def saved(kind):
        with tab.expect_download() as download:
            tab.click(f"button:text-is('{kind}')")
        return download.value.path().read_text(), download.value.suggested_filename

    assert saved("CSV") == ('method,bad %\n"a, b_1",1.23456\n"say ""x""",-\n', "table.csv")
    text, name = saved("LaTeX")
    assert name == "table.tex"
    assert text.splitlines()[0] == r"\begin{tabular}{lr}"
    assert text.splitlines()[2:6] == [
        r"method & bad \% \\",
        r"\midrule",
        r"a, b\_1 & \textbf{1.23} \\",
        r'say "x" & - \\',
    ]


def test_curves_are_drawn_as_wide_as_their_place_with_the_best_ringed(tmp_path, open_page):
    lines = {"a": [(9, 5.0), (3, 7.0), (None, 6.0)], "b <i>": [(3, 1.0), (9, 2.0)]}
    Page(
        "Sweep", "", [Section("One", [Curves("caption", "size", "bad (%)", lines, "lower")])]
    ).write(tmp_path / "p.html")
    tab = open_page(tmp_path / "p.html", width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    told = tab.eval_on_selector_all(
        ".chart circle title", "all => all.map(title => title.textContent)"
    )
    assert told == ["a, 3: 7", "a, 9: 5", "a, none: 6", "b <i>, 3: 1", "b <i>, 9: 2"]
    rings = tab.eval_on_selector_all(
        ".chart circle[r='7']", "all => all.map(ring => ring.previousSibling.textContent)"
    )
    assert rings == ["a, 9: 5", "b <i>, 3: 1"]
    assert tab.eval_on_selector_all(
        ".curves .legend span", "all => all.map(entry => entry.textContent)"
    ) == ["a", "b <i>"]


def test_headings_and_first_columns_stay_in_view(tmp_path, open_page):
    rows = [
        [Cell(f"scene {i}"), Cell("a method"), *(Cell.number(10.0 * i + k) for k in range(30))]
        for i in range(60)
    ]
    table = Table(["scene", "method", *(f"metric {k}" for k in range(30))], rows, 2, "many")
    Page("Wide", sections=[Section("One", [table])]).write(tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html")

    def place(selector):
        return tab.eval_on_selector(
            selector,
            "cell => [cell.getBoundingClientRect().left, cell.getBoundingClientRect().top]",
        )

    places = [
        "thead th:nth-child(1)",
        "thead th:nth-child(2)",
        "thead th:nth-child(9)",
        "tbody tr:nth-child(40) td:nth-child(2)",
    ]
    before = [place(selector) for selector in places]
    tab.eval_on_selector(".scroll", "box => box.scrollTo(500, 400)")
    after = [place(selector) for selector in places]
    assert after[0] == before[0]
    assert after[1] == before[1]
    assert after[2] == [before[2][0] - 500, before[2][1]]
    assert after[3] == [before[3][0], before[3][1] - 400]
    # On a phone two columns would take all room.
    tab.set_viewport_size({"width": 300, "height": 800})
    tab.wait_for_function("!document.querySelector('.fixed-keys')")
    narrow = place(places[1])
    tab.eval_on_selector(".scroll", "box => box.scrollTo(540, 0)")
    assert place(places[0])[0] == before[0][0] - 12  # the page's margin is 12 px narrower there
    assert place(places[1])[0] < narrow[0]


def test_numbers_of_cells():
    assert Cell.number(2.345, ".1f", mark="bad", hint="rank 1") == Cell(
        "2.3", 2.345, "bad", "rank 1"
    )
    assert Cell.number(-0.5, "+.2f") == Cell("-0.50", -0.5)
    # What is missing is shown, and sorts like a text.
    assert Cell.number(None) == Cell.number(float("nan")) == Cell("-")
