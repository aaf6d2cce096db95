"""The section of a page for choosing among methods: what stands in it, and, in a browser, what it does."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from made_results import HCI, SCENES, scored, sweep
from scipy.stats import linregress

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.page.choosing_charts import choosing_blocks
from stereo_framework.page.page import Charts, Page, PageTable, Section, Text
from stereo_framework.page.run_page import run_page
from stereo_framework.script.report import Chart
from stereo_framework.sweep import Store
from stereo_framework.tables.standings import standings

A, B = SCENES
FAT, OFF, FRAG = "hci_foreground_fattening", "hci_offset", "hci_fragmentation"


@pytest.fixture
def results():
    """Thick at edges but right on planes, the other way round, and in between with a name that closes scripts and without a score."""
    return scored(
        {
            "edges": {A: {FAT: 0.1, OFF: 9.0}, B: {FAT: 0.2, OFF: 8.0}},
            "planes": {A: {FAT: 0.9, OFF: 0.5}, B: {FAT: 0.7, OFF: 0.4}},
            "</script><b>": {A: {FAT: 0.5, OFF: 5.0}, B: {FAT: 0.5, OFF: 4.0, FRAG: math.nan}},
        }
    )


def _data(page):
    """The data as a browser gets them."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page.html(), re.DOTALL)[1])


def _page(blocks):
    return Page("Choosing", sections=[Section("Choosing", blocks)])


def test_the_data_are_those_of_the_standings(results):
    data, found = _data(_page(choosing_blocks(results))), standings(results)
    assert [m["name"] for m in data["methods"]] == list(found.methods)
    for key, table in (("scores", found.means), ("shares", found.normalized)):
        shown = np.array([m[key] for m in data["methods"]], float)
        np.testing.assert_allclose(shown, table, rtol=1e-5)  # six digits
    assert data["methods"][2]["scores"][list(HCI).index(FRAG)] is None
    assert [m["symbol"] for m in data["measures"]] == [m.symbol for m in HCI_METRICS.values()]


def test_drawings_stand_in_the_page_and_the_table(results):
    lead, charts, table = choosing_blocks(results)
    assert "missing scores count as the worst: </script><b> (hci_fragmentation)" in lead.text
    assert isinstance(charts, Charts)
    assert list(charts.pictures) == ["stacked_bars", "radar", "parallel_coordinates", "histogram"]
    assert all(picture.content.startswith("<svg") for picture in charts.pictures.values())
    assert isinstance(table, PageTable)
    assert table.header[1:] == [m.symbol for m in HCI_METRICS.values()]
    i, j = list(HCI).index(FAT), list(HCI).index(OFF)
    pairs = [(r.statistics[FAT], r.statistics[OFF]) for r in results]
    # The same sums in another order.
    assert table.rows[i][1 + j].value == pytest.approx(linregress(*zip(*pairs, strict=True)).rvalue ** 2, abs=1e-12)
    assert table.rows[i][1 + j].hint == "6 pairs"
    assert table.rows[i][1 + i].text == ""
    assert "5 to 6 pairs of scene and method, those that lack a score left out" in table.note
    html = _page([lead, charts, table]).html()
    assert html.count("<b>") == 0


@pytest.mark.slow
def test_measures_that_no_scene_has_and_too_many_methods(results):
    bare = scored({f"m{i:02}": {A: {FRAG: math.nan, FAT: 0.01 * i}} for i in range(25)})
    lead, charts, _ = choosing_blocks(bare)
    assert "Without fragmentation (F_frag): no scene has what they are measured on." in lead.text
    assert "The best 20 of 25 methods and settings" in lead.text
    assert [m["name"] for m in charts.data["methods"]] == [f"m{i:02}" for i in range(20)]
    assert [m["name"] for m in charts.data["methods"] if m["marked"]] == ["m00"]
    _, charts, _ = choosing_blocks(bare, Chart("c", method="m22"))
    assert [m["name"] for m in charts.data["methods"] if m["marked"]] == ["m22"]
    assert len(charts.data["methods"]) == 21
    assert len(charts.data["measures"]) == 8
    assert choosing_blocks(sweep({"seed": [1]}, lambda scene, seed: {"bad_pixels_all": 1.0})) == []
    (twice,) = choosing_blocks([*results, results[0]])
    assert isinstance(twice, Text)
    assert "p: no charts: middlebury2001/tsukuba: two results of 'edges'" in twice.text


