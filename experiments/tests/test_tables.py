"""The raw tables of the bench: their files, schemas and splits."""

import gzip
import os

import numpy as np
import pytest

from dpscd.errors import ParameterError
from dpscd.preprocessing.parsing import OTHER
from dpscd_experiments import table as tables_of
from dpscd_experiments.adult import adult_table
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.sources import DatasetMissing
from dpscd_experiments.table import RawTable, read_schema
from dpscd_experiments.tables import TABLES, load_table

BANK_HEAD = (
    '"age";"job";"marital";"education";"default";"housing";"loan";"contact";"month";'
    '"day_of_week";"duration";"campaign";"pdays";"previous";"poutcome";"emp.var.rate";'
    '"cons.price.idx";"cons.conf.idx";"euribor3m";"nr.employed";"y"'
)
BANK_ROW = (
    '{age};"admin.";"married";"high.school";"no";"yes";"no";"cellular";"may";"mon";'
    '261;1;{pdays};0;"nonexistent";1.1;93.994;-36.4;4.857;5191;"{y}"'
)

needs_data = pytest.mark.skipif(
    not os.environ.get("DPSCD_DATA"),
    reason="DPSCD_DATA is not set: the real data sets are not packaged",
)


def write_bank(folder, ending):
    lines = [BANK_HEAD]
    lines += [
        BANK_ROW.format(age=20 + k, pdays=999 if k % 2 else k % 20, y="yes" if k % 3 else "no")
        for k in range(40)
    ]
    text = "\n".join(lines).encode()
    name = f"bank-additional-full.csv{ending}"
    (folder / name).write_bytes(gzip.compress(text) if ending else text)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_bank_text(tmp_path, ending):
    write_bank(tmp_path, ending)
    raw = load_table("bank", folder=tmp_path)
    assert (len(raw.train), len(raw.test)) == (32, 8)
    assert "32 rows to train on and 8 for test" in raw.split
    assert len(raw.files[f"bank-additional-full.csv{ending}"]) == 64
    table = raw.read()
    days = np.concatenate([table.train.columns["pdays"], table.test.columns["pdays"]])
    assert np.isnan(days).sum() == 20  # 999: never called before
    assert "duration" not in table.train.columns
    data = load_dataset("bank", folder=tmp_path)
    assert [len(y) for y in (data.y, data.y_validation, data.y_test)] == [24, 8, 8]
    assert set(data.y) == {-1, 1}
    assert np.linalg.norm(data.X, axis=1).max() <= 1.0 + 1e-6
    assert data.X.dtype == np.float64


def test_covtype_folds_its_signs_into_categories(tmp_path):
    rows = ["a," * 54 + "Cover_Type"]
    for k in range(10):
        signs = np.zeros(44, dtype=int)
        signs[k % 4] = 1
        if k != 3:
            signs[4 + 3 * k] = 1
        numbers = [2500 + k, *range(9), *signs, 1 + k % 3]
        rows.append(",".join(map(str, numbers)))
    (tmp_path / "covtype.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    raw = load_table("covtype", folder=tmp_path)
    assert raw.cells["Wilderness_Area"].tolist() == [1 + k % 4 for k in range(10)]
    assert raw.cells["Soil_Type"].tolist() == [0 if k == 3 else 1 + 3 * k for k in range(10)]
    table = raw.read()
    soil = np.concatenate([table.train.columns["Soil_Type"], table.test.columns["Soil_Type"]])
    assert (soil == OTHER).sum() == 1
    labels = np.concatenate([table.train.target, table.test.target])
    assert sorted(labels) == [0] * 7 + [1] * 3  # class 2 against the rest


def test_flights_without_a_delay_are_left_out(tmp_path):
    first = "month,day,hour,minute,sched_arr_time,dep_delay"
    lines = [f"{first},arr_delay,carrier,origin,dest,distance,x"]
    lines += [f"{1 + k},1,5,15,819,{k},{10 * k},UA,EWR,IAH,1400,z" for k in range(10)]
    lines += ["1,1,6,0,900,,,UA,EWR,IAH,1400,z", "1,1,6,0,900,1,NA,UA,EWR,XXX,1400,z"]
    (tmp_path / "flights.csv").write_text("\n".join(lines) + "\n")
    raw = load_table("nycflights13", folder=tmp_path)
    assert len(raw.cells) == 10
    assert "x" not in raw.cells
    table = raw.read()
    assert len(table.train) == 8
    assert np.isfinite(table.train.target).all()


def test_adult_trains_on_one_file_and_tests_on_the_other():
    raw = adult_table()
    assert (len(raw.train), len(raw.test)) == (32561, 16281)
    assert raw.train[-1] + 1 == raw.test[0]
    table = raw.read()
    assert (table.train.target >= 0).all()
    assert (table.test.target >= 0).all()


@needs_data
@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_real_tables_have_what_their_schemas_declare(name):
    table = load_table(name).read()
    for column in table.schema.features:
        if column.kind == "category" and column.name != "dest":
            # Adult writes missing values as '?', which is no value either.
            assert (table.train.columns[column.name] != OTHER).all(), column.name


def test_no_schema_declares_a_shape_or_reads_records(monkeypatch):
    for name in TABLES:
        for shape in ("smooth", "steps", None):
            columns = read_schema(name, shape).features
            numbers = [column for column in columns if column.kind == "number"]
            assert {column.shape for column in numbers} == {shape}
            assert {column.bins for column in numbers} == {None}
        assert not read_schema(name).read_from_data
    raw = RawTable("bank", *[None] * 3, "", {})
    monkeypatch.setattr(tables_of, "parse", lambda schema, _cells: schema)
    monkeypatch.setattr(tables_of, "taken", lambda schema, _rows: schema)
    assert raw.read().schema == read_schema("bank")


def test_tuning_never_sees_test_records(tmp_path):
    write_bank(tmp_path, "")
    table = load_table("bank", folder=tmp_path).read()
    tuning = table.tuning()
    assert (len(tuning.train), len(tuning.test)) == (24, 8)
    ages = np.concatenate([tuning.train.columns["age"], tuning.test.columns["age"]])
    assert sorted(ages) == sorted(table.train.columns["age"])
    assert not set(ages) & set(table.test.columns["age"])


def test_unknown_and_missing_tables(tmp_path, monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    with pytest.raises(ParameterError, match="adult, bank"):
        load_table("iris")
    for name in TABLES[1:]:
        with pytest.raises(DatasetMissing, match="set the environment variable DPSCD_DATA"):
            load_table(name)
        with pytest.raises(DatasetMissing, match="not in"):
            load_table(name, folder=tmp_path)
