import pytest
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments.pages import speed
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.pages.speed_page import page
from dpscd_experiments.speed import startup
from dpscd_experiments.speed.contests import GROUPS
from dpscd_experiments.speed.measures import MEASURES

TINY = {
    "dense": {"n": 600, "d": 6, "lot": 50, "turns": 2},
    "sparse": {"n": 300, "d": 5000, "entries": 5, "lot": 20, "turns": 1},
    "fit": {"n": 400, "d": 4, "turns": 1},
    "startup": {"n": 10, "d": 2, "turns": 1},
    "growth": {
        "turns": 1,
        "base": {"n": 300, "d": 4, "lot": 20},
        "sparse_base": {"n": 300, "d": 5000, "entries": 5, "lot": 20},
        "n": [300, 500], "d": [4], "lot": [20], "entries": [5], "sparse_d": [5000],
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(speed, "load_spec", lambda _: TINY)
    monkeypatch.setattr(startup, "_seconds", lambda *_, **__: 0.5)
    monkeypatch.delenv("DPSCD_DIFFPRIVLIB_PYTHON", raising=False)


def bench(*words):
    return CliRunner().invoke(app, ["bench", "speed", *map(str, words)])


@pytest.mark.full
def test_one_run_measures_everything(tmp_path):
    done = bench("--out", tmp_path, "--quick")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""  # no bar where nobody looks
    names = {file.name for file in tmp_path.iterdir()}
    figures = {f"speed-{name}.{end}" for name in ("epochs", "growth") for end in ("png", "svg")}
    assert names == figures | {"speed.csv", "speed.md"}
    rows = read_csv(tmp_path / "speed.csv")
    assert {row["contest"].partition("-")[0] for row in rows} == GROUPS.keys()
    assert not [row for row in rows if row["status"] == "failed"]
    skipped = {row["contender"] for row in rows if row["status"] == "skipped"}
    assert skipped - {"Snap ML", "Snap ML, 2 threads"} == {"diffprivlib"}
    text = (tmp_path / "speed.md").read_text()
    for measure in MEASURES:
        assert f"| {measure.text} |" in text
    for word in ("Quick run", "| CPU |", "| memory |", "| load average |", "| numba |"):
        assert word in text
    assert "DPSCD_DIFFPRIVLIB_PYTHON must name" in text


def test_only_runs_what_is_asked_for(tmp_path):
    assert bench("--out", tmp_path, "--only", "startup").exit_code == 0
    assert {file.name for file in tmp_path.iterdir()} == {"speed.csv", "speed.md"}
    text = (tmp_path / "speed.md").read_text()
    assert "Start-up" in text
    assert "Dense epochs" not in text
    assert "Quick run" not in text


def test_an_unknown_group_is_refused_before_anything_runs(tmp_path):
    done = bench("--out", tmp_path / "new", "--only", "magic")
    assert done.exit_code == 2
    assert "only='magic' must be one of dense," in done.output
    assert not (tmp_path / "new").exists()


def test_the_page_says_which_bars_are_met():
    def rows(ours, theirs):
        return [
            {"contest": "dense", "contender": name, "at": None, "turn": turn, "status": "ok",
             "message": "", "seconds": seconds, "n": 1000, "d": 3, "lot": 10, "row_bytes": 64}
            for turn in (1, 2, 3)
            for name, seconds in (("ours, private", ours), ("Snap ML", theirs))
        ]  # fmt: skip

    first = MEASURES[0].text
    for ours, theirs, verdict in ((1.0, 2.0, "yes"), (2.0, 2.0, "**no**")):
        text = page(rows(ours, theirs), {}, False, ())
        line = next(line for line in text.splitlines() if first in line)
        assert line.split("|")[-2].strip() == verdict
        assert "at least 1.5x" in line
    assert "not measured" in text
    assert "**no**" not in page(rows(2.0, 2.0), {}, True, ())