def test_a_marked_setting_keeps_its_mark_when_names_become_shorter():
    axes = {"matching_cost.truncation": [1, 2], "aggregation.box.size": list(range(3, 25))}
    found = sweep(axes, lambda scene, t, size: {"bad_pixels_all": 100.0 * t + size}, [A])
    chart = Chart("c", measures=("bad_pixels_all",), method="truncation=1, size=5")
    _, charts, _ = choosing_blocks(found, chart)
    assert [m["name"] for m in charts.data["methods"]] == [f"size={size}" for size in range(3, 23)]
    assert [m["name"] for m in charts.data["methods"] if m["marked"]] == ["size=5"]
    for wrong, part in (({"method": "truncation=3"}, "no method 'truncation=3'"), ({"where": {"scene": ("x",)}}, "x")):
        [told] = choosing_blocks(found, replace(chart, **wrong))
        assert "no charts: " in told.text
        assert part in told.text


def _store(folder, results):
    with Store(folder, create=True) as store:
        keys = [f"k{i}" for i in range(len(results))]
        store.plan(keys)
        for key, one in zip(keys, results, strict=True):
            store.add(key, one)


def test_the_page_of_a_run_has_the_section_where_there_is_something_to_choose(tmp_path, results):
    _store(tmp_path / "several", results)
    assert [section.title for section in run_page(tmp_path / "several").sections][:2] == ["Summary", "Choosing"]
    _store(tmp_path / "one", results[:2])
    assert "Choosing" not in [section.title for section in run_page(tmp_path / "one").sections]
    # What a script asks for goes before.
    charts = {"c": {"measures": ["hci_offset", "energy"], "weights": {"energy": 0.5}, "where": {"method": ["edges", "planes"]}}}
    for name in ("edges", "planes"):
        script = {"name": name} | ({"report": {"charts": charts}} if name == "edges" else {"report": {}})
        (tmp_path / "several" / f"{name}.yaml").write_text(yaml.safe_dump(script))
    choosing = run_page(tmp_path / "several").sections[1]
    assert choosing.title == "Choosing"
    [data] = [block.data for block in choosing.blocks if isinstance(block, Charts)]
    assert [m["label"] for m in data["measures"]] == ["offset (P_off)", "energy"]
    assert [m["weight"] for m in data["measures"]] == [1, 0.5]
    assert [m["name"] for m in data["methods"]] == ["edges"]  # of the script's own methods


