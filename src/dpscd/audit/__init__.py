"""Empirical lower bounds on epsilon, of an estimator or of a mechanism under test.

A bound above the claim, beyond its confidence, is a bug.
"""

from dpscd.audit.audit import AuditResult, Bound, audit, lower_bounds
from dpscd.audit.canaries import Population
from dpscd.audit.fits import FitCase, TableCase, TrainingCase
from dpscd.audit.scores import ScoreCase, SearchCase

__all__ = [
    "AuditResult",
    "Bound",
    "FitCase",
    "Population",
    "ScoreCase",
    "SearchCase",
    "TableCase",
    "TrainingCase",
    "audit",
    "lower_bounds",
]
