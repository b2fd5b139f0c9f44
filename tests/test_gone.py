"""Names that are gone and may not come back: each described one fit once more."""

import tokenize
from pathlib import Path

import dpscd

GONE = {
    "DeclaredEncoder", "DeclaredScaler", "Parties", "PlannedRelease", "Recording", "ScoreCard",
    "Examined", "Subject", "check_fits", "check_listed",
    "consistency", "first_releases", "in_order", "planned_releases", "recorded", "recording",
    "run_plan", "score_card_of", "search_parts", "statements", "usual_metric", "watched",
    "watching", "SCORE_OPTIONS", "plan_question",
    "band_proved", "coef_noise_", "intercept_noise_",
    "DoorResult", "EstimatorGame", "Mechanism", "ScoreGame", "ScoreResult", "TableGame",
    "audit_door", "audit_score",
}  # fmt: skip


def test_names_that_are_gone_do_not_come_back():
    found = set()
    for file in Path(dpscd.__file__).parent.rglob("*.py"):
        with tokenize.open(file) as source:
            tokens = tokenize.generate_tokens(source.readline)
            names = {token.string for token in tokens if token.type == tokenize.NAME}
        found |= {(file.name, name) for name in names | {file.stem} if name in GONE}
    assert found == set()
