"""Folders that somebody else has made lead nothing out of them: links, paths, forged rows."""

import json
import os
import shutil
import sqlite3

import pytest
from attack.written import EXPORT, REPORT, RUN, call, content

from stereo_framework.io.output_folders import RECORD

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")

# --- folders that somebody else has made ------------------------------------------------------------------------------

TUNE = ("tune", "swept.yaml", "--statistic", "bad_pixels_all", "--trials", 1, "--out", "o")


def link(name, to="bashrc"):
    """A file or folder of the results replaced by a link to something of the victim's."""

    def make(home):
        path = home / "o" / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(home / "victim" / to)

    return make


def second_name(name):
    def make(home):
        (home / "o" / name).unlink(missing_ok=True)
        os.link(home / "victim/bashrc", home / "o" / name)

    return make


def store(linked):
    def make(home):
        shutil.copy(home / "o/results.sqlite", home / "victim/theirs.sqlite")
        (home / "o/results.sqlite").unlink()
        linked(home / "victim/theirs.sqlite", home / "o/results.sqlite")

    return make


def stored(**columns):
    """Other values in the store."""

    def make(home):
        db = sqlite3.connect(home / "o/results.sqlite")
        for name, value in columns.items():
            if name == "parameters":
                names = json.dumps([*value])
                db.execute("INSERT INTO texts VALUES (999, ?)", (names,))
                db.execute("UPDATE results SET parameter_names = 999")
                db.execute("UPDATE results SET parameters = ?", (json.dumps([*value.values()]),))
            elif name == "map":
                db.execute("UPDATE results SET row = json_set(row, '$.map', ?)", (value,))
            else:
                db.execute(f"UPDATE results SET {name} = ?", (value,))
        db.commit()
        db.close()

    return make


def a_map(home):
    [path] = (home / "o/maps").glob("*_a_*.pfm")
    link(path.relative_to(home / "o"))(home)


HOSTILE = {
    "page": (link("report.html"), REPORT, RUN),
    "page that is not there yet": (link("report.html", "new.html"), REPORT, RUN),
    "record": (link(RECORD), REPORT, RUN, EXPORT),
    "record that is not there yet": (link(RECORD, "new"), REPORT, RUN, EXPORT),
    "second name of the record": (second_name(RECORD), REPORT, RUN, EXPORT),
    "assets": (link("assets", "."), REPORT, RUN),
    "maps": (link("maps", "."), RUN),
    "one map": (a_map, RUN),
    "pictures": (link("pictures", "."), RUN),
    "tables": (link("tables", "."), RUN),
    "script": (link("sw.resolved.yaml"), RUN),
    "script that is being written": (link(".sw.resolved.yaml.part"), RUN),
    "best script": (link("best.yaml"), TUNE),
    "tiles": (link("parts", "."), ("run", "tiled.yaml", "--out", "o", "--maps")),
    "submissions": (link("submissions", "."), EXPORT),
    "store": (store(lambda old, new: new.symlink_to(old)), RUN, REPORT, ("results", "o")),
    "second name of the store": (store(os.link), RUN, REPORT, ("results", "o")),
    "lock": (link("writer.lock"), RUN),
    "lock that is not there yet": (link("writer.lock", "new"), RUN),
    "journal": (link("results.sqlite-wal"), RUN, REPORT),
    "files of a match": (
        link("disparity.pfm"),
        ("match", "left.png", "right.png", "--method", "ssd", "-o", "o"),
    ),
    "scene above": (stored(scene="middlebury-v3/../../../victim"), EXPORT),
    "absolute scene": (lambda home: stored(scene=f"middlebury-v3/{home}/victim")(home), EXPORT),
    "scene above, KITTI": (
        stored(scene="kitti2015/../../../victim/x"),
        ("results", "o", "--export", "kitti2015"),
    ),
    "method above": (stored(method="../../victim"), EXPORT, REPORT, ("rank", "o", "--boundary")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_outside_changes(name, home):
    make, *commands = HOSTILE[name]
    make(home)
    before = content(home / "victim"), {path.name for path in home.iterdir()}
    for command in commands:
        call(*command)
        assert (
            content(home / "victim"),
            {path.name for path in home.iterdir()} - {"s"},
        ) == before, command


def test_an_export_says_what_leads_out(home):
    stored(scene="middlebury-v3/../../../../victim")(home)
    result = call(*EXPORT)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 2)
    assert "leads out of the folder" in result.stderr


def test_deep_texts_are_no_deep_values(home):
    """Brackets within a text, such as a command's, are not counted."""
    stored(parameters={"matcher.command.command_line": "[{" * 300 + '"' + "\\"})(home)
    assert call("results", "o", "--json").exit_code == 0
