"""Multipliers remembered on disk: a help, never an authority."""

import json
import multiprocessing
import os
import re
from pathlib import Path

import pytest

from dpscd.privacy import calibration, multipliers
from dpscd.privacy.accounting import Accounted, SampledGaussian, epsilon_of, estimate
from dpscd.privacy.relation import PrivacyTarget, Relation

TARGET = PrivacyTarget(1.0, 1e-5)
SETTING = (TARGET, 0.01, 1000, 1e-3, (SampledGaussian(1.0, 30.0, 1),))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPSCD_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "noise"


@pytest.fixture
def evaluations(monkeypatch):
    """Return a list to which each evaluation of epsilon adds its multiplier."""
    seen = []

    def counted(which):
        def count(events, *rest, **words):
            seen.append(events[-1].noise_multiplier)
            return which(events, *rest, **words)

        return count

    for which in (epsilon_of, estimate):
        monkeypatch.setattr(calibration, which.__name__, counted(which))
    return seen


def calibrate():
    return calibration.calibrate.__wrapped__(*SETTING)


def reached(multiplier):
    target, rate, steps, interval, others = SETTING
    events = [*others, SampledGaussian(rate, multiplier, steps)]
    return epsilon_of(events, target.delta, target.relation, interval).epsilon


def the_file(folder):
    (file,) = folder.iterdir()
    return file


def with_multiplier(folder, multiplier):
    calibrate()
    stored = json.loads(the_file(folder).read_text())
    the_file(folder).write_text(json.dumps({**stored, "multiplier": multiplier}))


