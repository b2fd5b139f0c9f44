"""Figures and pages of the experiments, and the runs that they show."""
