"""Diagnoses of causes: each gets an input with another cause than its first guess, says "may", and offers two remedies."""

import errno
import io
import os

import numpy as np
import PIL.Image
import pytest

from stereo_framework import load_scene
from stereo_framework.core.errors import DataError
from stereo_framework.core.search import SearchRange
from stereo_framework.engine.estimates import warnings as warnings_of_match
from stereo_framework.evaluation import find_reading_errors
from stereo_framework.io import (
    locked,
    read_disparity,
    read_image,
    read_stereo_calibration,
    write_image,
    write_pfm,
)
from stereo_framework.kernels.threads import LIMIT_HINT
from stereo_framework.script.legacy import convert
from stereo_framework.sweep.external_maps import COMMAND_REMEDIES
from stereo_framework.sweep.store import Store
from stereo_framework.tables.formats import read_csv
from stereo_framework.user_pair.search_range import SparseMatches, find_pair_problems

TRUTH = (20 + 0.1 * np.mgrid[:60, :100][1]).astype(np.float32)


def refusal(call, *arguments):
    """Return the message of the DataError that a call raises."""
    with pytest.raises(DataError) as error:
        call(*arguments)
    return str(error.value)


def sparse(disparities, vertical=0.0):
    """Return sparse matches with some disparities and one vertical offset."""
    columns = np.asarray(disparities, np.float32)
    here = np.column_stack([columns, np.zeros_like(columns)])
    there = np.column_stack([np.zeros_like(columns), np.full_like(columns, vertical)])
    return SparseMatches(here, there, 1.0)


def pair_of_wrong_matches(folder):
    """Return the doubt about a rectified pair whose matches are wrong."""
    return find_pair_problems(sparse(range(1, 41), 2.5), SearchRange(0, 50))[0]


def rectified_pair_of_another_lens_model(folder):
    """Return the doubt about a pair that a calibration of another lens model has rectified."""
    return find_pair_problems(sparse(range(1, 41), 2.5), SearchRange(0, 50), rectified=True)[0]


def cameras_that_converge(folder):
    """Return the doubt about a pair whose disparities are below 0 on purpose."""
    return find_pair_problems(sparse(range(-40, 0)), SearchRange(0, 50))[0]


def repeated_texture(folder):
    """Return the doubt about a range outside of which only wrong matches lie."""
    return find_pair_problems(sparse([*range(1, 21), *range(100, 120)]), SearchRange(0, 50))[0]


def small_near_object(folder):
    """Return the doubt about a range that a small object needs."""
    disparity = np.linspace(10, 40, 600, dtype=np.float32).reshape(20, 30)
    return find_pair_problems(sparse(range(10, 41)), SearchRange(0, 100), disparity)[0]


def walls_without_texture(folder):
    """Return the doubt about images of one scene that has no texture."""
    return find_pair_problems(sparse([1, 2]), SearchRange(0, 50))[0]


def costs_of_a_wall(folder):
    """Return the warning about a match of a wall that lies at the end of the range."""
    return warnings_of_match(None, np.full((20, 30), 16, np.float32), SearchRange(0, 16))[0]


def scene():
    """Return a built-in scene with its ground truth."""
    return load_scene("synthetic/planes")


def truth_in_another_scale(folder):
    """Return the doubt about a correct map whose truth was read in a wrong scale."""
    return find_reading_errors(4 * scene().truth, scene(), remedies=COMMAND_REMEDIES)[0]


def truth_in_another_scale_of_python(folder):
    """Return the same doubt with the remedies for Python."""
    return find_reading_errors(4 * scene().truth, scene())[0]


def truth_of_the_other_view(folder):
    """Return the doubt about a correct map whose truth is that of the other frame."""
    return find_reading_errors(scene().match_truth, scene())[0]


def text_file(folder):
    """Return the refusal of an intact text that is no image."""
    path = folder / "notes.png"
    path.write_text("hello, world\n" * 9)
    return refusal(read_image, path)


def tiff_of_an_unknown_kind(folder):
    """Return the refusal of a TIFF without any image."""
    path = folder / "a.tif"
    path.write_bytes(b"II*\0" + bytes(40))
    return refusal(read_image, path)


def colours_that_code_values(folder):
    """Return the refusal of disparities that are coded in three channels, as Sintel's are."""
    path = folder / "coded.png"
    write_image(path, np.stack([TRUTH, 64 * TRUTH % 256, 0 * TRUTH], -1).astype(np.uint8))
    return refusal(read_disparity, path)


def npy_of_records(folder):
    """Return the refusal of an intact ``.npy`` file with a type that is not read."""
    path = folder / "a.npy"
    header = b"{'descr': '?!', 'fortran_order': False, 'shape': (6, 5), }"
    path.write_bytes(b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header + bytes(120))
    return refusal(read_disparity, path)


