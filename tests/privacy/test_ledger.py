import json
import multiprocessing
import os
import pickle
import sqlite3
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed

from dpscd.errors import BudgetExceeded, CardError, LedgerError, ParameterError
from dpscd.privacy import ledger as module
from dpscd.privacy.entries import Entries, canonical, link
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.relation import RECORD, Relation, Unit
from plans import small_plan

TESTS = Path(__file__).parent.parent


# Calibrated once: the tests are about what happens to it afterwards.
RELEASE = small_plan(0.1, 1e-6).training.cost


def spend(ledger, epsilon=0.1, delta=1e-6, relation="zero-out", dataset="d", label="fit"):
    return ledger.reserve(dataset, [RELEASE], epsilon, delta, relation, label)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.init(tmp_path / "budget.db", "d", epsilon=1.0, delta=1e-4)


def rows(path):
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT seq, body, hash FROM entries ORDER BY seq").fetchall()
    connection.close()
    return found


def tamper(path, *statements):
    """Do what triggers forbid, and put them back."""
    connection = sqlite3.connect(path)
    triggers = module._SCHEMA[1:]
    for trigger in triggers:
        connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
    for statement in statements:
        connection.execute(*((statement,) if isinstance(statement, str) else statement))
    for trigger in triggers:
        connection.execute(trigger)
    connection.commit()
    connection.close()


def entry_of(path, place=-1):
    """Return what an entry says, but for its number."""
    values = json.loads(rows(path)[place][1])
    del values["seq"]
    return values


def forge(path, values):
    """Append an entry with a right hash, as a forger would."""
    last, _, head = rows(path)[-1]
    body = canonical({"seq": last + 1, **values})
    tamper(path, ("INSERT INTO entries VALUES (?, ?, ?)", (last + 1, body, link(head, body))))


