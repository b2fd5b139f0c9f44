"""Changes of a syntax tree, by which the mistakes of the catalogue are made.

Source is given as text and compared as a tree, so that neither layout nor comments matter. What
is looked for must be found exactly once below the place that a mutation points at. `f(...)` is
any call of f.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

Change = Callable[[ast.AST], None]


class Site(NamedTuple):
    """A node and where it stands: in a field of its owner, or in a list that is a field."""

    node: ast.AST
    owner: ast.AST
    field: str
    place: int | None

    def put(self, *new: ast.AST) -> None:
        if self.place is None:
            setattr(self.owner, self.field, *new)
        else:
            siblings = getattr(self.owner, self.field)
            siblings[self.place : self.place + 1] = new
            if self.field == "body" and not siblings:
                siblings.append(ast.Pass())


def sites(tree: ast.AST) -> Iterator[Site]:
    """Yield all nodes below one, in the order of the source."""
    for field, value in ast.iter_fields(tree):
        listed = isinstance(value, list)
        for place, node in enumerate(value if listed else [value]):
            if isinstance(node, ast.AST):
                yield Site(node, tree, field, place if listed else None)
                yield from sites(node)


def the_one(tree: ast.AST, fits: Callable[[ast.AST], bool], what: str) -> Site:
    found = [site for site in sites(tree) if fits(site.node)]
    assert len(found) == 1, f"found {len(found)} times: {what}"
    return found[0]


def same(node: object, pattern: object) -> bool:
    """Compare two trees, lists of trees, or what their fields hold."""
    if isinstance(node, list) and isinstance(pattern, list):
        return len(node) == len(pattern) and all(map(same, node, pattern))
    if not isinstance(node, ast.AST) or type(node) is not type(pattern):
        return node == pattern
    if isinstance(pattern, ast.Call) and list(map(ast.unparse, pattern.args)) == ["..."]:
        return same(node.func, pattern.func)
    return all(same(getattr(node, x, None), getattr(pattern, x, None)) for x in node._fields)


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def is_expression(text: str) -> bool:
    try:
        return bool(expression(text))
    except SyntaxError:
        return False


class _Filled(ast.NodeTransformer):
    def __init__(self, node: ast.AST) -> None:
        self.node = node

    def visit_Expr(self, tree: ast.Expr) -> ast.AST:
        bare = isinstance(self.node, ast.stmt) and ast.unparse(tree) == "OLD"
        return self.node if bare else self.generic_visit(tree)

    def visit_Name(self, tree: ast.Name) -> ast.AST:
        return self.node if tree.id == "OLD" else tree


def swap(old: str, new: str) -> Change:
    """Put something else, in which OLD is what was there, for an expression or a statement."""
    whole = not (is_expression(old) and is_expression(new))
    (pattern,) = ast.parse(old).body if whole else [expression(old)]

    def change(tree: ast.AST) -> None:
        site = the_one(tree, lambda node: same(node, pattern), old)
        wrong = ast.parse(new).body if whole else [expression(new)]
        site.put(*(_Filled(site.node).visit(part) for part in wrong))

    return change


def drop(statement: str) -> Change:
    """Leave out a statement."""
    return swap(statement, "pass")


def never(condition: str) -> Change:
    return swap(condition, "False")


def without(part: str) -> Change:
    """Leave out a factor, a divisor or a term, or one of two conditions."""
    left_out = expression(part)

    def rest(node: ast.AST) -> list[ast.expr]:
        both = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        both = node.values if isinstance(node, ast.BoolOp) else both
        return [one for one in both if not same(one, left_out)] if len(both) == 2 else []

    def change(tree: ast.AST) -> None:
        site = the_one(tree, lambda node: len(rest(node)) == 1, part)
        site.put(*rest(site.node))

    return change


def argument(function: str, which: int | str, value: str) -> Change:
    """Give a call another argument, by its place or its name."""
    call = expression(f"{function}(...)")

    def change(tree: ast.AST) -> None:
        found = the_one(tree, lambda node: same(node, call), function).node
        assert isinstance(found, ast.Call)
        if isinstance(which, int):
            found.args[which] = expression(value)
        else:
            others = [word for word in found.keywords if word.arg != which]
            found.keywords = [*others, ast.keyword(which, expression(value))]

    return change


def without_keyword(name: str) -> Change:
    """Leave out a keyword that one call has."""

    def change(tree: ast.AST) -> None:
        the_one(tree, lambda x: isinstance(x, ast.keyword) and x.arg == name, name).put()

    return change


def returns(value: str) -> Change:
    """Return something else."""

    def change(tree: ast.AST) -> None:
        site = the_one(tree, lambda node: isinstance(node, ast.Return), "return")
        site.put(ast.Return(expression(value)))

    return change


def constant(value: str) -> Change:
    """Give a name, which is what the mutation points at, another value."""
    return lambda tree: setattr(tree, "value", expression(value))


def decorated(value: str) -> Change:
    """Give a function that has one decorator another one."""
    return lambda tree: setattr(tree, "decorator_list", [expression(value)])


def pointed_at(tree: ast.AST, path: str) -> ast.AST:
    """Return the class, function or assignment of a qualified name; the module of none."""
    for name in path.split(".") if path else ():
        found = [node for node in tree.body if name in names_of(node)]
        assert len(found) == 1, f"found {len(found)} times: {name} of {path}"
        (tree,) = found
    return tree


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]
