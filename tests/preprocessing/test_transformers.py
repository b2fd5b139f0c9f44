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
    DeclaredEncoder,
    DeclaredScaler,
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
    scaler = DeclaredScaler((0, 10))
    np.testing.assert_array_equal(
        scaler.fit([[1e9], ["secret"]]).transform(TABLE[["a"]].to_numpy()),
        clone(scaler).fit_transform(TABLE[["a"]].to_numpy()),
    )


def test_what_a_table_encoder_cannot_do_is_said():
    with pytest.raises(DataTypeError, match="pandas DataFrame"):
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
    numbers = ("numbers", DeclaredScaler((0, 10), bins=4), ["a"])
    parts = ColumnTransformer([numbers, ("texts", DeclaredEncoder(["u"]), ["c"])])
    model = make_pipeline(parts, RowScaler(), clone(estimator)).fit(table, y)
    assert model.score(table, y) > 0.95
    assert model[:-1].get_feature_names_out().tolist()[-1] == "texts__c=(other)"


def test_scaler_does_each_column_by_its_bounds():
    scaler = DeclaredScaler([(0, 10), (0, 100)], missing="column")
    found = scaler.fit_transform(pd.DataFrame({"a": [5.0, np.nan], "b": [25.0, 200.0]}))
    np.testing.assert_allclose(found, [[0, 0, -0.5, 0], [0, 1, 1, 0]], atol=1e-6)
    assert scaler.get_feature_names_out().tolist() == ["a", "a=(missing)", "b", "b=(missing)"]
    logs = DeclaredScaler((0, 9), log1p=True).fit_transform([[0], [9], [99]])
    np.testing.assert_allclose(logs.ravel(), [-1, 1, 1], atol=1e-6)
    plain = DeclaredScaler((0, 1)).fit([[0.0, 1.0]])
    assert plain.get_feature_names_out().tolist() == ["x0", "x1"]
    assert plain.get_feature_names_out(["p", "q"]).tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("transformer", "error", "says"),
    [
        (DeclaredScaler((1, 0)), SchemaError, "needs bounds"),
        (DeclaredScaler([(0, 1)]), ParameterError, "1 entries, but X has 2"),
        (DeclaredScaler(3), ParameterError, "must be a list"),
        (DeclaredScaler((0, 1), bins=1), SchemaError, "bins must be"),
        (DeclaredScaler((-1, 1), log1p=True), SchemaError, "begin at 0"),
        (DeclaredEncoder([]), SchemaError, "needs values"),
        (DeclaredEncoder([["a"], ["b"], ["c"]]), ParameterError, "3 entries"),
        (DeclaredEncoder(["a"], missing="b"), SchemaError, "missing must be"),
        (RowScaler(0.0), ParameterError, "bound=0.0"),
        (RowScaler("1"), ParameterError, "bound='1'"),
    ],
)
def test_bad_declarations_are_refused(transformer, error, says):
    with pytest.raises(error, match=says):
        transformer.fit([[0.0, 1.0]])


def test_bad_arrays_are_refused_without_their_values():
    for transformer in (DeclaredScaler((0, 1)), DeclaredEncoder(["a"]), RowScaler()):
        with pytest.raises(DataError, match="Expected 2D array, got 1D"):
            transformer.fit([1.0, 2.0])
        with pytest.raises(DataTypeError, match="two dimensions"):
            transformer.fit(object())
    with pytest.raises(DataError, match="3 columns, but 2 were declared"):
        DeclaredScaler((0, 1)).fit([[0.0, 1.0]]).transform([[0.0, 1.0, 2.0]])
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        DeclaredScaler((0, 1)).fit(np.zeros((2, 0)))
    with pytest.raises(DataError, match="must have 2 columns"):
        RowScaler().fit([[1.0, 2.0]]).transform([[1.0]])
    scaled = RowScaler().fit_transform([["secret"], [1.0]])
    assert np.isnan(scaled).ravel().tolist() == [True, False]
    for ragged in ([[1.0], [1.0, 2.0]], [[1.0], 2.0], [[1.0], "1"]):
        for transformer in (DeclaredScaler((0, 1)), RowScaler()):
            with pytest.raises(DataError, match="as many columns in every record"):
                transformer.fit([[1.0]]).transform(ragged)
    with pytest.raises(DataTypeError, match="two dimensions"):
        DeclaredScaler((0, 1)).fit(scipy.sparse.csr_array([[1.0]]))
    with pytest.raises(DataError, match="no two of one name"):
        DeclaredScaler((0, 1)).fit(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


def test_encoder_does_each_column_by_its_values():
    encoder = DeclaredEncoder([["a"], ["b", "c"]], missing="column").fit([["a", "b"]])
    found = encoder.transform([["a", None], ["z", "c"]])
    np.testing.assert_array_equal(found, [[1, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0, 0]])


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
