"""The page about a model in a real browser: layout, colours, keyboard, paper, accessibility.

Needs Chromium (Debian: ``apt-get install chromium``; DPSCD_CHROMIUM names another) and
axe-core, which the test extra brings (DPSCD_AXE names another axe.min.js). Screenshots go to
the folder DPSCD_ARTEFACTS, if it is set.
"""

import json
import os
from importlib import resources
from pathlib import Path

import pytest
from chromium import browser, find
from model_files import (
    careless,
    charged,
    evil_model,
    many_classes,
    not_private,
    page_of,
    paired,
    table_intervals,
)

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(find() is None, reason="no Chromium here; apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

PAGES = ("charged", "careless", "evil", "classes", "plain", "pairs", "intervals")
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")


def axe():
    """Return the source of axe-core, or skip."""
    given = os.environ.get("DPSCD_AXE")
    if given:
        return Path(given).read_text(encoding="utf-8")
    pytest.importorskip("axe_core_python", reason="no axe-core here; pip install '.[test]'")
    return (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the addresses of pages about models of every kind."""
    folder = tmp_path_factory.mktemp("pages")
    model, ledger = charged(folder / "budget.db")
    found = {
        "charged": page_of(model, ledger),
        "careless": page_of(careless()),
        "evil": page_of(evil_model()),
        "classes": page_of(many_classes()),
        "plain": page_of(not_private()),
        "pairs": page_of(paired(few=True)),
        "intervals": page_of(table_intervals()),
    }
    assert set(found) == set(PAGES)
    for name, text in found.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in found}


@pytest.fixture(scope="module")
def page():
    with browser(find()) as tab:
        yield tab


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory):
    given = os.environ.get("DPSCD_ARTEFACTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("name", PAGES)
def test_no_accessibility_finding_at_any_width_in_light_or_dark(page, pages, artefacts, name):
    source = axe()
    for width in WIDTHS:
        for scheme in SCHEMES:
            page.open(pages[name], width=width, scheme=scheme)
            page.screenshot(artefacts / f"report-{name}-{width}-{scheme}.png")
            page.run("document.querySelectorAll('details').forEach(x => { x.open = true })")
            page.run(source)
            found = json.loads(
                page.run(
                    "axe.run().then(x => JSON.stringify(x.violations.map("
                    "v => [v.impact, v.id, v.nodes.map(n => n.failureSummary)])))"
                )
            )
            assert found == [], f"{name} at {width} in {scheme}"


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched_run_or_complained_about(page, pages, name):
    page.open(pages[name])
    assert page.requests == [pages[name]]
    assert page.problems == []
    assert page.run("document.title").startswith("Privacy report")
    assert page.run("document.scripts.length") == 0


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [320, 360, 1280])
def test_nothing_is_wider_than_the_window(page, pages, name, width):
    page.open(pages[name], width=width)
    page.run("document.querySelectorAll('details').forEach(x => { x.open = true })")
    assert page.run("document.documentElement.scrollWidth") <= width


def test_the_keyboard_reaches_everything_that_scrolls_or_opens(page, pages):
    page.open(pages["charged"])
    seen, skipped = [], None
    for _ in range(60):
        page.press("Tab")
        place = page.run(
            "[document.activeElement.tagName, document.activeElement.textContent.slice(0, 40),"
            " getComputedStyle(document.activeElement).outlineStyle,"
            " document.activeElement.getBoundingClientRect().left]"
        )
        if place[0] == "BODY":
            break
        skipped = skipped or place
        assert place[2] == "solid", place
        seen.append(place[0])
    assert skipped[1] == "Skip to the content"
    assert skipped[3] >= 0  # on the screen once it has the focus
    expected = page.run(
        "document.querySelectorAll('a, summary, [tabindex=\"0\"]').length"
        " - document.querySelectorAll('details:not([open]) [tabindex=\"0\"]').length"
    )
    assert len(seen) == expected
    assert "SUMMARY" in seen


def test_dark_is_dark_and_paper_is_white(page, pages):
    paper = "getComputedStyle(document.body).backgroundColor"
    page.open(pages["charged"], scheme="light")
    assert page.run(paper) == "rgb(255, 255, 255)"
    page.open(pages["charged"], scheme="dark")
    assert page.run(paper) == "rgb(18, 22, 27)"
    page.open(pages["charged"], scheme="dark", media="print")
    assert page.run(paper) == "rgb(255, 255, 255)"


def test_print_shows_what_is_folded_and_hides_the_menu(page, pages, artefacts):
    folded = (
        "[...document.querySelectorAll('details:not([open]) > :not(summary)')]"
        ".map(x => x.checkVisibility({contentVisibilityAuto: true}))"
    )
    page.open(pages["charged"])
    assert not any(page.run(folded))
    page.open(pages["charged"], media="print")
    assert all(page.run(folded))
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    kept = "getComputedStyle(document.querySelector('{}')).{}"
    assert page.run(kept.format(".short", "breakInside")) == "avoid"
    assert page.run(kept.format(".weights .group", "breakAfter")) == "avoid"
    wide = (
        "[...document.querySelectorAll('.scroll')].filter(x => x.scrollWidth > x.offsetWidth)"
    )
    assert page.run(f"{wide}.length") == 0
    page.pdf(artefacts / "report-charged.pdf")
    assert (artefacts / "report-charged.pdf").stat().st_size > 10_000
