"""The paper's experiments: a target's cells, and what its rows say."""
