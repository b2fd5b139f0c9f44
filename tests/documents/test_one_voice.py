"""Each sentence about a model stands in one place of the source."""

import ast
import re
from pathlib import Path

import pytest

import dpscd

HOME = Path(dpscd.__file__).parent
LEAST = 8  # words in a row that two places may not share

# What an expression puts into a sentence, and where one part of a text ends.
VALUE, END = " \u2026 ", "\n"


# Who speaks about models; all other texts of the source are compared with these.
VOICE = ("documents/", "templates/", "model/card.py", "estimators/registry.py", "facts.py")


def test_no_sentence_about_a_model_stands_in_two_places():
    found = repeated(texts())
    assert {
        run: own for run, own in found.items() if any(x.startswith(VOICE) for x in own)
    } == {}


@pytest.mark.parametrize(
    "two",
    [
        ("a.py", 'x = "Say once: the noise is the same for all of the records."'),
        ("a.py", 'x = f"{n} The noise is the same " f"for all of the records {n}."'),
        ("a.html.j2", "<p>The <b>noise</b> is {# sic #}the same for all of the records.</p>"),
        ("a.md.j2", "* {{ x }} the noise is the same for all of the\n  records"),
    ],
)
def test_a_sentence_that_is_said_again_is_found(two):
    first = (
        "b.py",
        '"""The noise is the same."""\ny = "The noise is the same for all of the records"',
    )
    name, source = two
    parts = [(first[0], part) for part in parts_of(*first)]
    assert repeated(parts) == {}
    assert repeated([*parts, *((name, part) for part in parts_of(name, source))])


def texts():
    """Return the file and the words of every text in the source."""
    files = [x for x in HOME.rglob("*") if x.suffix in (".py", ".j2", ".toml")]
    found = []
    for file in files:
        parts = parts_of(file.name, file.read_text(encoding="utf-8"))
        found += [(str(file.relative_to(HOME)), part) for part in parts]
    return found


def parts_of(name, source):
    """Return the texts of a file, without docstrings, tags and comments."""
    if name.endswith(".py"):
        tree = ast.parse(source)
        doc = {id(x.value) for x in ast.walk(tree) if isinstance(x, ast.Expr)}
        inner = {
            id(part)
            for x in ast.walk(tree)
            if isinstance(x, ast.JoinedStr)
            for part in ast.walk(x)
            if part is not x
        }
        return [
            _said(x)
            for x in ast.walk(tree)
            if id(x) not in doc and id(x) not in inner and _said(x)
        ]
    text = re.sub(r"\{#.*?#\}", "", source, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", VALUE, text)
    text = re.sub(r"</?(?:b|strong|span)\b[^>]*>", "", text)
    text = re.sub(r"\{%.*?%\}|<[^>]*>", "\f", text)
    return re.split("\f|\n\n|\n(?=[*|#>])", text)


def _said(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(x.value if isinstance(x, ast.Constant) else VALUE for x in node.values)
    return ""


def repeated(parts):
    """Return runs of words, as long as sentences, with the places that share them."""
    places = {}
    for number, (name, text) in enumerate(parts):
        for sentence in re.split(r"[.!?](?=\s|$)|\u2026", text):
            words = re.findall(r"[^\W_]+(?:['\u2019-]\w+)*", sentence.lower())
            for start in range(len(words) - LEAST + 1):
                run = " ".join(words[start : start + LEAST])
                places.setdefault(run, set()).add((name, number))
    return {run: sorted({x for x, _ in own}) for run, own in places.items() if len(own) > 1}
