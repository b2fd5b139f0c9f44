"""What a mutation is: where it is made, what is changed there, and the test that must fail."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from operations import Change, pointed_at

TESTS = Path(__file__).parents[1]


class Mutation(NamedTuple):
    """A mistake at a place, such as "problem:Problem", and the name of the test that must fail.

    Where several files have a test of that name, or all tests of a file are meant, the file
    stands before it: "releases/test_moments::test_a_sum", "test_plan".
    """

    name: str
    at: str
    fails: str
    changes: tuple[Change, ...]

    @property
    def file(self) -> str:
        return self.at.partition(":")[0].replace(".", "/") + ".py"

    @property
    def test(self) -> str:
        """The test as pytest wants it."""
        file, colons, name = self.fails.partition("::")
        if found := files_of().get(file.partition("[")[0]):
            assert len(found) == 1, f"{file} is in several files: {found}"
            file, colons, name = found[0], "::", file
        return f"tests/{file}.py{colons}{name}"

    def applied(self, text: str) -> str:
        """Return the source with the mistake in it."""
        tree = ast.parse(text)
        place = pointed_at(tree, self.at.partition(":")[2])
        for change in self.changes:
            change(place)
        return ast.unparse(ast.fix_missing_locations(tree))


@cache
def files_of() -> dict[str, list[str]]:
    """Return in which files, below this folder and without their ending, tests are."""
    found: dict[str, list[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        file = path.relative_to(TESTS).with_suffix("").as_posix()
        for name in set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)):
            found.setdefault(name, []).append(file)
    return found


def mistake(name: str, at: str, fails: str, *changes: Change) -> Mutation:
    return Mutation(name, at, fails, changes)