class TestBudget:
    def test_a_new_budget_is_whole(self, ledger):
        state = ledger.show("d")
        assert (state.epsilon, state.delta, state.relation) == (1.0, 1e-4, "zero-out")
        assert (state.spent_epsilon, state.left_epsilon) == (0.0, 1.0)
        assert (state.spent_delta, state.left_delta) == (0.0, 1e-4)
        assert (state.filter, state.order, state.reserved, state.committed) == (
            "basic", None, 0, 0,
        )  # fmt: skip
        assert ledger.datasets() == ("d",)
        assert ledger.history("d") == ()
        assert repr(ledger) == f"Ledger({ledger.path!r})"

    def test_ten_tenths_fill_it_and_no_more(self, ledger):
        for number in range(10):
            ledger.commit(spend(ledger))
            assert ledger.show("d").left_epsilon == pytest.approx(0.9 - 0.1 * number)
        assert ledger.show("d").left_epsilon == 0.0
        assert ledger.show("d").spent_epsilon == 1.0
        before = rows(ledger.path)
        with pytest.raises(
            BudgetExceeded, match=r"total to 1.1 of epsilon=1. Left: epsilon=0 "
        ):
            spend(ledger)
        assert rows(ledger.path) == before

    def test_delta_runs_out_too(self, tmp_path):
        ledger = Ledger.init(tmp_path / "b.db", "d", 10, 3e-6)
        for _ in range(3):
            spend(ledger)
        with pytest.raises(
            BudgetExceeded, match=r"smaller delta=. Left: epsilon=9.7 and delta=0 "
        ):
            spend(ledger)

    def test_one_file_holds_many_budgets(self, ledger):
        Ledger.init(ledger.path, "other", 1.0, 1e-4, relation="replace-one")
        spend(ledger)
        assert ledger.show("other").spent_epsilon == 0.0
        assert ledger.datasets() == ("d", "other")
        with pytest.raises(LedgerError, match=r"dataset='d' has a budget .* already"):
            Ledger.init(ledger.path, "d", 5.0, 1e-4)
        with pytest.raises(
            LedgerError, match=r"no budget for dataset='x', only for: 'd', 'other'"
        ):
            spend(ledger, dataset="x")
        for ask in (ledger.show, ledger.history):
            with pytest.raises(LedgerError, match="dpscd budget init"):
                ask("x")

    def test_an_unfinished_fit_is_spent(self, ledger):
        first, second = spend(ledger, label="a"), spend(ledger, label="b")
        ledger.commit(second)
        state = ledger.show("d")
        assert (state.reserved, state.committed, state.spent_epsilon) == (2, 1, 0.2)
        assert [(x.id, x.label, x.committed) for x in ledger.history("d")] == [
            (first, "a", False),
            (second, "b", True),
        ]

    def test_a_commit_comes_once(self, ledger):
        number = spend(ledger)
        ledger.commit(number)
        with pytest.raises(LedgerError, match="committed already"):
            ledger.commit(number)
        with pytest.raises(LedgerError, match="no reservation 99"):
            ledger.commit(99)

    def test_relations_do_not_imply_each_other(self, tmp_path, ledger):
        for relation in ("replace-one", "add-remove"):
            with pytest.raises(LedgerError, match="is for relation='zero-out'"):
                spend(ledger, relation=relation)
        strict = Ledger.init(tmp_path / "b.db", "d", 1.0, 1e-4, relation="replace-one")
        with pytest.raises(LedgerError, match="is for relation='replace-one'"):
            spend(strict)
        release = small_plan(0.5, 1e-6, Relation.REPLACE_ONE).training.cost
        strict.reserve("d", [release], 0.5, 1e-6, "replace-one")
        assert strict.show("d").spent_epsilon == 0.5

    def test_what_is_not_private_exceeds_every_budget(self, ledger):
        with pytest.raises(BudgetExceeded, match="leave out the ledger"):
            spend(ledger, epsilon=float("inf"))

    def test_false_claims_and_bad_arguments_are_refused(self, ledger):
        with pytest.raises(CardError, match="is claimed"):
            spend(ledger, epsilon=0.05)
        with pytest.raises(ParameterError, match="releases is empty"):
            ledger.reserve("d", [], 0.1, 1e-6, "zero-out")
        for bad in ({"label": "a\nb"}, {"label": 5}, {"label": "x" * 201},
                    {"relation": "equal"}, {"epsilon": -1.0}, {"delta": 0.0}):  # fmt: skip
            with pytest.raises(ParameterError):
                spend(ledger, **bad)
        with pytest.raises(ParameterError, match="dataset must not be empty"):
            Ledger.init(ledger.path, "", 1.0, 1e-5)
        for path in ("", "a\0b", b"budget.db"):
            with pytest.raises(ParameterError, match="must be the path of a file"):
                Ledger(path)
        assert ledger.show("d").spent_epsilon == 0.0

    def test_only_public_numbers_of_the_plan_are_stored(self, ledger):
        ledger.commit(spend(ledger))
        kinds = [json.loads(body) for _, body, _ in rows(ledger.path)]
        fit = {"cost", "dataset", "delta", "epsilon", "label", "releases", "seeded", "time"}
        assert [sorted(x) for x in kinds] == [
            ["kind", "name", "seq", "version"],
            ["dataset", "filter", "kind", "numbers", "relation", "seq", "time"],
            sorted({"kind", "seq", *fit}),
            ["kind", "reservation", "seq"],
        ]
        assert kinds[2]["releases"] == [asdict(RELEASE)]


class TestRenyi:
    def test_it_admits_more_small_fits_than_basic(self, tmp_path):
        ledger = Ledger.init(tmp_path / "b.db", "d", 1.0, 1e-5, filter="renyi")
        assert ledger.show("d").spent_epsilon == 0.0
        number = spend(ledger)
        # One fit costs more than its own epsilon, many far less than the sum.
        assert 0.1 < ledger.show("d").spent_epsilon < 0.6
        cost = ledger.history("d")[0].cost
        room = ledger.show("d").left_epsilon / cost["rdp"]
        assert room > 60
        ledger.commit(number)
        for _ in range(20):
            spend(ledger)
        state = ledger.show("d")
        assert state.left_epsilon == pytest.approx((room - 20) * cost["rdp"])
        assert state.spent_epsilon + state.left_epsilon == pytest.approx(1.0)
        assert state.spent_delta is state.left_delta is None
        assert state.reserved == 21

    def test_it_refuses_what_does_not_fit(self, tmp_path):
        ledger = Ledger.init(tmp_path / "b.db", "d", 0.11, 1e-6, filter="renyi")
        with pytest.raises(BudgetExceeded, match=r"Left: epsilon=0.11 \(renyi filter\)"):
            spend(ledger)
        assert ledger.history("d") == ()

    def test_finite_precision_can_run_out_first(self, tmp_path):
        ledger = Ledger.init(tmp_path / "b.db", "d", 1.0, 1e-5, filter="renyi")
        one = json.loads(rows(ledger.path)[1][1])["numbers"]["precision_epsilon"]
        entry = {
            "kind": "reserve", "dataset": "d", "label": "", "epsilon": 0.1, "delta": 1e-6,
            "releases": [], "time": "",
            "cost": {"rdp": 1e-9, "precision_epsilon": one, "precision_delta": 1e-20},
        }  # fmt: skip
        forge(ledger.path, entry)
        with pytest.raises(BudgetExceeded, match="finite precision is used up"):
            spend(ledger)


