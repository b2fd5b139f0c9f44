import pytest

from commands import answer, call, refusal
from dpscd.privacy.ledger import Ledger
from plans import small_plan

LIMITS = ("--epsilon", 2, "--delta", "1e-5")
PATIENT = "a person: all records with the same value of 'patient'"


def budget(*words, **more):
    return call("budget", *words, env={"COLUMNS": "160"}, **more)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "budget.db"
    budget("init", path, "--dataset", "adult", *LIMITS)
    return path


def charge(path, dataset="adult", **more):
    release = small_plan(0.5, 1e-6).training.cost
    return Ledger(path).reserve(dataset, [release], 0.5, 1e-6, "zero-out", "[a] fit", **more)


def test_init_prints_the_new_budget(tmp_path):
    words = ("--dataset", "adult", *LIMITS)
    made = budget("init", tmp_path / "a.db", *words)
    assert "adult" in made.stdout
    state = answer("budget", "init", tmp_path / "b.db", *words, "--filter", "renyi")
    assert (state["epsilon"], state["filter"], state["left_epsilon"]) == (2.0, "renyi", 2.0)


def test_show_gives_spent_and_left(file):
    charge(file)
    state = answer("budget", "show", file, "--dataset", "adult")
    assert (state["spent_epsilon"], state["left_epsilon"]) == (0.5, 1.5)
    assert (state["spent_delta"], state["left_delta"]) == (1e-6, 9e-6)
    assert (state["reserved"], state["committed"]) == (1, 0)
    (same,) = answer("budget", "show", file)
    assert same == state
    table = budget("show", file).stdout
    assert "1.5" in table
    assert "9e-06" in table


def test_show_explains_the_renyi_total(file):
    budget("init", file, "--dataset", "r", *LIMITS, "--filter", "renyi")
    charge(file, "r")
    shown = budget("show", file, "--dataset", "r")
    assert "can therefore exceed their own (PLD) epsilons" in shown.stdout
    state = answer("budget", "show", file, "--dataset", "r")
    assert state["spent_epsilon"] > 0.5
    assert state["left_epsilon"] + state["spent_epsilon"] == pytest.approx(2.0)
    assert state["left_delta"] is None


def test_history_lists_every_fit(file):
    first, second = charge(file), charge(file)
    Ledger(file).commit(first)
    listed = answer("budget", "history", file)
    assert [x["id"] for x in listed] == [first, second]
    assert [x["committed"] for x in listed] == [True, False]
    assert listed[0]["releases"][0]["what"] == "shared vector"
    table = budget("history", file, "--dataset", "adult").stdout
    assert "[a] fit" in table
    assert "committed" in table
    assert "reserved" in table


def test_fits_with_a_seed_are_marked(file):
    charge(file)
    for verb in ("show", "history"):
        assert "seed" not in budget(verb, file).stdout.replace(str(file), "")
    charge(file, seeded=True)
    assert "1 of its fits drew noise from a seed" in budget("show", file).stdout
    assert "reserved, seeded" in budget("history", file).stdout
    assert answer("budget", "show", file)[0]["seeded"] == 1
    listed = answer("budget", "history", file)
    assert [x["seeded"] for x in listed] == [False, True]


def test_a_budget_for_persons_says_so(file):
    made = budget("init", file, "--dataset", "visits", *LIMITS, "--person", "patient")
    assert f"visits: the unit is {PATIENT}." in made.stdout
    assert "the unit is" not in budget("history", file).stdout
    charge(file, "visits", unit=PATIENT)
    charge(file)
    for verb in ("show", "history"):
        lines = budget(verb, file).stdout.splitlines()
        assert [x for x in lines if "unit" in x] == [f"visits: the unit is {PATIENT}."]
    shown = answer("budget", "show", file)
    assert [x["unit"].partition(";")[0] for x in shown] == ["a record", PATIENT]
    listed = answer("budget", "history", file)
    assert [x["unit"].partition(";")[0] for x in listed] == [PATIENT, "a record"]


def test_a_budget_for_groups_given_to_fit(file):
    state = answer("budget", "init", file, "--dataset", "rows", *LIMITS, "--groups")
    assert state["unit"].endswith("the groups given to fit")


def test_verify_gives_the_head(file):
    found = answer("budget", "verify", file)
    assert found["ok"]
    assert found["entries"] == 2
    charge(file)
    again = budget("verify", file, "--head", found["head"])
    assert again.exit_code == 0
    assert "all 3 entries" in again.stdout


NEW = ("init", "{file}", "--dataset", "b", "--delta", "1e-5", "--epsilon", "1")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ((*NEW, "--dataset", "adult"), "show"),
        ((*NEW[:-1], "0"), "greater"),
        ((*NEW, "--relation", "replace-one", "--filter", "renyi"), "Use 'basic'"),
        ((*NEW, "--person", "a", "--groups"), "identified in one way"),
        ((*NEW, "--person", ""), "name of a column"),
        (("show", "{file}", "--dataset", "b"), "dpscd budget init"),
        (("history", "{file}.none"), "dpscd budget init"),
        (("verify", "{file}", "--head", "0" * 64), "older copy"),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(file, words, match):
    assert match in refusal("budget", *(word.format(file=file) for word in words))


def test_a_damaged_file_fails_verify(file):
    file.write_bytes(b"no ledger" * 100)
    assert "restore a copy" in budget("verify", file, code=1).stderr
