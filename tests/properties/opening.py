"""How these tests open records: the only place of theirs that knows it."""

from dpscd.records.cells import as_column, codes, numbers, text_of
from dpscd.records.encoding import parse
from dpscd.records.files import CsvFile
from dpscd.records.identifiers import Numbering, person_codes, person_keys
from dpscd.records.labels import ClassLabels
from dpscd.records.rows import RowReader
from dpscd.records.tables import TableReader, open_parsed

TWO = ClassLabels((0, 1))


def rows_reader(labels=TWO, features=2, *, sparse=False):
    """Return what makes triples of rows, labels and, if given, weights and exposures."""
    return RowReader(labels, features, sparse).triples


def rows_part_reader(labels=TWO, features=2):
    """Return what makes triples of a partition of these, where a worker has it."""
    return RowReader(labels, features, False).records


def table_part_reader(schema, labels):
    """Return what makes triples of a partition of a table, where a worker has it."""
    return TableReader(labels, schema, {}).records


def table_reader(schema, labels):
    """Return what makes triples of a table in any container, and of a target if it is apart."""
    read = table_part_reader(schema, labels)
    return lambda table, y=None: read(open_parsed(table, schema, y).read())


def has_sparse_rows(schema, labels):
    """Return whether rows of a table are sparse, which follows from its schema."""
    return TableReader(labels, schema, {}).sparse


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
    said = meaning.value if hasattr(meaning, "value") else meaning.code
    return [said(text_of(cell)) for cell in cells]


def persons_of(cells, missing):
    """Return the number of each row's person, below 0 for nobody."""
    return person_codes(cells, missing)


def persons_of_parts(parts, missing):
    """Return the same of a column that is read part by part."""
    persons = Numbering(missing)
    for part in parts:
        persons.add(part)
    return persons.codes()


def texts_of_persons(cells, missing):
    """Return the number of each row's person, and one text for each person."""
    return person_keys(cells, missing)
