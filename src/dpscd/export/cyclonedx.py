"""A bill of materials of a model: CycloneDX 1.6 as JSON."""

import json
import uuid
from typing import Any

from dpscd._version import __version__
from dpscd.export.examined import Examined
from dpscd.export.wording import release_rows, task, what_was_fitted
from dpscd.report.evaluation import Evaluation, Measure
from dpscd.report.public_facts import READ, column_facts, other_facts
from dpscd.report.words import warnings

Node = dict[str, Any]


def bill_of_materials(examined: Examined, evaluation: Evaluation | None = None) -> str:
    """Return the bill of a model: its file, its model card, and its makers.

    A model's file states the versions of dpscd and of dp-accounting that made it, and no
    others.
    """
    time = examined.time.isoformat().replace("+00:00", "Z")
    model = f"model:sha256:{examined.digest}"
    makers = _makers(examined)
    values = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "tools": {
                "components": [{"type": "application", "name": "dpscd", "version": __version__}]
            },
            "component": {
                "type": "machine-learning-model",
                "bom-ref": model,
                "name": examined.name,
                "description": f"{task(examined, str)} {what_was_fitted(examined)}",
                "hashes": [{"alg": "SHA-256", "content": examined.digest}],
                "modelCard": _model_card(examined, evaluation),
            },
        },
        "components": makers,
        "dependencies": [
            {"ref": model, "dependsOn": [x["bom-ref"] for x in makers]},
            *({"ref": x["bom-ref"]} for x in makers),
        ],
    }
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def _makers(examined: Examined) -> list[Node]:
    """Return the libraries that made the model, in the versions that its card states."""
    found: list[Node] = []
    for name, version in examined.card.versions.items():
        node = {"type": "library", "bom-ref": f"library:{name}@{version}"}
        found.append({**node, "name": name, "version": version})
        if name == "dp-accounting":
            found[-1]["purl"] = f"pkg:pypi/{name}@{version}"
    return found


def _model_card(examined: Examined, evaluation: Evaluation | None) -> Node:
    subject = examined.subject
    card: Node = {
        "modelParameters": {
            "approach": {"type": "supervised"},
            "task": "regression" if subject.regression else "classification",
            "architectureFamily": "additive model" if subject.schema else "linear model",
            "modelArchitecture": subject.kind.words,
            "datasets": [_dataset(examined)],
            "inputs": [{"format": "table" if subject.schema else "numbers"}],
            "outputs": [{"format": "number" if subject.regression else "class"}],
        },
        "considerations": _considerations(examined),
        "properties": _privacy(examined),
    }
    if evaluation is not None:
        metrics = [_metric(x, evaluation) for x in evaluation.measures]
        card["quantitativeAnalysis"] = {"performanceMetrics": metrics}
        card["properties"].append(_property("evaluation", evaluation.status))
    return card


def _dataset(examined: Examined) -> Node:
    name = examined.card.facts.dataset or "training data"
    rows = other_facts(examined.subject)
    facts = [_property(f"public:{what}", value) for what, value in rows]
    for column, use, origin, known in column_facts(examined.subject):
        text = ", ".join(x for x in (use, origin, known) if x)
        facts.append(_property(f"column:{column}", text))
    return {
        "type": "dataset",
        "name": name,
        "description": "What was declared about the records. None of them is in the file.",
        "contents": {"properties": facts},
    }


def _considerations(examined: Examined) -> Node:
    card = examined.card
    limits = [f"{head}. {text}" for head, text in warnings(card)]
    limits.append(
        "Predictions about groups with few records are the least reliable; compare errors "
        "between groups before decisions about people rest on them."
    )
    found: Node = {"technicalLimitations": limits}
    if card.private:
        found["performanceTradeoffs"] = [
            "Noise that protects the records costs accuracy, the more the fewer they are."
        ]
        found["ethicalConsiderations"] = [
            {
                "name": f"What the model reveals about a {card.protected.noun}",
                "mitigationStrategy": f"{card.statement} Check: dpscd verify.",
            }
        ]
    return found


def _privacy(examined: Examined) -> list[Node]:
    card = examined.card
    facts = [
        ("statement", card.statement),
        ("epsilon", f"{card.epsilon:g}" if card.private else "inf"),
    ]
    if card.private:
        facts += [
            ("delta", repr(card.delta)),
            ("recomputed epsilon", repr(examined.found)),
            ("relation", str(card.relation)),
            ("unit", card.unit),
            ("accountant", card.claim.accountant),
            ("randomness", "seed" if card.seeded else "operating system"),
            *((f"release:{what}", noise) for what, _, noise in release_rows(card)),
            *(("assumption", text) for text in card.assumptions),
        ]
    read = [x[0] for x in column_facts(examined.subject) if x[2] == READ]
    facts += [("read from the records, not covered", name) for name in read]
    return [_property(f"privacy:{name}", value) for name, value in facts]


def _property(name: str, value: str) -> Node:
    return {"name": f"dpscd:{name}", "value": value}


def _metric(found: Measure, evaluation: Evaluation) -> Node:
    status = "private" if evaluation.private else "not private"
    metric: Node = {
        "type": found.name,
        "value": repr(found.value),
        "slice": f"{evaluation.on}, {status}",
    }
    if found.low is not None and found.high is not None:
        ends = {"lowerBound": repr(found.low), "upperBound": repr(found.high)}
        metric["confidenceInterval"] = ends
    return metric
