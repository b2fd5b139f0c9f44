"""An entry of tier 3 for the public registry of deployments of differential privacy.

The registry's schema, which is OpenDP's, is in tests/export; a test compares.
"""

import os
from typing import Any

from dpscd.errors import ParameterError
from dpscd.export import wording
from dpscd.export.details import Details, missing_everything, read_details
from dpscd.export.examined import Examined
from dpscd.export.markup import bullets, code, plain, yaml_text
from dpscd.report.html import number, whole
from dpscd.report.public_facts import column_facts
from dpscd.report.words import warnings


def registry_entry(examined: Examined, details: str | os.PathLike[str] | None) -> str:
    """Return the entry about a private model as YAML, or raise ParameterError.

    `details` is the file with what the model does not know; see
    :func:`dpscd.export.details.template`.
    """
    if not examined.card.private:
        raise ParameterError(
            f"{examined.name} was trained with epsilon inf: it is no deployment of "
            "differential privacy, and the registry has no entry for it."
        )
    if details is None:
        raise ParameterError(
            "an entry needs --details, a file with what the model does not know: "
            f"{missing_everything()}. Begin one with: dpscd export registry --template "
            "details.toml"
        )
    return yaml_text(_values(examined, read_details(details)))


def _values(examined: Examined, details: Details) -> dict[str, Any]:
    """Return the entry as nested values: the card's facts, and the owner's answers."""
    values: dict[str, Any] = {"url_slug": "", "status": "Draft", "tier": 3}
    values["deployment"] = {
        "basic": {
            "name": "",
            "data_curators": [],
            "description": "",
            "intended_use": "",
            "data_product_type": "Machine learning model",
        },
        "dp_variant": {
            "variant_name": "Approximate DP",
            "data_domain": _domain(examined),
            "unprotected_quantities": "Everything that the plan releases has noise. Taken as "
            "public, and so not protected; the guarantee holds if this was known without "
            f"looking at the records:\n\n{wording.public_quantities(examined)}",
        },
        "privacy_loss": _privacy_loss(examined),
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": "The curator holds the records and trains; the noise is "
            "added before anything leaves the process that trains.",
            "access_type": "Non-interactive",
            "access_type_details": "The data product is a model file. Using it asks nothing of "
            "the records.",
        },
        "accounting": {
            "post_processing": _post_processing(examined),
            "composition": _composition(examined),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _planning(examined),
            "mechanisms": _mechanisms(examined),
        },
        "administrative": {},
    }
    for path, value in details.items():
        place = values
        for name in path[:-1]:
            place = place[name]
        before = place.get(path[-1])
        place[path[-1]] = f"{before}\n\nThe curator adds: {value}" if before else value
    return values


def _domain(examined: Examined) -> str:
    card, facts = examined.card, examined.card.facts
    many = f"{card.protected.noun}s"
    size = f"any number of {many}" if card.relation.needs_n else f"{whole(facts.n)} {many}"
    if examined.subject.schema is None:
        return (
            f"Data sets of {size}: rows of {whole(facts.d)} numbers, shortened where "
            f"they are longer than {number(facts.row_bound, 6)}, with a label each."
        )
    names = [code(x[0]) for x in column_facts(examined.subject) if x[1] != "not used"]
    return (
        f"Tables of {size} with the columns {', '.join(names)}; every cell is brought to the "
        "bounds or values of its column, whatever it holds."
    )


def _privacy_loss(examined: Examined) -> dict[str, Any]:
    card = examined.card
    return {
        "privacy_unit": plain(card.unit),
        "privacy_unit_details": wording.adjacent(card),
        "privacy_parameters": {"epsilon": card.epsilon, "delta": card.delta},
        "privacy_parameters_details": "\n\n".join(
            [
                wording.meaning(card),
                wording.checked(examined),
                *(f"**{head}.** {plain(text)}" for head, text in warnings(examined.card)),
            ]
        ),
    }


def _post_processing(examined: Examined) -> str:
    share = examined.card.plan.main.averaging
    averaged = f", averaged over the last {share:.0%} of the steps" if share else ""
    return (
        f"The weights of the model are read off the released shared vectors{averaged}. Other "
        "releases scale the features, or shift and stretch the predictions. All predictions, "
        "and the stated noise of each weight, follow from releases and public facts alone."
    )


def _composition(examined: Examined) -> str:
    card = examined.card
    count = sum(x.event.steps for x in card.releases)
    what = ", ".join(dict.fromkeys(x.what for x in card.releases))
    return (
        f"All {whole(count)} noisy sums of this fit ({what}) are composed in sequence, with "
        f"the random drawing of each lot (Poisson sampling). {wording.checked(examined)}"
    )


def _planning(examined: Examined) -> str:
    standardised = (
        " Features are standardised by means and mean squares that were released with noise "
        "and are composed with the rest."
        if examined.card.facts.standardised
        else ""
    )
    return (
        "Cells become features by a function of the record itself and of declared facts."
        f"{standardised} Regularisation, steps, lots and clips follow from epsilon, delta, "
        "public facts and the releases listed here by a fixed rule, or were given beforehand; "
        "the software tries no settings on the records."
    )


def _mechanisms(examined: Examined) -> str:
    card = examined.card
    version = plain(card.versions["dpscd"])
    kinds = bullets(
        f"{what} ({words}): {noise}" for what, words, noise in wording.release_rows(card)
    )
    return "\n\n".join(
        [
            f"{wording.task(examined)} {wording.what_was_fitted(examined)} Gaussian mechanism "
            "on sums of clipped contributions, with Poisson sampling in training (dual "
            "coordinate descent whose dual variables are never released). All that was "
            "computed from the records:",
            kinds,
            f"Software: dpscd {version}. {wording.randomness(card)} "
            f"{wording.finite_precision(card)}",
            "Not covered: the time and memory of the process that trains, which must not be "
            "observed.",
            f"Model file {code(examined.name)}, SHA-256 {examined.digest}.",
        ]
    )
