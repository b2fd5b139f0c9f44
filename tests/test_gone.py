"""Names that are gone and may not come back: each described one fit once more."""

import tokenize
from pathlib import Path

import dpscd

GONE = {
    "ArrayDoor", "Arrays", "DaskArrays", "DaskTable", "Opened", "RecordSource", "RowSource",
    "TableDoor", "TableFiles", "table_source",
    "Books", "Brake", "CALLED_OFF", "Crowd", "DeclaredEncoder", "DeclaredScaler", "Desk",
    "DoorResult", "EstimatorGame", "Examined", "Mechanism", "Parties", "PlannedRelease",
    "Recording", "SCORE_OPTIONS", "ScoreCard", "ScoreGame", "ScoreResult", "Subject",
    "TableGame", "advance_persons", "audit_door", "audit_score", "band_proved", "check_fits",
    "check_listed", "coef_noise_", "consistency", "fill_chances", "first_releases", "in_order",
    "intercept_noise_", "log_chances", "plan_question", "planned_releases", "recorded",
    "recording", "run_plan", "score_card_of", "seal", "search_parts", "shape_figure",
    "statements", "usual_metric", "watched", "watching",
}  # fmt: skip


def test_names_that_are_gone_do_not_come_back():
    found = set()
    for file in Path(dpscd.__file__).parent.rglob("*.py"):
        with tokenize.open(file) as source:
            tokens = tokenize.generate_tokens(source.readline)
            names = {token.string for token in tokens if token.type == tokenize.NAME}
        found |= {(file.name, name) for name in names | {file.stem} if name in GONE}
    assert found == set()
