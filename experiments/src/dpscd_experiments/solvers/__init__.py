"""Methods to compare with, which no estimator uses."""