def test_the_second_time_takes_one_evaluation(folder, evaluations):
    first = calibrate()
    assert len(evaluations) > 1
    evaluations.clear()
    assert calibrate() == first
    assert evaluations == [first]
    assert the_file(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("factor", [1e-3, 0.3, 0.9, 0.99, 1.02, 3.0, 1e6])
def test_a_poisoned_multiplier_is_found_out(folder, evaluations, factor):
    honest = calibrate()
    with_multiplier(folder, factor * honest)
    assert calibrate() == honest
    assert reached(honest) <= TARGET.epsilon
    # ... and is replaced.
    evaluations.clear()
    assert calibrate() == honest
    assert len(evaluations) == 1


@pytest.mark.parametrize(
    "multiplier", [0.0, -2.0, 1e-300, 1e300, True, 2, "2.5", None, [2.5], {}]
)
def test_what_is_no_multiplier_is_not_even_tried(folder, evaluations, multiplier):
    honest = calibrate()
    with_multiplier(folder, multiplier)
    evaluations.clear()
    assert calibrate() == honest
    assert len(evaluations) > 1
    assert all(0.2 <= tried <= 1e9 for tried in evaluations)


def with_number(number):
    return lambda text: re.sub(r'("multiplier": )[^,}]+', rf"\g<1>{number}", text)


@pytest.mark.parametrize(
    "changed",
    [
        *("", "{", "null", "[]", "7", '{"multiplier": 2.5}', '{"multiplier": NaN}'),
        '{"question": "x", "multiplier": 2.5}',
        "\ud800".encode("utf-8", "surrogatepass"), b"\xff\xfe\x00",
        "[" * 60000, '{"question": ' + "9" * 60000 + "}",
        lambda text: text[:-5],
        lambda text: " " * 70000 + text,  # it is not read
        *map(with_number, ("NaN", "Infinity", "-Infinity", "1e999")),
    ],
    ids=range(18),
)  # fmt: skip
def test_broken_files_are_as_none(folder, changed):
    honest = calibrate()
    file = the_file(folder)
    if callable(changed):
        changed = changed(file.read_text())
    file.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    assert multipliers.recall(multipliers.question(*SETTING)) is None
    assert calibrate() == honest


@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_as_none(folder, make):
    honest = calibrate()
    file = the_file(folder)
    file.unlink()
    make(file)
    assert calibrate() == honest


def test_an_answer_to_another_question_is_none(folder):
    calibrate()
    asked = multipliers.question(*SETTING)
    other = multipliers.question(TARGET, 0.02, *SETTING[2:])
    multipliers.remember(other, 2.5)
    file = folder / multipliers._file(other).name
    file.rename(folder / multipliers._file(asked).name)
    assert multipliers.recall(asked) is None


@pytest.mark.parametrize("part", ["library_version", "_source_hash"])
@pytest.mark.usefixtures("folder")
def test_other_versions_ask_another_question(monkeypatch, part):
    calibrate()
    asked = multipliers.question(*SETTING)
    monkeypatch.setattr(multipliers, part, lambda: "another")
    assert multipliers.question(*SETTING) != asked
    assert multipliers.recall(multipliers.question(*SETTING)) is None


def test_every_part_of_the_question_counts():
    changes = [
        (0, PrivacyTarget(1.1, 1e-5)), (0, PrivacyTarget(1.0, 1.1e-5)),
        (0, PrivacyTarget(1.0, 1e-5, Relation.ADD_REMOVE)), (1, 0.011), (2, 1001), (3, 1.1e-3),
        (4, ()), (4, 2 * SETTING[4]),
    ]  # fmt: skip
    asked = {multipliers.question(*SETTING)} | {
        multipliers.question(*SETTING[:place], other, *SETTING[place + 1 :])
        for place, other in changes
    }
    assert len(asked) == 9


def test_a_folder_that_cannot_be_is_ignored(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DPSCD_CACHE", str(tmp_path / "file" / "below"))
    first = calibrate()
    assert calibrate() == first


def test_a_disk_that_fails_leaves_nothing_behind(folder, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(multipliers.os, "replace", full)
    calibrate()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("off", ["off", "OFF", "", " "])
def test_it_can_be_switched_off(monkeypatch, off):
    monkeypatch.setenv("DPSCD_CACHE", off)
    assert multipliers._file("question") is None
    multipliers.remember("question", 1.0)
    assert multipliers.recall("question") is None


def test_where_it_is_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("DPSCD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert multipliers._file("question").parent == tmp_path / "dpscd" / "noise"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert multipliers._file("q").parent == tmp_path / "home" / ".cache" / "dpscd" / "noise"


@pytest.mark.parametrize("home", ["", "~", "relative/folder"])
def test_without_a_home_nothing_is_kept(monkeypatch, tmp_path, home):
    monkeypatch.delenv("DPSCD_CACHE")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setattr(multipliers.os.path, "expanduser", lambda path: path)
    multipliers.remember("question", 1.0)
    assert multipliers.recall("question") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failing", ["mkdir", "mkstemp"])
def test_a_home_that_may_not_be_written_is_no_home(folder, monkeypatch, failing):
    def refused(*_, **__):
        raise PermissionError("not yours")

    owner = Path if failing == "mkdir" else multipliers.tempfile
    monkeypatch.setattr(owner, failing, refused)
    first = calibrate()
    assert calibrate() == first
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.usefixtures("folder")
def test_a_multiplier_that_would_take_a_machine_to_verify_does_not():
    # The loss of a step has a range of 30 at multiplier 0.2: tens of millions of cells.
    setting = (PrivacyTarget(0.01, 1e-5), 1e-4, 100_000, 1e-6, ())
    multipliers.remember(multipliers.question(*setting), 0.2)
    found = calibration.calibrate.__wrapped__(*setting)
    assert 7.7 < found < 7.8


def test_without_source_files_there_is_still_a_version(monkeypatch, tmp_path):
    monkeypatch.setattr(multipliers, "__file__", str(tmp_path / "multipliers.py"))
    assert len(multipliers._source_hash.__wrapped__()) == 64
    assert multipliers._source_hash.__wrapped__() != multipliers._source_hash()


@pytest.mark.usefixtures("folder")
def test_an_answer_outside_the_window_is_searched_anew(monkeypatch):
    # An accountant with a cliff: what the search leaves is not tight, so it is not trusted.
    def cliff(events, *_, **__):
        return Accounted(10.0 if events[-1].noise_multiplier < 3.0 else 0.5, "PLD", 1e-4)

    monkeypatch.setattr(calibration, "epsilon_of", cliff)
    monkeypatch.setattr(calibration, "estimate", cliff)
    assert 3.0 <= calibrate() <= 3.001
    assert 3.0 <= calibrate() <= 3.001


def _many(folder: str, number: int) -> bool:
    os.environ["DPSCD_CACHE"] = folder
    for turn in range(200):
        multipliers.remember("question", 1.0 + turn + 1000 * number)
        if multipliers.recall("question") is None:
            return False
    return True


@pytest.mark.full
def test_two_processes_at_once_do_no_harm(folder):
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        ended = pool.starmap(_many, [(str(folder.parent), n) for n in (1, 2)])
    assert ended == [True, True]
    assert [file.suffix for file in Path(folder).iterdir()] == [".json"]
