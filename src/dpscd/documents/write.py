"""Documents of a model: a page, a registry entry, a model card and a bill of materials."""

import base64
import hashlib
import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpscd._version import __version__
from dpscd.atomic import atomic_write
from dpscd.documents.described import Described, described
from dpscd.documents.effects import INTERCEPT, effects, estimates, forest
from dpscd.documents.facts import READ, chance, column_facts, describe
from dpscd.documents.tradeoff import trade_off
from dpscd.errors import ParameterError
from dpscd.model.card import PrivacyCard
from dpscd.privacy.relation import Unit
from dpscd.rendering import number, rendered

if TYPE_CHECKING:
    from dpscd.documents.added import Details, Evaluation
    from dpscd.privacy.ledger import Ledger

_MOST_COLUMNS = 60  # listed in a registry entry; the model's file has all of them
_STYLE = Path(__file__).parents[1] / "templates" / "report.css"


def report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    evaluation: Any = None,
    about: str | os.PathLike[str] | None = None,
) -> PrivacyCard:
    """Write a page about a model: one HTML file that fetches nothing and runs nothing.

    The page appears whole or not at all. Epsilon is recomputed while it is written.

    Parameters
    ----------
    model : str, path or fitted model
        The model's file, or a model.
    path : str or path
        The page to write; replaced if it exists.
    ledger : str or path, optional
        The ledger's file, to show the budget's history.
    evaluation : Evaluation, PrivateScore, str or path, optional
        What :func:`evaluate` or :func:`private_score` returned for this model, or the file of
        what ``dpscd evaluate --json`` printed for this model's file.
    about : str or path, optional
        TOML with purpose, owner, contact and legal_basis, as far as they are to be shown.

    Returns
    -------
    PrivacyCard
        The card of the model.

    Examples
    --------
    >>> import tempfile
    >>> from dpscd import DPRidge, report
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1)).fit([[0.1], [0.2]] * 50, [0, 1] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(model, f"{folder}/report.html").epsilon
    1.0
    """
    found = described(model) if isinstance(model, str | os.PathLike) else Described(model)
    more: dict[str, Any] = {"evaluation": evaluation_of(found, evaluation)}
    if ledger is not None:
        from dpscd.privacy.ledger import Ledger

        more["ledger"] = Ledger(ledger)
    if about is not None:
        from dpscd.documents.added import read_about

        more["about"] = read_about(about)
    written = page(found, **more)
    with atomic_write(path) as file:
        file.write(written)
    card: PrivacyCard = found.card
    return card


def evaluation_of(model: Described, given: Any) -> "Evaluation | None":
    """Return an evaluation, or raise ParameterError if a file's is of another model."""
    if given is None:
        return None
    from dpscd.documents.added import read_evaluation, returned_evaluation

    if not isinstance(given, str | os.PathLike):
        return returned_evaluation(given)
    if not model.digest:
        raise ParameterError(
            "a file with an evaluation belongs to a model's file: save the model, and give its "
            "file."
        )
    found = read_evaluation(given)
    if found.model != model.digest:
        raise ParameterError(
            f"the evaluation is not of {model.name}, but of another model, or of this one as "
            "it was before: make it again with dpscd evaluate --json."
        )
    return found


# --- the page -------------------------------------------------------------------------------


def page(
    model: Described,
    ledger: "Ledger | None" = None,
    *,
    evaluation: "Evaluation | None" = None,
    about: dict[str, str] | None = None,
) -> str:
    """Return the page about a model; `about` has texts of the owner by what they are called."""
    style = _STYLE.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return rendered(
        "report.html.j2",
        **_shared(model),
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
        about=list((about or {}).items()),
        evaluation=evaluation,
        intervals=_intervals(model),
        outputs=[effects(model, output) for output in range(len(model.outputs))],
        trade_off=None if model.card.search or not model.card.private else trade_off(model),
        budget=None if ledger is None else _budget(model.card, ledger),
    )


