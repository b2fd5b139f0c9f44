"""The privacy card: what a model states about itself, and whether its statements agree."""