def test_in_a_browser(results, tmp_path, open_page):
    _page(choosing_blocks(results, Chart("c", measures=(FAT, OFF, FRAG)))).write(tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html", width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390

    def drawn(part):
        """Left end, width and upper end of a part of the stacked bars, in pixels."""
        return tab.eval_on_selector(
            f'[data-chart=stacked_bars] [data-part="{part}"]',
            "(part, box) => (box = part.getBoundingClientRect(), [box.left, box.width, box.top])",
        )

    def order():
        return [results[2 * i].method for i in sorted(range(3), key=lambda i: drawn(f"name-{i}")[2])]

    def totals():
        texts = {i: tab.text_content(f'[data-part="total-{i}"]') for i in range(3)}
        return [float(texts[i]) for i in sorted(range(3), key=lambda i: drawn(f"name-{i}")[2])]

    def expected(*weights):
        found = standings(results, [FAT, OFF, FRAG])
        best = found.best(3, weights)
        return [found.methods[i] for i in best], pytest.approx(found.totals(weights)[best], abs=5e-4)  # three digits are shown

    def weigh(index, *keys):
        slider = tab.locator(".weights input").nth(index)
        slider.focus()
        for key in keys:
            tab.keyboard.press(key)
        return slider

    assert (order(), totals()) == expected(1, 1, 1)
    # Who cares for planes alone gets another order than who cares for edges alone, with the keyboard too.
    weigh(0, "Home")
    weigh(2, "Home")
    assert (order(), totals()) == expected(0, 1, 0)
    assert order()[0] == "planes"
    assert tab.text_content(".chart [aria-live]").startswith("Best first: planes")
    weigh(0, "End")
    weigh(1, "Home", "ArrowRight", "ArrowRight")
    assert tab.eval_on_selector_all(".weights output", "all => all.map(one => one.textContent)") == ["5.0", "0.2", "0.0"]
    assert (order(), totals()) == expected(5, 0.2, 0)
    assert order()[0] == "edges"
    # Bars are as long as their totals say, and stand beside their names.
    room = drawn("frame")
    for i, total in zip((0, 2, 1), totals(), strict=True):
        parts = [drawn(f"bar-{i}-{j}") for j in range(3)]
        assert sum(part[1] for part in parts) / room[1] == pytest.approx(total / 1.1, abs=0.01)
        assert abs(parts[0][2] - drawn(f"name-{i}")[2]) < 0.05 * room[1]
    weigh(0, "Home")
    weigh(1, "Home")
    assert "All weights are 0" in tab.text_content(".chart [aria-live]")
    tab.click("[data-do=reset]")
    assert (order(), totals()) == expected(1, 1, 1)

    def shown(chart):
        parts = f"[data-chart={chart}] [data-part^=method]"
        found = tab.eval_on_selector_all(
            parts, "all => all.filter(one => one.style.display !== 'none').map(one => one.dataset.part)"
        )
        return [found.count(f"method-{i}") for i in range(3)]

    assert shown("radar") == [2, 2, 4]  # the missing score has a cross in both
    tab.uncheck("[data-chart=radar] label:nth-child(2) input")
    assert shown("radar") == [2, 0, 4]

    def strong():
        return tab.eval_on_selector_all("[data-chart=parallel_coordinates] .strong", "all => all.map(line => line.dataset.part)")

    told = tab.locator("[data-chart=parallel_coordinates] [aria-live]")
    assert strong() == []
    tab.focus("[data-chart=parallel_coordinates] button:nth-child(2)")
    assert told.text_content() == "planes: D_fat 0.80, P_off 0.45, F_frag 0.30"
    assert strong() == ["method-1"]
    tab.focus("[data-do=reset]")
    assert strong() == []
    tab.click("[data-chart=parallel_coordinates] button:nth-child(3)")
    tab.hover("h1")
    tab.focus("[data-do=reset]")
    assert told.text_content() == "</script><b>: D_fat 0.50, P_off 4.50, F_frag no score"
    on_line = """line => {
        line.scrollIntoView();
        const at = line.getPointAtLength(line.getTotalLength() / 4).matrixTransform(line.getScreenCTM());
        return [at.x, at.y];
    }"""
    tab.mouse.move(*tab.eval_on_selector("[data-chart=parallel_coordinates] [data-part=method-0] path", on_line))
    assert strong() == ["method-0"]

    # Of each measure two scenes and their mean; of the third method one has no score, and so no mean.
    assert shown("histogram") == [9, 0, 0]
    tab.select_option("[data-chart=histogram] select", label="</script><b>")
    assert shown("histogram") == [0, 0, 7]


@pytest.mark.slow
def test_in_a_browser_without_scripts(results, tmp_path, open_page):
    _page(choosing_blocks(results)).write(tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html", java_script_enabled=False)
    assert tab.locator(".drawing svg").count() == 4
    assert all(tab.locator(".drawing svg").nth(i).is_visible() for i in range(4))
