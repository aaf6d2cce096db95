"""The page of an output folder."""

from made_results import SCENES, sweep

from stereo_framework.page.page import PageTable
from stereo_framework.page.run_page import run_page
from stereo_framework.sweep import Store
from stereo_framework.sweep.identity import environment
from stereo_framework.tables.environment import environment_text

TRUNCATION = "matching_cost.truncation"


def test_results_are_sortable_and_the_best_of_each_scene_are_marked(tmp_path):
    errors = {SCENES[0]: {5: 2.0, 20: 1.0, None: 3.0}, SCENES[1]: {5: 9.0, 20: 11.0, None: 10.0}}
    results = sweep({TRUNCATION: [5, 20, None]}, lambda scene, t: {"bad_pixels_nonocc": errors[scene][t]})
    with Store(tmp_path, create=True) as store:
        keys = [str(i) for i in range(len(results))]
        store.plan(keys, [{}])
        for key, result in zip(keys, results, strict=True):
            store.add(key, result)
    page = run_page(tmp_path)
    [table] = [b for b in page.sections[0].blocks if isinstance(b, PageTable)]
    assert table.header == ["scene", "method", TRUNCATION, "bad_pixels_nonocc", "seconds"]
    assert [[cell.text for cell in row[2:4]] for row in table.rows[:3]] == [["5", "2.00"], ["20", "1.00"], ["none", "3.00"]]
    assert [[cell.value for cell in row] for row in table.rows[:3:2]] == [[None, None, 5, 2, 0.5], [None, None, None, 3, 0.5]]
    best = [(i, j) for i, row in enumerate(table.rows) for j, cell in enumerate(row) if cell.mark == "best"]
    assert best == [(1, 3), (3, 3)]


def test_the_environment_tells_what_results_are_stored_with():
    told = environment_text().splitlines()
    known = environment()
    assert {f"{name} {known[name]}" for name in known if name not in ("python", "machine", "host")} == set(told[2:])
    assert f"numpy {known['numpy']}" in told
    assert told[1] == f"Python {known['python']}"
