"""How these tests open records: the only place of theirs that knows it."""

from dpscd.preprocessing.cells import text_of
from dpscd.preprocessing.columns import as_column, codes, numbers
from dpscd.preprocessing.delimited import CsvFile
from dpscd.preprocessing.identifiers import Numbering, person_codes, person_keys
from dpscd.preprocessing.parsing import parse
from dpscd.records.door import ArrayDoor, TableDoor
from dpscd.records.labels import ClassLabels
from dpscd.records.tables import table_source

TWO = ClassLabels((0, 1))


def rows_reader(labels=TWO, features=2, *, sparse=False):
    """Return what makes triples of rows, labels and, if given, weights and exposures."""
    return ArrayDoor(labels, features, sparse).triples


def rows_part_reader(labels=TWO, features=2):
    """Return what makes triples of a partition of these, where a worker has it."""
    return ArrayDoor(labels, features, False).records


def table_part_reader(schema, labels):
    """Return what makes triples of a partition of a table, where a worker has it."""
    return TableDoor(labels, schema, {}).records


def table_reader(schema, labels):
    """Return what makes triples of a table in any container, and of a target if it is apart."""
    door = TableDoor(labels, schema, {})
    return lambda table, y=None: door.records(table_source(table, schema, y).parsed())


def has_sparse_rows(schema, labels):
    """Return whether rows of a table are sparse, which follows from its schema."""
    return TableDoor(labels, schema, {}).sparse


def parsed(schema, table):
    """Return the numbers of a table in memory, column by column."""
    return parse(schema, table).columns


def count_and_pieces(path, schema, names, chunk):
    """Return the number of records of a CSV file, and its records in pieces."""
    file = CsvFile(path, path.name, schema.layout)
    return file.count(), file.frames(names, chunk)


def codes_in(cells, meaning):
    """Return the code of each cell of a list or of a column."""
    return codes(as_column(cells), meaning)


def numbers_in(cells, meaning):
    """Return the number in each cell of a list or of a column."""
    return numbers(as_column(cells), meaning)


def said_by_cells(cells, meaning):
    """Return what each cell says by itself: its code, or its number."""
    if hasattr(meaning, "value"):
        return [meaning.value(cell) for cell in cells]
    return [meaning.code(text_of(cell)) for cell in cells]


def persons_of(cells, missing):
    """Return the number of each row's person, below 0 for nobody."""
    return person_codes(cells, missing)


def persons_of_parts(parts, missing):
    """Return the same of a column that is read part by part."""
    persons = Numbering(missing)
    return [code for part in parts for code in persons.codes(part).tolist()]


def texts_of_persons(cells, missing):
    """Return the number of each row's person, and one text for each person."""
    return person_keys(cells, missing)
