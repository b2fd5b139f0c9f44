"""Data sets and tables: the real ones by size, sums and bounds, refusals, scores."""

import os

import numpy as np
import pytest
from invented import invented
from scipy import sparse
from sklearn import metrics as sk

from dpscd import DPLinearSVC, DPLogisticRegression
from dpscd.errors import ParameterError
from dpscd_experiments.datasets import DATASETS, load_dataset
from dpscd_experiments.metrics import decision_metrics, probability_metrics, regression_metrics
from dpscd_experiments.sources import DatasetMissing
from dpscd_experiments.tables import TABLES, load_table, read_schema

pytestmark = pytest.mark.full

# Rows to train on, to tune on and for test; columns; mean label and sum of the test rows.
FACTS = {
    "adult": ((24420, 8141, 16281, 81), -0.5275474479, 36453.7294704),
    "phishing": ((6218, 2073, 2764, 68), 0.1056439942, 15139.0514894),
    "msd": ((5508, 1836, 818, 90), -0.2657161932, 1636.5387023),
    "covtype": ((348606, 116203, 116203, 54), -0.0258082838, 337491.8889334),
    "w8a": ((29849, 9950, 9950, 300), -0.9350753769, 29977.8624044),
    "nycflights13": ((196407, 65469, 65470, 64), 6.6780051932, 129922.6012270),
    "bank": ((24712, 8238, 8238, 75), -0.7708181597, 17075.2464766),
}
# Rows to train on and for test; mean target of the former and the sum of their numbers.
TABLE_FACTS = {
    "adult": ((32561, 16281), 0.2408095574, 41190353.0),
    "bank": ((32950, 8238), 0.1121699545, 174154223.152),
    "nycflights13": ((261876, 65470), 6.9076471307, 701590110.0),
    "covtype": ((464809, 116203), 0.4877250657, 3895940403.0),
}


def skip_without_data(name):
    if name != "adult" and not os.environ.get("DPSCD_DATA"):  # Adult is packaged
        pytest.skip("DPSCD_DATA is not set: the real data sets are not packaged")


@pytest.mark.parametrize("name", DATASETS)
def test_data_sets_are_those_of_their_publishers(name):
    skip_without_data(name)
    data = load_dataset(name)
    labels = data.y, data.y_validation, data.y_test
    for X, y in zip((data.X, data.X_validation, data.X_test), labels, strict=True):
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        assert np.sqrt(squares.sum(axis=1)).max() <= 1.0 + 1e-12
        if data.task == "classification":
            assert set(y) == {-1, 1} == set(data.classes)
        else:
            assert data.y_bounds[0] <= y.min() <= y.max() <= data.y_bounds[1]
    found = (*map(len, labels), data.X.shape[1]), data.y_test.mean(), data.X_test.sum()
    size, *sums = FACTS[name]
    assert (found[0], list(found[1:])) == (size, pytest.approx(sums, rel=1e-9))


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_their_publishers_and_no_schema_reads_records(name):
    for shape in ("smooth", "steps", None):
        schema = read_schema(name, shape)
        numbers = [column for column in schema.features if column.kind == "number"]
        assert {(column.shape, column.bins) for column in numbers} == {(shape, None)}
        assert not schema.read_from_data
    skip_without_data(name)
    table = load_table(name).read()
    total = sum(np.nansum(cells) for cells in table.train.columns.values())
    size, *sums = TABLE_FACTS[name]
    assert (len(table.train), len(table.test)) == size
    assert [table.train.target.mean(), total] == pytest.approx(sums, rel=1e-9)


def test_no_record_is_in_two_parts():
    raw = invented("bank", n=60)
    raw.cells["age"] = range(20, 80)
    table = raw.read()
    tuning = table.tuning()
    parts = [one.columns["age"] for one in (tuning.train, tuning.test, table.test)]
    assert [len(part) for part in parts] == [30, 10, 20]
    assert sorted(np.concatenate(parts)) == list(range(20, 80))
    assert set(parts[0]) | set(parts[1]) == set(table.train.columns["age"])


@pytest.mark.parametrize(("load", "names"), [(load_dataset, DATASETS), (load_table, TABLES)])
def test_missing_and_unknown_data(load, names, tmp_path, monkeypatch):
    for name in set(names) - {"adult"}:
        monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
        with pytest.raises(DatasetMissing, match=f"not in '{tmp_path}'.*DPSCD_DATA"):
            load(name)
        monkeypatch.delenv("DPSCD_DATA")
        with pytest.raises(DatasetMissing, match="set the environment variable DPSCD_DATA"):
            load(name)
    with pytest.raises(ParameterError, match="one of adult, "):
        load("iris")


@pytest.mark.filterwarnings("ignore:delta=0.001:dpscd.PrivacyWarning")
@pytest.mark.parametrize(
    ("kind", "epsilon", "bar"),
    [(DPLinearSVC, 0.1, 0.815), (DPLinearSVC, 1.0, 0.834),
     (DPLogisticRegression, 0.1, 0.820), (DPLogisticRegression, 1.0, 0.833)],
)  # fmt: skip
def test_untuned_accuracy_on_adult_as_in_the_paper(kind, epsilon, bar):
    data, scores = load_dataset("adult"), []
    for seed in range(10):
        model = kind(epsilon, delta=1e-3, random_state=seed, **data.fit_parameters)
        scores.append(model.fit(data.X, data.y).score(data.X_test, data.y_test))
    assert np.median(scores) >= bar


def test_scores_of_probabilities_agree_with_scikit_learn():
    chance, other = np.random.default_rng(0).random((2, 500))
    found, truth = probability_metrics(other < chance, chance), (other < chance, chance)
    assert found["log_loss"] == pytest.approx(sk.log_loss(*truth))
    assert found["brier"] == pytest.approx(sk.brier_score_loss(*truth))
    assert np.isnan([*decision_metrics([1, 0], [np.nan] * 2).values()]).all()
    assert np.isnan(regression_metrics([1.0, 1.0], [0.0, 1.0])["r2"])
    by_hand = probability_metrics([0, 1, 1, 1], [0.11, 0.19, 0.95, 1.0])["calibration"]
    np.testing.assert_allclose(by_hand, [(0.15, 0.5), (0.975, 1.0)])