def yaml_of_another_program(folder):
    """Return the refusal of an intact YAML file that is no calibration."""
    path = folder / "c.yml"
    path.write_text("- a\n- b\n")
    return refusal(read_stereo_calibration, [path])


def table_of_another_kind(folder):
    """Return the refusal of an intact text with a cell that is too long."""
    path = folder / "t.csv"
    path.write_text('method,a\nm,"' + "x" * 200_000)
    return refusal(read_csv, path)


def deep_scripts(folder):
    """Return the refusal of scripts that run each other, each another one."""
    for number in range(200):
        (folder / f"{number}.txt").write_text(f"script {number + 1}.txt\n")
    return refusal(convert, folder / "0.txt", print)


def lock_of_a_stopped_process(folder):
    """Return the refusal of a folder whose lock is held although nothing is written."""
    with locked(folder / "writer.lock"):
        return refusal(lambda: Store(folder, create=True))


def folder_without_locks(folder, monkeypatch):
    """Return the refusal of a folder on a file system without locks."""

    def refuse(*arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.lockf", refuse)
    return refusal(lambda: Store(folder, create=True))


def database_of_another_program(folder):
    """Return the refusal of a store that is a text."""
    (folder / "results.sqlite").write_text("no database" * 1000)
    return refusal(lambda: Store(folder))


CASES = [
    (pair_of_wrong_matches, "'match --rectify auto'", "choose a pair"),
    (
        rectified_pair_of_another_lens_model,
        "give the calibration of these images",
        "exchange the two images",
    ),
    (cameras_that_converge, "exchange the two images", "give their range"),
    (repeated_texture, "try --disparities", "keep the range"),
    (small_near_object, "a narrower range", "keep the range"),
    (walls_without_texture, "choose two images", "judge the disparity map"),
    (costs_of_a_wall, "widen the range", "exchange the two images"),
    (
        truth_in_another_scale,
        "if it is the map's, write --disparity-scale 4",
        "if it is the truth's, give the truth its scale",
    ),
    (truth_in_another_scale_of_python, "divide the map by 4", "multiply the truth by 4"),
    (
        truth_of_the_other_view,
        "give the map of the reference frame",
        "or the truth of the match frame",
    ),
    (text_file, "replace it by an undamaged copy", "convert it"),
    (tiff_of_an_unknown_kind, "replace it by an undamaged copy", "save it again"),
    (colours_that_code_values, "write the values themselves", "decode them with your own reader"),
    (npy_of_records, "replace it by an undamaged copy", "write the array again"),
    (yaml_of_another_program, "write it again", "name another file"),
    (table_of_another_kind, "write the table again", "name another file"),
    (deep_scripts, "remove that line", "nest fewer scripts"),
    (lock_of_a_stopped_process, "wait for it or end it", "choose another folder"),
    (database_of_another_program, "choose another folder", "move the file away and run again"),
]


@pytest.mark.parametrize(
    ("diagnosis", "first_remedy", "second_remedy"),
    CASES,
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_diagnosis_that_may_be_wrong_says_so_and_offers_two_remedies(
    tmp_path, diagnosis, first_remedy, second_remedy
):
    message = diagnosis(tmp_path)
    assert " may " in message
    assert first_remedy in message
    assert second_remedy in message
    assert "\n" not in message


def test_a_file_system_without_locks_is_recognized_and_read_all_the_same(tmp_path, monkeypatch):
    with Store(tmp_path, create=True):
        pass
    message = folder_without_locks(tmp_path, monkeypatch)
    assert "writer.lock: the file cannot be locked (" in message
    assert "network folders do not support file locks" in message
    assert "choose a folder on a local disk" in message
    # Nothing waits for a lock, and nothing is called locked.
    with Store(tmp_path) as store:
        assert store.results() == []
    (tmp_path / "results.sqlite-wal").write_bytes(b"results")
    message = refusal(lambda: Store(tmp_path))
    assert (
        "holds results that cannot be read here, because this file system has no locks" in message
    )
    assert "copy the whole folder to a local disk" in message


def test_the_limit_on_processes_is_a_guess():
    assert LIMIT_HINT.endswith("may be reached")


def test_no_remedy_of_a_picture_names_a_wrong_cause(tmp_path):
    buffer = io.BytesIO()
    PIL.Image.fromarray(TRUTH.astype(np.uint8)).save(buffer, "GIF")
    (tmp_path / "a.png").write_bytes(buffer.getvalue())
    write_pfm(tmp_path / "a.pfm", TRUTH)
    assert "damaged" not in refusal(read_image, tmp_path / "a.png")
    np.testing.assert_array_equal(read_disparity(tmp_path / "a.pfm"), TRUTH)
