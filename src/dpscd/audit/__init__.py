"""Empirical lower bounds on epsilon, of an estimator or of a mechanism under test.

An accountant states how much can leak at most; the audit attacks and measures how much leaks at
least. A bound above the claim, beyond its confidence, is a bug.
"""

from dpscd.audit.audit import AuditResult, audit
from dpscd.audit.bounds import LowerBounds, gaussian_epsilon, gaussian_mu, lower_bounds
from dpscd.audit.canaries import PERSON_ROWS, Game
from dpscd.audit.front_door import DoorResult, audit_door
from dpscd.audit.games import EstimatorGame, TableGame
from dpscd.audit.mechanism import Attack, LikelihoodRatio, Mechanism
from dpscd.audit.score_audit import ScoreGame, ScoreResult, audit_score

__all__ = [
    "PERSON_ROWS",
    "Attack",
    "AuditResult",
    "DoorResult",
    "EstimatorGame",
    "Game",
    "LikelihoodRatio",
    "LowerBounds",
    "Mechanism",
    "ScoreGame",
    "ScoreResult",
    "TableGame",
    "audit",
    "audit_door",
    "audit_score",
    "gaussian_epsilon",
    "gaussian_mu",
    "lower_bounds",
]
