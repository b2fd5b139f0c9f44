"""All methods of the bench of tables, by name."""

from dpscd_experiments.opponents import (
    ebm,
    gradient_boosting,
    synthetic,
    table_linear,
    table_ours,
)
from dpscd_experiments.opponents.registry import OURS, Method

__all__ = ["TABLE_METHODS"]

TABLE_METHODS = {
    OURS: Method(
        "ours, untuned",
        table_ours.cells,
        False,
        "`TableModel` with the schema, epsilon and delta; nothing is tuned",
    ),
    "dp-ebm": Method(
        "DP-EBM",
        ebm.cells,
        True,
        "interpret-core's private boosting of one column at a time, with its defaults (300 "
        "rounds, a tenth of epsilon for bins); given the same bounds and transforms; a "
        "number that is missing stands in the middle, or beyond the highest where the schema "
        "tells missing ones apart, because it takes none. It reads the values of categories "
        "off the records, which it does not charge",
    ),
    "dp-sgd": Method(
        "DP-SGD, tuned",
        table_linear.cells_of_dp_sgd,
        True,
        "on our features; Poisson lots, PLD accounting, averaging; tuned on a quarter of the "
        "training rows free of charge. For regression its clip is in units of the standard "
        "deviation of the training labels, which it is given without noise",
    ),
    "diffprivlib": Method(
        "diffprivlib",
        table_linear.cells_of_diffprivlib,
        True,
        "its logistic or linear regression on our features; pure epsilon (delta 0); with its "
        "defaults",
    ),
    "adassp": Method(
        "AdaSSP",
        table_linear.cells_of_adassp,
        True,
        "regression only, on our features; Wang (2018), a third of epsilon and delta for each "
        "of its three releases, each with the least Gaussian noise",
    ),
    "boosted-adassp": Method(
        "Boosted AdaSSP, tuned",
        table_linear.cells_of_boosted_adassp,
        True,
        "regression only, on our features; Tang et al. (2023), its Gaussian releases composed "
        "exactly; rounds and clip of residuals (over half the declared range) tuned on a "
        "quarter of the training rows free of charge",
    ),
    "mst": Method(
        "MST, then boosting",
        synthetic.cells,
        True,
        "as many synthetic records as there are, by dpmm's MST on intervals of equal width "
        "between declared bounds, then scikit-learn's gradient boosting; on the small tables "
        "and with few seeds, for its time",
    ),
    "plain": Method(
        "our features, not private",
        table_linear.cells_of_plain,
        False,
        "our estimators at an infinite epsilon, lam tuned on a quarter of the training rows",
    ),
    "ebm": Method(
        "EBM, not private",
        ebm.plain_cells,
        False,
        "interpret-core's boosting, which has pairs of columns too, with its defaults but for "
        "fewer bags, for its time",
    ),
    "boosting": Method(
        "gradient boosting, not private",
        gradient_boosting.cells,
        False,
        "scikit-learn's HistGradientBoosting with its defaults",
    ),
}
