"""The page of the verbs of experiments is what they say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_of_the_verbs_is_what_they_say():
    path = ROOT / "docs" / "make_cli.py"
    spec = importlib.util.spec_from_file_location("make_cli", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.BENCH_PAGE.read_text()
    assert text == module.bench_page(), "run: python docs/make_cli.py"
    for verb in ("bench accuracy", "bench tables", "bench speed", "reproduce"):
        assert f"## dpscd {verb}\n" in text
