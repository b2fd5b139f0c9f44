"""All methods of the bench of features, by name."""

from functools import partial

from dpscd_experiments.opponents import softmax
from dpscd_experiments.opponents.registry import OURS, Method

__all__ = ["FEATURE_METHODS", "FINALISTS"]

#: How many settings of DP-SGD, the best on validation rows, are run with all seeds.
FINALISTS = 3

_WORDS = ("best", "second", "third")

FEATURE_METHODS = {
    OURS: Method(
        "ours, untuned",
        softmax.cells_of_ours,
        False,
        "`DPLogisticRegression(epsilon, delta=1e-5, classes=range(10), row_bound=...)`, "
        "multinomial; the bound is that which no row can exceed, whatever the picture; "
        "nothing is tuned",
    ),
    **{
        f"{softmax.TUNING}-{rank}": Method(
            f"DP-SGD, {words} in tuning",
            partial(softmax.cells_of_sgd, rank),
            True,
            f"DP-SGD of softmax regression with the setting that was {words} on validation "
            "rows: Poisson lots, whole gradients clipped, the accounting of ours, momentum. "
            "Its tuning is free of charge",
        )
        for rank, words in enumerate(_WORDS, 1)
    },
}
