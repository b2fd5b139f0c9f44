"""The transformers: scikit-learn's contract, and that fitting reads no value."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from dpscd import (
    DataError,
    DataTypeError,
    DPLogisticRegression,
    ParameterError,
    RowScaler,
    Schema,
    SchemaError,
    TableEncoder,
)

SCHEMA = {
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {
        "a": {"kind": "number", "bounds": [0, 10]},
        "c": {"kind": "category", "values": ["u", "v"]},
    },
}
TABLE = pd.DataFrame({"a": [0.0, 5.0, 10.0], "c": ["u", "z", "v"], "y": ["no", "yes", "no"]})
LEVELS = {"kind": "category", "values": [str(k) for k in range(40)]}
WIDE = {**SCHEMA, "columns": {"c": LEVELS}}


def test_a_schema_may_be_given_in_three_ways(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        '[target]\ncolumn="y"\nclasses=["no","yes"]\n[columns.a]\nkind="number"\n'
        'bounds=[0,10]\n[columns.c]\nkind="category"\nvalues=["u","v"]\n'
    )
    given = [SCHEMA, Schema.from_dict(SCHEMA), file, str(file)]
    found = [TableEncoder(one).fit_transform(TABLE) for one in given]
    for one in found:
        np.testing.assert_array_equal(one, found[0])


def test_table_encoder_keeps_names_and_output_containers():
    encoder = TableEncoder(SCHEMA).fit(TABLE)
    names = ["a", "c=u", "c=v", "c=(other)"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.feature_names_in_.tolist() == ["a", "c", "y"]
    assert encoder.n_features_in_ == 3
    found = clone(encoder).set_output(transform="pandas").fit_transform(TABLE)
    assert found.columns.tolist() == names
    assert isinstance(encoder.transform(TABLE.drop(columns="y")), np.ndarray)


def test_sparse_output_is_chosen_or_asked_for():
    table = pd.DataFrame({"c": ["1", "99"]})
    assert scipy.sparse.issparse(TableEncoder(WIDE).fit_transform(table))
    dense = TableEncoder(WIDE, sparse_output=False).fit_transform(table)
    assert not scipy.sparse.issparse(dense)
    assert scipy.sparse.issparse(TableEncoder(SCHEMA, sparse_output=True).fit_transform(TABLE))
    with pytest.raises(ParameterError, match="sparse_output='yes'"):
        TableEncoder(SCHEMA, sparse_output="yes").fit(TABLE)


def test_fitting_reads_no_value():
    other = pd.DataFrame({"a": ["secret"], "c": [object()]})
    first = TableEncoder(SCHEMA).fit(TABLE).transform(TABLE)
    np.testing.assert_array_equal(TableEncoder(SCHEMA).fit(other).transform(TABLE), first)


def test_what_a_table_encoder_cannot_do_is_said():
    with pytest.raises(DataTypeError, match="pandas, polars or Arrow"):
        TableEncoder(SCHEMA).fit(np.zeros((2, 2)))
    with pytest.raises(SchemaError, match="no column 'a'"):
        TableEncoder(SCHEMA).fit(TABLE.drop(columns="a"))
    private = {**SCHEMA, "columns": {"a": {"kind": "number", "bounds": "private"}}}
    with pytest.raises(SchemaError, match="need a budget"):
        TableEncoder(private).fit(TABLE)
    with pytest.raises(NotFittedError):
        TableEncoder(SCHEMA).transform(TABLE)


def test_in_a_pipeline_and_a_column_transformer():
    generator = np.random.default_rng(0)
    table = pd.DataFrame({"a": generator.uniform(0, 10, 4000), "c": "u"})
    y = np.where(table["a"] > 5, "yes", "no")
    estimator = DPLogisticRegression(epsilon=5.0, classes=["no", "yes"], random_state=0)
    model = make_pipeline(TableEncoder(SCHEMA), estimator).fit(table, y)
    assert model.score(table, y) > 0.95
    numbers = TableEncoder({"columns": {"a": {**SCHEMA["columns"]["a"], "bins": 4}}})
    texts = TableEncoder({"columns": {"c": {"kind": "category", "values": ["u"]}}})
    parts = ColumnTransformer([("numbers", numbers, ["a"]), ("texts", texts, ["c"])])
    model = make_pipeline(parts, RowScaler(), clone(estimator)).fit(table, y)
    assert model.score(table, y) > 0.95
    assert model[:-1].get_feature_names_out().tolist()[-1] == "texts__c=(other)"


@pytest.mark.parametrize("bound", [0.0, "1"])
def test_bad_lengths_are_refused(bound):
    with pytest.raises(ParameterError, match=f"bound={bound!r}"):
        RowScaler(bound).fit([[0.0, 1.0]])


def test_bad_arrays_are_refused_without_their_values():
    with pytest.raises(DataError, match="Expected 2D array, got 1D"):
        RowScaler().fit([1.0, 2.0])
    with pytest.raises(DataTypeError, match="two dimensions"):
        RowScaler().fit(object())
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        RowScaler().fit(np.zeros((2, 0)))
    with pytest.raises(DataError, match="must have 2 columns"):
        RowScaler().fit([[1.0, 2.0]]).transform([[1.0]])
    scaled = RowScaler().fit_transform([["secret"], [1.0]])
    assert np.isnan(scaled).ravel().tolist() == [True, False]
    for ragged in ([[1.0], [1.0, 2.0]], [[1.0], 2.0], [[1.0], "1"]):
        with pytest.raises(DataError, match="as many columns in every record"):
            RowScaler().fit([[1.0]]).transform(ragged)


def test_a_pattern_stands_for_columns_of_the_table():
    schema = {"columns": {"all": {"columns": "q*", "kind": "number", "bounds": [0, 1]}}}
    encoder = TableEncoder(schema).fit(pd.DataFrame(columns=["q2", "age", "q1"]))
    assert encoder.get_feature_names_out().tolist() == ["q2", "q1"]


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_rows_are_clipped_or_normalised(make):
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])

    def dense(found):
        return found.toarray() if scipy.sparse.issparse(found) else found

    clipped = RowScaler(2.0).fit_transform(make(rows))
    np.testing.assert_allclose(dense(clipped), [[1.2, 1.6], [0.3, 0.4], [0, 0]])
    unit = RowScaler(normalise=True).fit_transform(make(rows.astype(np.float32)))
    assert unit.dtype == np.float64
    np.testing.assert_allclose(dense(unit), [[0.6, 0.8], [0.6, 0.8], [0, 0]], rtol=1e-6)
    long = RowScaler().fit_transform(make(np.array([[3e300, 4e300], [3e-300, 4e-300]])))
    np.testing.assert_allclose(dense(long), [[0.6, 0.8], [3e-300, 4e-300]])
    whole = RowScaler().fit_transform(make(rows.round().astype(int)))
    np.testing.assert_allclose(dense(whole), [[0.6, 0.8], [0, 0], [0, 0]])


def test_row_scaler_passes_names_on():
    scaler = RowScaler().fit(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    assert scaler.get_feature_names_out().tolist() == ["a", "b"]
    assert RowScaler().fit([[1.0, 2.0]]).get_feature_names_out().tolist() == ["x0", "x1"]
    assert RowScaler().fit([[1.0]]).get_feature_names_out(["z"]).tolist() == ["z"]
