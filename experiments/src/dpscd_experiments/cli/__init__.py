"""The verbs that show and repeat experiments: one file per verb."""
