"""Models of every sort for tests of exports, read from a file, and a details file."""

import contextlib
import datetime
from functools import partial
from pathlib import Path

import model_files

from dpscd.documents.described import described

NOW = datetime.datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)

DETAILS = """\
url_slug = "retired"

[deployment.basic]
name = "Who is retired"
data_curators = ["Office", "Other: office"]
description = "A model."
intended_use = "Teaching."
data_product_region = "Nowhere"
publication_date = 2026-11-02
data_product_sector = "Government"

[deployment.deployment_model]
actors = '''
The office: trusted.
Everybody else: not.'''
release_type = "One release"
release_type_details = "The records are not used again."
data_source_type = "Static"

[deployment.accounting]
composition = "Nothing else was published."

[deployment.implementation]
preprocessing_and_hyperparameter_tuning = "None: no."
justification = "yes"

[deployment.administrative]
registry_authors = ["A. Author"]
"""


def persons(column="id"):
    """Return a model that protects persons."""
    schema = {**model_files.SCHEMA, "columns": dict(model_files.SCHEMA["columns"])}
    del schema["columns"]["id"]
    table = model_files.people().rename(columns={"id": column})
    return model_files.table_model({**schema, "table": {"person": column}}, table=table)


#: Models by name, each with what it shows.
MODELS = {
    "table": model_files.table_model,
    "evil": model_files.evil_model,
    "arrays": model_files.ridge,
    "classes": model_files.many_classes,
    "careless": model_files.careless,
    "intervals": model_files.ridge_intervals,
    "persons": persons,
    "evil persons": partial(persons, model_files.EVIL),
    "add-remove": partial(model_files.ridge, relation="add-remove", n=500),
    "replace-one": partial(model_files.ridge, relation="replace-one"),
    "not private": model_files.not_private,
}

_made = {}


def examined(name, folder):
    """Return a model of that name, saved once and read back."""
    if name not in _made:
        path = Path(folder) / "model file.json"
        MODELS[name]().save(path)
        _made[name] = described(path, NOW)
        with contextlib.suppress(OSError):
            path.unlink()
    return _made[name]
