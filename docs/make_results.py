"""Write pages of results, their rows and figures from a folder that ``dpscd bench`` wrote.

    dpscd bench tables --out results
    python docs/make_results.py results

Pages begin with the text beside the settings, in dpscd_experiments/specs, but for those of
searches and releases, which the command writes whole. Tests compare them with their rows.
"""

import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path

DOCS = Path(__file__).parent
ROWS = DOCS.parent / "experiments" / "rows"
HEADS = {
    file.name.removesuffix(".md"): file.read_text(encoding="utf-8")
    for file in (files("dpscd_experiments") / "specs").iterdir()
    if file.name.endswith(".md")
}


def page(name: str, text: str) -> str:
    """Return the page of the documentation for what the command wrote."""
    if name in HEADS:
        text = HEADS[name] + text.partition("\n")[2]
    return re.sub(r"\]\(([\w-]+\.png)\)", rf"](../figures/{name}/\1)", text)


def main(folder: Path) -> None:
    """Copy rows and figures, and write pages, of all experiments that the folder has."""
    for name in (*HEADS, "search", "releases"):
        written = folder / f"{name}.md"
        if written.exists():
            for file in sorted(folder.glob(f"{name}*.*")):
                place = {".png": DOCS / "figures" / name, ".csv": ROWS}.get(file.suffix)
                if place:
                    place.mkdir(exist_ok=True)
                    shutil.copyfile(file, place / file.name)
            text = page(name, written.read_text(encoding="utf-8"))
            (DOCS / "results" / written.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
