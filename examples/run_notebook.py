"""Run the cells of a notebook in order and keep what they print and draw; no Jupyter needed.

python examples/run_notebook.py examples/adult.ipynb
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt

__all__ = ["run_cells"]


def run_cells(notebook):
    """Fill in the outputs of every code cell of a notebook, given as plain values."""
    namespace = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            last = _run("".join(cell["source"]), namespace)
        cell["execution_count"] = count
        cell["outputs"] = [*_texts(printed.getvalue()), *_value(last, count), *_pictures()]
    return notebook


def _run(source, namespace):
    """Run a cell and return the value that its last line shows, as notebooks do."""
    lines, last = ast.parse(source), None
    if isinstance(lines.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(lines.body.pop().value)
    exec(compile(lines, "cell", "exec"), namespace)  # noqa: S102 - the notebook is ours
    return None if last is None else eval(compile(last, "cell", "eval"), namespace)  # noqa: S307


def _value(value, count):
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
        texts = {kind: text.splitlines(keepends=True) for kind, text in data.items()}
        yield {
            "data": texts,
            "execution_count": count,
            "metadata": {},
            "output_type": "execute_result",
        }


def _texts(text):
    if text:
        yield {
            "name": "stdout",
            "output_type": "stream",
            "text": text.splitlines(keepends=True),
        }


def _pictures():
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=80, metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        yield {"data": data, "metadata": {}, "output_type": "display_data"}
    plt.close("all")


if __name__ == "__main__":
    file = Path(sys.argv[1])
    done = run_cells(json.loads(file.read_text(encoding="utf-8")))
    file.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