def race(paths, barrier, results):
    for path in paths:
        barrier.wait(60)
        try:
            results.put((path, spend(Ledger(path))))
        except BudgetExceeded:
            results.put((path, None))


def die_inside(path, number, committed):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size=2")
    connection.execute("BEGIN IMMEDIATE")
    entries = module._read(connection, create=False)
    module.append(connection, entries, {"kind": "commit", "reservation": number})
    if committed:
        connection.execute("COMMIT")
    else:
        # So much that the file is written to before the transaction ends.
        connection.execute("INSERT INTO entries VALUES (99, hex(zeroblob(200000)), '')")
    os._exit(7)


class TestProcesses:
    @pytest.mark.full
    def test_two_that_race_for_the_last_epsilon_cannot_both_win(self, tmp_path):
        paths = [str(tmp_path / f"{number}.db") for number in range(8)]
        for path in paths:
            spend(Ledger.init(path, "d", 0.25, 1e-4))  # leaves 0.15: room for one more
        spawn = multiprocessing.get_context("spawn")
        barrier, results = spawn.Barrier(2), spawn.Queue()
        racers = [spawn.Process(target=race, args=(paths, barrier, results)) for _ in range(2)]
        for racer in racers:
            racer.start()
        found = [results.get(timeout=60) for _ in range(2 * len(paths))]
        for racer in racers:
            racer.join(60)
        for path in paths:
            assert sum(number is not None for p, number in found if p == path) == 1
            assert Ledger(path).show("d").spent_epsilon == 0.2
            Ledger(path).verify()

    @pytest.mark.full
    def test_joblib_and_pickles_share_one_budget(self, ledger):
        copy = pickle.loads(pickle.dumps(ledger))
        assert vars(copy) == {"path": ledger.path}
        ids = Parallel(n_jobs=2)(delayed(copy.reserve)(
            "d", [RELEASE], 0.1, 1e-6, "zero-out") for _ in range(6))  # fmt: skip
        assert len(set(ids)) == 6
        assert ledger.show("d").spent_epsilon == 0.6

    def test_nobody_writes_between_the_sums_and_what_is_added_to_them(self, ledger):
        with module.transaction(ledger.path):
            other = sqlite3.connect(ledger.path, isolation_level=None, timeout=0.0)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            other.close()

    def test_one_that_holds_the_lock_too_long_is_named(self, ledger, monkeypatch):
        monkeypatch.setattr(module, "_PATIENCE", 0.05)
        other = sqlite3.connect(ledger.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"database is locked\. If it is locked, try"):
            spend(ledger)
        other.close()
        assert ledger.history("d") == ()

    @pytest.mark.full
    def test_no_kill_loses_a_fit(self):
        done = subprocess.run(
            [sys.executable, TESTS / "kill_trials.py", "--trials", "12", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["trials"] == 12

    @pytest.mark.full
    @pytest.mark.parametrize("committed", [False, True])
    def test_dying_inside_an_operation_leaves_nothing_half_done(self, ledger, committed):
        number = spend(ledger)
        spawn = multiprocessing.get_context("spawn")
        child = spawn.Process(target=die_inside, args=(ledger.path, number, committed))
        child.start()
        child.join(60)
        assert child.exitcode == 7
        # Half of the operation is in the file, and the journal that undoes it beside it.
        assert os.path.exists(f"{ledger.path}-journal") == (not committed)
        assert ledger.history("d")[0].committed == committed
        assert ledger.show("d").spent_epsilon == 0.1
        ledger.verify()


class TestTampering:
    @pytest.fixture
    def spent(self, ledger):
        for _ in range(4):
            ledger.commit(spend(ledger))
        return ledger

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE entries SET body = replace(body, '0.1', '0.0')",
            "DELETE FROM entries WHERE seq = 3",
            "INSERT OR REPLACE INTO entries SELECT 3, body, hash FROM entries WHERE seq = 5",
            "INSERT INTO entries SELECT -1, body, hash FROM entries WHERE seq = 5",
        ],
    )
    def test_the_file_itself_refuses_changes(self, spent, statement):
        connection = sqlite3.connect(spent.path)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
        connection.close()

    @pytest.mark.parametrize(
        "statements",
        [
            ("UPDATE entries SET body = replace(body, '\"epsilon\":0.1', '\"epsilon\":0.01')",),
            ("UPDATE entries SET body = replace(body, 'fit', 'fat') WHERE seq = 9",),
            ("UPDATE entries SET hash = upper(hash) WHERE seq = 4",),
            ("UPDATE entries SET body = NULL WHERE 0", "UPDATE entries SET body = x'00'"),
            ("DELETE FROM entries WHERE seq = 1",),
            ("DELETE FROM entries WHERE seq = 5",),
            ("DELETE FROM entries WHERE seq = 10",),
            ("DELETE FROM entries",),
            ("DELETE FROM entries WHERE seq = 5",
             "UPDATE entries SET seq = seq - 1 WHERE seq > 5"),
            ("UPDATE entries SET seq = 99 WHERE seq = 5",
             "UPDATE entries SET seq = 5 WHERE seq = 6",
             "UPDATE entries SET seq = 6 WHERE seq = 99"),
            ("CREATE TABLE more (x)",),
            ("PRAGMA application_id=7",),
            ("UPDATE sqlite_sequence SET seq = 11",),
        ],
    )  # fmt: skip
    def test_what_was_changed_all_the_same_is_found(self, spent, statements):
        spent.verify()
        tamper(spent.path, *statements)
        for ask in (
            spent.verify,
            spent.datasets,
            lambda: spent.show("d"),
            lambda: spend(spent),
        ):
            with pytest.raises(LedgerError):
                ask()

    def test_a_missing_trigger_is_found(self, spent):
        connection = sqlite3.connect(spent.path)
        connection.execute("DROP TRIGGER entries_never_go")
        connection.close()
        with pytest.raises(LedgerError, match="its tables were changed"):
            spent.verify()

    def test_a_write_ahead_log_is_refused(self, spent):
        connection = sqlite3.connect(spent.path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
        with pytest.raises(LedgerError, match="write-ahead log"):
            spend(spent)

    def test_an_old_copy_is_found_by_its_head(self, ledger):
        spend(ledger)
        old = Path(ledger.path).read_bytes()
        spend(ledger)
        noted = ledger.verify()
        spend(ledger)
        assert ledger.verify(noted.head).entries == noted.entries + 1
        Path(ledger.path).write_bytes(old)
        ledger.verify()
        with pytest.raises(LedgerError, match="older copy"):
            ledger.verify(noted.head)

    @pytest.mark.parametrize("size", [0, 1, 100, 4096, 8192, -4096, -1])
    def test_a_truncated_file_is_found(self, spent, size):
        whole = Path(spent.path).read_bytes()
        Path(spent.path).write_bytes(whole[:size])
        for ask in (spent.verify, lambda: spend(spent)):
            with pytest.raises(LedgerError, match="cannot be used"):
                ask()

    def test_verify_checks_the_file_as_well(self, spent):
        # Damage that reading the entries does not meet: a page that nothing points to.
        whole = bytearray(Path(spent.path).read_bytes())
        count = int.from_bytes(whole[28:32], "big") + 1
        whole[28:32] = count.to_bytes(4, "big")
        Path(spent.path).write_bytes(bytes(whole) + bytes(4096))
        spent.show("d")
        with pytest.raises(LedgerError, match="never used"):
            spent.verify()

    @pytest.mark.parametrize(
        "entry",
        [
            {"kind": "ledger", "version": 1, "name": "again"},
            {"kind": "refund", "reservation": 3},
            {"kind": ["commit"]},
            {"kind": "commit", "reservation": 3},
            {"kind": "commit", "reservation": 999},
            {"kind": "commit", "reservation": [3]},
            {"kind": "budget", "dataset": "d", "relation": "zero-out", "filter": "basic",
             "numbers": {"epsilon": 9.0, "delta": 1e-3}},
            {"kind": "budget", "dataset": "e", "relation": "zero-out", "filter": "none",
             "numbers": {}},
            {"kind": "reserve", "dataset": "e", "cost": {}},
            *({"kind": "reserve", "dataset": "d", "label": "", "time": "", "epsilon": 0.1,
               "delta": 1e-6, "releases": [], "cost": cost} for cost in (
                {"epsilon": -1.0, "delta": 1e-6}, {"epsilon": 5.0, "delta": 1e-6},
                {"epsilon": 0.1})),
        ],
    )  # fmt: skip
    def test_entries_against_the_rules_are_refused_though_rightly_hashed(self, spent, entry):
        forge(spent.path, entry)
        with pytest.raises(LedgerError, match="not one that this version of dpscd writes"):
            spent.verify()

    @pytest.mark.parametrize(
        "body",
        ['{"seq": 1}', "[]", "NaN", "{", "[" * 100_000, '{"kind":"ledger","seq":1,"version":2}',
         '{"kind":"ledger","seq":2,"version":1}', '{"kind":"commit","seq":1}'],
    )  # fmt: skip
    def test_what_is_no_entry_is_refused(self, body):
        entries = Entries()
        with pytest.raises(LedgerError, match="not one that this version"):
            entries.read(1, body, link(entries.head, body))
        assert entries.hashes == []


class TestFiles:
    def test_a_missing_ledger_says_how_to_make_one(self, tmp_path):
        ledger = Ledger(tmp_path / "none.db")
        with pytest.raises(LedgerError, match="create it with `dpscd budget init"):
            ledger.show("d")
        assert not (tmp_path / "none.db").exists()

    def test_foreign_files_are_refused_and_left_alone(self, tmp_path):
        foreign = tmp_path / "foreign.db"
        connection = sqlite3.connect(foreign)
        connection.execute("CREATE TABLE people (name)")
        connection.commit()
        connection.close()
        text = tmp_path / "notes.txt"
        text.write_text("not a database, but long enough to have a header of its own\n" * 40)
        for path in (foreign, text, tmp_path):
            before = path.read_bytes() if path.is_file() else None
            with pytest.raises(LedgerError, match="cannot be used"):
                Ledger.init(path, "d", 1.0, 1e-5)
            with pytest.raises(LedgerError, match="cannot be used"):
                Ledger(path).show("d")
            assert (path.read_bytes() if path.is_file() else None) == before

    def test_an_empty_file_becomes_a_ledger_by_init_only(self, tmp_path):
        path = tmp_path / "empty.db"
        path.touch()
        with pytest.raises(LedgerError, match="no ledger of dpscd"):
            Ledger(path).datasets()
        assert Ledger.init(path, "d", 1.0, 1e-5).datasets() == ("d",)

    def test_the_ledger_is_one_file(self, ledger):
        ledger.commit(spend(ledger))
        assert os.listdir(Path(ledger.path).parent) == ["budget.db"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Return the bytes of a ledger, what it shows, and a place for damaged copies."""
    folder = tmp_path_factory.mktemp("fuzz")
    ledger = Ledger.init(folder / "whole.db", "d", 1.0, 1e-4)
    Ledger.init(ledger.path, "r", 1.0, 1e-5, filter="renyi")
    for dataset in ("d", "r", "d"):
        ledger.commit(spend(ledger, dataset=dataset))
    shown = [ledger.show("d"), ledger.show("r"), ledger.history("d"), ledger.verify()]
    return Path(ledger.path).read_bytes(), shown, folder / "copy.db"


def try_all(path, content, shown):
    """Nothing but LedgerError may happen, and nothing may show less than was spent."""
    for leftover in path.parent.glob("copy.db*"):
        leftover.unlink()
    path.write_bytes(content)
    ledger = Ledger(path)
    found = []
    for ask in (lambda: ledger.show("d"), lambda: ledger.show("r"),
                lambda: ledger.history("d"), ledger.verify):  # fmt: skip
        try:
            found.append(ask())
        except LedgerError:
            found.append(None)
    assert all(one in (None, right) for one, right in zip(found, shown, strict=True))
    try:
        spend(ledger)
        assert ledger.show("d").spent_epsilon == 0.3
    except LedgerError:
        pass


@given(content=st.binary(max_size=300), header=st.booleans())
def test_random_bytes_are_no_ledger(sample, content, header):
    whole, shown, path = sample
    content = whole[:100] + content if header else content
    try_all(path, content, [None] * len(shown))


@given(data=st.data())
def test_flipped_bytes_are_found_or_harmless(sample, data):
    whole, shown, path = sample
    used = [0, *range(100), *(k for k in range(100, len(whole)) if whole[k])]
    places = st.one_of(st.sampled_from(used[:100]), st.sampled_from(used))
    content = bytearray(whole)
    for place in data.draw(st.lists(places, min_size=1, max_size=3, unique=True)):
        content[place] ^= data.draw(st.integers(1, 255))
    try_all(path, bytes(content), shown)


def test_releases_given_one_by_one_are_charged(tmp_path):
    ledger = Ledger.init(tmp_path / "budget.db", "d", epsilon=1.0, delta=1e-4, filter="renyi")
    ledger.reserve("d", iter([RELEASE]), 0.1, 1e-6, "zero-out")
    assert ledger.show("d").spent_epsilon > 0.0
    assert len(ledger.history("d")[0].releases) == 1


def test_a_ledger_with_a_second_name_is_refused(ledger, tmp_path):
    os.link(ledger.path, tmp_path / "other.db")
    with pytest.raises(LedgerError, match="hard link"):
        spend(ledger)


@pytest.mark.parametrize("name", [" d", "d ", "e\u0301", "\u2160"])
def test_names_that_look_the_same_are_refused(tmp_path, name):
    with pytest.raises(ParameterError, match="normal form"):
        Ledger.init(tmp_path / "budget.db", name, epsilon=1.0, delta=1e-4)


@pytest.mark.parametrize("changes", [{"filter": "renyi"}, {"person": "patient"}])
def test_a_ledger_that_is_replaced_meanwhile_is_noticed(ledger, tmp_path, monkeypatch, changes):
    other = Ledger.init(tmp_path / "other.db", "d", epsilon=1.0, delta=1e-4, **changes)
    monkeypatch.setattr(
        module, "fit_cost", lambda *_: os.replace(other.path, ledger.path) or {"epsilon": 0.1}
    )
    with pytest.raises(LedgerError, match="replaced"):
        spend(ledger)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(LedgerError, match="no folder"):
        Ledger.init(tmp_path / "none" / "budget.db", "d", epsilon=1.0, delta=1e-4)


def test_a_seeded_fit_is_marked_and_old_entries_are_not(ledger):
    spend(ledger)
    number = ledger.reserve("d", [RELEASE], 0.1, 1e-6, "zero-out", seeded=True)
    assert [x.seeded for x in ledger.history("d")] == [False, True]
    assert ledger.show("d").seeded == 1
    old = entry_of(ledger.path)
    assert old.pop("seeded") is True
    forge(ledger.path, old)  # as an earlier version wrote it
    assert [x.seeded for x in ledger.history("d")] == [False, True, False]
    forge(ledger.path, {**old, "seeded": 1})
    with pytest.raises(LedgerError, match="not one that this version"):
        ledger.show("d")
    assert number == 4


def test_a_budget_that_forbids_a_look_says_so_and_others_are_written_as_ever(ledger):
    Ledger.init(ledger.path, "closed", 1.0, 1e-5, forbid_look=True)
    assert [ledger.show(name).forbids_look for name in ("d", "closed")] == [False, True]
    assert "forbids_look" not in entry_of(ledger.path, 1)
    own = {**entry_of(ledger.path, 2), "dataset": "other", "forbids_look": "no"}
    forge(ledger.path, own)
    with pytest.raises(LedgerError, match="not one that this version"):
        ledger.show("closed")


def test_a_seal_is_one_of_its_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_now", lambda: "2030-01-01T00:00:00Z")
    salts = set()
    for name in ("a.db", "b.db"):
        ledger = Ledger.init(tmp_path / name, "d", epsilon=1.0, delta=1e-4)
        numbers = [spend(ledger), spend(ledger)]
        salts |= {ledger.stream_salt(number) for number in numbers}
        assert [row[2] for row in rows(ledger.path)[2:]] == [
            ledger.stream_salt(x) for x in numbers
        ]
        for wrong in (2, 5, 0):
            with pytest.raises(LedgerError, match="no reservation"):
                ledger.stream_salt(wrong)
    assert len(salts) == 4


# --- units ---------------------------------------------------------------------------------

PATIENT, DOCTOR, GROUPS = Unit(person="patient"), Unit(person="doctor"), Unit(groups=True)


def spend_as(ledger, unit, dataset="d"):
    return ledger.reserve(dataset, [RELEASE], 0.1, 1e-6, "zero-out", unit=unit.text)


def with_unit(path, unit):
    return Ledger.init(path, "d", 1.0, 1e-4, person=unit.person, groups=unit.groups)


@pytest.mark.parametrize("unit", [RECORD, PATIENT, GROUPS])
def test_a_budget_has_a_unit_and_says_so(tmp_path, unit):
    ledger = with_unit(tmp_path / "budget.db", unit)
    ledger.commit(spend_as(ledger, unit))
    assert ledger.show("d").unit == unit.text
    (fit,) = ledger.history("d")
    assert fit.unit == unit.text
    assert ledger.show("d").spent_epsilon == 0.1
    assert ledger.verify().entries == 4
    stated = [json.loads(body).get("unit") for _, body, _ in rows(ledger.path)]
    # Entries of records are what they were before there were units.
    assert stated == [None, *[unit.text if unit.is_person else None] * 2, None]


@pytest.mark.parametrize(
    ("budget", "fit", "why"),
    [
        (PATIENT, RECORD, "a charge for records never covers a person"),
        (GROUPS, RECORD, "a charge for records never covers a person"),
        (RECORD, PATIENT, "not one of their records"),
        (RECORD, GROUPS, "not one of their records"),
        (PATIENT, DOCTOR, "neither unit covers the other"),
        (PATIENT, GROUPS, "neither unit covers the other"),
        (GROUPS, PATIENT, "neither unit covers the other"),
    ],
)
def test_a_fit_with_another_unit_is_refused_in_words(tmp_path, budget, fit, why):
    ledger = with_unit(tmp_path / "budget.db", budget)
    before = rows(ledger.path)
    with pytest.raises(LedgerError, match=why) as refused:
        spend_as(ledger, fit)
    typed = (
        "" if not fit.is_person else " --groups" if fit.groups else f" --person {fit.person}"
    )
    command = "dpscd budget init LEDGER --dataset NAME --epsilon 1 --delta 0.0001 --relation "
    for part in ("dataset='d'", repr(budget.text), repr(fit.text), command):
        assert part in str(refused.value)
    assert str(refused.value).endswith(f"zero-out{typed if fit.is_person else ''}")
    assert rows(ledger.path) == before


def test_a_unit_that_nobody_knows_is_refused(ledger, tmp_path):
    for bad in ("", "a person", None, PATIENT):
        with pytest.raises(ParameterError, match="unit must be"):
            ledger.reserve("d", [RELEASE], 0.1, 1e-6, "zero-out", unit=bad)
    for options in ({"person": ""}, {"person": "a", "groups": True}, {"person": "a\nb"}):
        with pytest.raises(ParameterError):
            Ledger.init(tmp_path / "none.db", "d", 1.0, 1e-4, **options)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("budget", [RECORD, PATIENT])
@pytest.mark.parametrize("unit", [None, "a record", DOCTOR.text, GROUPS.text, ["a"], 7])
def test_a_forged_charge_with_another_unit_stops_the_ledger(tmp_path, budget, unit):
    ledger = with_unit(tmp_path / "budget.db", budget)
    spend_as(ledger, budget)
    forge(ledger.path, {**entry_of(ledger.path), "unit": unit})
    with pytest.raises(LedgerError, match="not one that this version"):
        ledger.show("d")


def test_a_charge_without_its_unit_is_one_of_a_record(tmp_path):
    ledger = with_unit(tmp_path / "budget.db", PATIENT)
    spend_as(ledger, PATIENT)
    entry = entry_of(ledger.path)
    del entry["unit"]
    forge(ledger.path, entry)
    with pytest.raises(LedgerError, match="not one that this version"):
        ledger.verify()


def test_a_forged_budget_with_a_strange_unit_stops_the_ledger(ledger):
    forge(ledger.path, {**entry_of(ledger.path, 1), "dataset": "e", "unit": "everybody"})
    with pytest.raises(LedgerError, match="not one that this version"):
        ledger.show("d")