def _shared(model: Described) -> dict[str, Any]:
    """Return what all templates are given."""
    return {
        "model": model,
        "card": model.card,
        "facts": describe(model),
        "columns": column_facts(model),
        "read": READ,
        "version": __version__,
    }


def _intervals(model: Described) -> dict[str, Any] | None:
    """Return estimates with their intervals, if the model was trained for them."""
    if not model.fit.has_intervals:
        return None
    summary = model.model.summary()
    every = estimates(model, summary)
    sure = [x for x in every if x.refused is None]
    slopes = [x for x in sure if x.term != INTERCEPT]
    level, odds = f"{100.0 * summary.level:g} %", not model.regression
    return {
        "notes": " ".join(summary.notes[len(every) - len(sure) :]),  # those before are refusals
        "level": level,
        "odds": odds,
        "outside": sum(x.leaves_out_zero for x in slopes),
        "count": len(slopes),
        "bars": forest(model, sure, level),
        "rows": [x.row(odds=odds) for x in sure],
        "refused": [x for x in every if x.refused is not None],
    }


def _budget(card: PrivacyCard, ledger: "Ledger") -> list[dict[str, Any]]:
    """Return the budget of the model's data set, or of all if it has none."""
    named = card.facts.dataset
    lists = [card.releases] if card.search is None else card.search.lists()
    own = [asdict(release) for one in lists for release in one]
    found = []
    for name in ledger.datasets() if named is None else (named,):
        state = ledger.show(name)
        rows = []
        for x in ledger.history(name):
            fit = f"{x.label or 'a fit'}{' (this plan)' if list(x.releases) == own else ''}"
            stands = "finished" if x.committed else "not finished, spent all the same"
            stands += ", noise from a seed" if x.seeded else ""
            time = x.time.replace("T", " ").replace("Z", " UTC")
            rows.append([f"{x.id}", time, fit, stands, f"{x.epsilon:g}", chance(x.delta)])
        found.append(
            {
                "state": state,
                "share": 100.0 * min(1.0, state.spent_epsilon / state.epsilon),
                "spent": number(state.spent_epsilon, 4),
                "left": number(state.left_epsilon, 4),
                "delta": chance(state.delta),
                "person": Unit.parse(state.unit).is_person,
                "rows": rows,
            }
        )
    return found


# --- exports --------------------------------------------------------------------------------


def registry_entry(model: Described, details: str | os.PathLike[str] | None) -> str:
    """Return an entry of tier 3 for the registry of deployments, as YAML."""
    from dpscd.documents.added import missing_everything, read_details

    if not model.card.private:
        raise ParameterError(
            f"{model.name} was trained with epsilon inf: it is no deployment of "
            "differential privacy, and the registry has no entry for it."
        )
    if details is None:
        raise ParameterError(
            "an entry needs --details, a file with what the model does not know: "
            f"{missing_everything()}. Begin one with: dpscd export registry --template "
            "details.toml"
        )
    given = {".".join(path): value for path, value in read_details(details).items()}
    most = _MOST_COLUMNS
    return rendered("registry.yaml.j2", **_shared(model), given=given, most=most)


def model_card(
    model: Described,
    evaluation: "Evaluation | None" = None,
    details: "Details | None" = None,
) -> str:
    """Return the card of a model for model hubs: YAML front matter, then Markdown."""
    given = {path[-1]: value for path, value in (details or {}).items()}
    shared = _shared(model)
    return rendered("model_card.md.j2", **shared, evaluation=evaluation, given=given)


def bill_of_materials(model: Described, evaluation: "Evaluation | None" = None) -> str:
    """Return the bill of a model, CycloneDX 1.6: its file, its model card, and its makers."""
    serial = f"urn:uuid:{uuid.uuid4()}"
    text = rendered("cyclonedx.json.j2", **_shared(model), evaluation=evaluation, serial=serial)
    return json.dumps(json.loads(text), indent=2, allow_nan=False) + "\n"
