"""The verbs for rows in .npy files: from fit to export, and how they fail."""

import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import answer, call, refusal
from dpscd import DPLogisticRegression, DPRidge, Ledger, load, to_onnx, to_sklearn
from dpscd.cli.fit import declared_classes
from refits import with_numbers

SECRET = "canary-9087"
N, D, K = 3000, 5, 3
LABELS = ("--labels", "y.npy")


def samples(count=N, seed=0):
    """Return rows of length 1 that float16 and bfloat16 hold exactly, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, count)
    X = rng.integers(-8, 9, size=(count, D)) / 64 + np.eye(K, D)[y] / 2
    return X.astype(np.float32), y


def fit_words(*words, data="x.npy"):
    return ("fit", data, "--labels", "y.npy", "--out", "m.json", *words)


def fails(*words):
    said = refusal(*words)
    assert SECRET not in said
    assert not Path("m.json").exists() or words[0] != "fit"
    return said


@pytest.fixture(autouse=True)
def files(folder, trained):
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    X, y = samples()
    np.save("x.npy", X)
    np.save("half.npy", X.astype(np.float16))
    np.save("bits.npy", (X.view(np.uint32) >> 16).astype(np.uint16))
    np.save("y.npy", y)
    (folder / "parts").mkdir()
    np.save("parts/0.npy", X[:1000].astype(np.float16))
    np.save("parts/1.npy", X[1000:])
    np.save("y0.npy", y[:1000])
    np.save("y1.npy", y[1000:])
    return X, y


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    X, y = samples()
    logistic = DPLogisticRegression(4.0, classes=list(range(K)), random_state=0)
    logistic.fit(X, y).save(folder / "logistic.json")
    ridge = DPRidge(4.0, y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0])
    ridge.save(folder / "ridge.json")
    return folder


# --- from fit to export -----------------------------------------------------------------


@pytest.mark.full
def test_from_files_to_a_model_that_others_can_serve(files):
    X, y = files
    said = call(*fit_words("--classes", K, "--epsilon", 4)).stdout
    assert said == (
        "DPLogisticRegression for 3 classes: (4, 1e-05)-differentially private, 3,000 records, "
        "5 features.\nWrote m.json\n"
    )
    card = load("m.json").privacy_
    assert card.facts.classes == (0, 1, 2)
    assert card.facts.declared
    found = answer("evaluate", "m.json", "x.npy", *LABELS)
    assert found["records"] == N
    assert found["metrics"]["accuracy"] > 0.9
    call("predict", "m.json", "x.npy", "--proba", "--out", "p.csv")
    answers = pd.read_csv("p.csv")
    model = load("m.json")
    np.testing.assert_array_equal(answers["prediction"], model.predict(X))
    chances = answers[[f"probability {k}" for k in range(K)]]
    np.testing.assert_allclose(chances, model.predict_proba(X), rtol=1e-9)
    assert found["metrics"]["accuracy"] == np.mean(answers["prediction"] == y)
    np.testing.assert_array_equal(to_sklearn(model).predict(X), model.predict(X))
    to_onnx(model, "m.onnx")
    assert Path("m.onnx").stat().st_size > 0
    for verb in (("verify",), ("inspect",), ("report", "--out", "r.html")):
        call(verb[0], "m.json", *verb[1:])


@pytest.mark.full
def test_one_model_however_rows_are_stored(files):
    X, y = files
    model = DPLogisticRegression(classes=list(range(K)), random_state=3).fit(X, y)
    parts = ("--labels", "y0.npy", "--labels", "y1.npy")
    for words in (
        ("x.npy", *LABELS),
        ("half.npy", *LABELS),
        ("bits.npy", "--bfloat16", *LABELS),
        ("parts", *LABELS),
        ("parts/0.npy", "parts/1.npy", *parts),
    ):
        call("fit", *words, "--classes", K, "--out", "m.json", "--seed", 3)
        np.testing.assert_array_equal(load("m.json").coef_, model.coef_, words[0])


@pytest.mark.full
def test_every_verb_reads_bfloat16(files):
    X, y = files
    model = load("logistic.json")
    words = ("logistic.json", "bits.npy", "--bfloat16")
    call("predict", *words, "--out", "p.csv")
    np.testing.assert_array_equal(pd.read_csv("p.csv")["prediction"], model.predict(X))
    found = answer("evaluate", *words, *LABELS)["metrics"]["accuracy"]
    assert found == model.score(X, y)


def test_a_regression_on_rows(files):
    X, _ = files
    np.save("y.npy", X[:, 0].astype(np.float16))
    said = call(*fit_words("--bounds", -1, 1, "--epsilon", 4, "--row-bound", 2)).stdout
    assert said.startswith("DPRidge for numbers from -1 to 1: ")
    model = load("m.json")
    assert (model.row_bound, *model.y_bounds) == (2.0, -1.0, 1.0)
    evaluate = ("evaluate", "m.json", "x.npy", *LABELS)
    assert answer(*evaluate)["metrics"]["R2"] > 0.5
    noisy = call(*evaluate, "--private-epsilon", 1).stdout
    assert "mean absolute error on 3,000 records: " in noisy


def test_fit_in_json_and_charged():
    Ledger.init("b.db", "people", 3.0, 1e-4)
    charge = ("--ledger", "b.db", "--dataset", "people")
    values = answer(*fit_words("--classes", "0,1,2", "--model", "svm", *charge))
    assert (values["type"], values["features"]) == ("DPLinearSVC", D)
    assert values["read_from_data"] == []
    assert Ledger("b.db").show("people").spent_epsilon > 0
    call("evaluate", "m.json", "x.npy", *LABELS)  # which has no probabilities


def test_labels_that_are_texts(files):
    _, y = files
    names = np.array(["cat", "dog", "eel"])
    np.save("y.npy", names[y])
    call(*fit_words("--classes", "cat,dog,eel", "--epsilon", 4))
    call("predict", "m.json", "half.npy", "--out", "p.csv")
    assert np.mean(pd.read_csv("p.csv")["prediction"] == names[y]) > 0.9


def test_a_label_that_is_no_class_is_silent_everywhere(files):
    X, y = files
    other = y.copy()
    other[:10] = 987654
    np.save("y.npy", other)
    said = call(*fit_words("--classes", K))
    assert "987654" not in said.output
    model = load("m.json")
    found = answer("evaluate", "m.json", "x.npy", *LABELS)["metrics"]["accuracy"]
    assert found == model.score(X[10:], y[10:])


def test_no_rows_at_all():
    np.save("x.npy", np.empty((0, D), np.float16))
    np.save("y.npy", np.empty(0, int))
    call("predict", "logistic.json", "x.npy", "--proba", "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == 0
    for more in ((), ("--private-epsilon", 1)):
        said = fails("evaluate", "logistic.json", "x.npy", *LABELS, *more)
        assert said == "error: the table has no records.\n"
    assert "0 sample" in fails(*fit_words("--classes", K))


# --- how they fail ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "give --classes with the classes of --labels, or --bounds"),
        (("--classes", 2, "--bounds", 0, 1), "one of both"),
        (("--classes", 1), "must be a number from 2 to 100000"),
        (("--classes", SECRET[:6]), "or the labels with commas between"),
        (("--classes", "1,1"), "at least two different labels"),
        (("--classes", 3, "--model", "ridge"), "--model ridge needs --bounds"),
        (("--bounds", 0, 1, "--model", "svm"), "--model svm needs --classes"),
        (("--bounds", 1, 0), "--bounds 1 0 must be two"),
        (("--classes", 3, "--row-bound", 0), "--row-bound 0 must be"),
        (("--classes", 3, "--schema", "s.toml"), "--schema goes with files of a table"),
        (("--classes", 3, "--person", "id"), "--person goes with files of a table"),
        (("--classes", 3, "--max-rows", 2), "--max-rows goes with files of a table"),
        (("--classes", 3, "--dask", "local"), "--dask goes with files of a table"),
        (("--classes", 3, "--bfloat16"), "stored as whole numbers of 16 bits"),
    ],
)
def test_options_that_do_not_go_together(words, text):
    assert text in fails(*fit_words(*words))


def test_tables_and_rows_do_not_mix():
    Path("t.csv").write_text("a\n1\n")
    assert "not both" in fails("fit", "x.npy", "t.csv", "--out", "m.json")
    assert "a table needs --schema" in fails("fit", "t.csv", "--out", "m.json")
    for option in (("--labels", "y.npy"), ("--classes", 3), ("--bfloat16",)):
        said = fails("fit", "t.csv", "--out", "m.json", *option)
        assert f"{option[0]} goes with rows in .npy files" in said
    model = "logistic.json"
    assert "holds an estimator without schema" in fails("predict", model, "t.csv")
    assert "--labels and --bfloat16" in fails("evaluate", model, "t.csv", "--labels", "y.npy")
    assert "--bfloat16 goes with" in fails("predict", model, "t.csv", "--bfloat16")
    assert "--keep copies columns" in fails("predict", model, "x.npy", "--keep", "id")
    said = fails("predict", "ridge.json", "x.npy", "--proba")
    assert "DPRidge has no probabilities" in said
    assert "need --labels" in fails("evaluate", model, "x.npy")


def test_a_model_of_tables_reads_no_rows():
    Path("s.toml").write_text(
        '[target]\ncolumn = "y"\nclasses = ["a", "b"]\n[columns.x]\nkind = "boolean"\n'
    )
    pd.DataFrame({"x": ["true", "false"] * 50, "y": ["a", "b"] * 50}).to_csv("t.csv")
    call("fit", "t.csv", "--schema", "s.toml", "--out", "m.json")
    assert "holds a model of tables" in fails("predict", "m.json", "x.npy")


@pytest.mark.parametrize("which", ["x.npy", "y.npy"])
def test_python_objects_are_refused(which):
    objects = np.array([SECRET] * N, dtype=object)
    np.save(which, objects if which == "y.npy" else objects[:, None], allow_pickle=True)
    said = fails(*fit_words("--classes", K))
    assert said.startswith(f"error: {which} is not an array in NumPy's format (.npy)")


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([np.zeros(N - 1, int)], "as many labels as there are rows"),
        ([np.zeros((N, 1), int)], "one dimension"),
        ([np.zeros(N - 1, int), np.zeros(1, np.int8)], "all be of one type"),
    ],
)
def test_labels_that_do_not_belong_to_the_rows(labels, text):
    options = []
    for place, part in enumerate(labels):
        np.save(f"l{place}.npy", part)
        options += ["--labels", f"l{place}.npy"]
    said = fails("fit", "x.npy", *options, "--classes", K, "--out", "m.json")
    assert text in said
    assert str(N) not in said


def test_a_cell_that_is_no_number_is_refused_in_fixed_words():
    X = np.load("half.npy")
    X[7, 1] = np.nan
    np.save("half.npy", X)
    said = fails(*fit_words("--classes", K, data="half.npy"))
    assert said.startswith("error: Input X contains NaN, infinity, text or dates")


def test_classes_that_are_declared():
    assert declared_classes("4") == [0, 1, 2, 3]
    assert declared_classes("3, 5") == [3, 5]
    assert declared_classes("-1,1") == [-1, 1]
    assert declared_classes("a,b 2") == ["a", "b 2"]


def test_inspect_shows_of_many_classes_the_highest_and_the_lowest(tmp_path):
    coef = np.arange(24.0).reshape(6, 4) - 12.0
    coef[:, 0] = [0.0, 3.0, -2.0, 1.0, 9.0, -7.0]
    model = DPLogisticRegression(math.inf, classes=list("abcdef"), lam=1.0)
    model.fit(np.eye(6, 4), list("abcdef"))
    path = tmp_path / "m.json"
    with_numbers(model, coef=coef).save(path)
    said = call("inspect", path, "--top", 4).stdout
    line = next(line for line in said.splitlines() if "feature 0" in line)
    cells = [x.strip() for x in line.strip("│ ").split("│")]
    assert cells == ["feature 0", "e", "+9.0000", "f", "-7.0000", "0.0000"]
    assert "most against" in said


def test_how_long_a_label_is_decides_nothing_before_the_charge(files):
    X, y = files
    names = np.array(["cat", "dog", "parrots"])[y]
    names[:1000][names[:1000] == "parrots"] = "dog"
    texts = [np.array(part.tolist()) for part in (names[:1000], names[1000:])]
    assert texts[0].dtype != texts[1].dtype  # one label of seven letters makes the difference
    np.save("y0.npy", texts[0])
    np.save("y1.npy", texts[1])
    words = ("--labels", "y0.npy", "--labels", "y1.npy", "--classes", "cat,dog,parrots")
    call("fit", "parts", *words, "--epsilon", 4, "--seed", 0, "--out", "m.json")
    model = DPLogisticRegression(4.0, classes=["cat", "dog", "parrots"], random_state=0)
    model.fit(X, names.tolist())
    np.testing.assert_array_equal(load("m.json").coef_, model.coef_)
