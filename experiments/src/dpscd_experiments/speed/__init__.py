"""What a private epoch and a private fit cost, next to others, in one run."""
