"""What is compared with what, and the bars that were set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpscd_experiments.speed.contest import Row, times_of

__all__ = ["MEASURES", "Measure"]


@dataclass(frozen=True)
class Measure:
    """A comparison of two contenders of one contest, turn by turn."""

    text: str  # what the page calls it
    contest: str  # the contest
    above: str  # the contenders; for a plain time there is no second one
    below: str = ""
    how: Literal["ratio", "percent", "seconds", "difference"] = "ratio"  # what is made of them
    bar: float | None = None  # what is to be reached, or kept to
    least: bool = True  # whether the bar is the least allowed, or the most

    def values(self, rows: Sequence[Row]) -> list[float]:
        """Return the comparison at every turn that has both."""
        above = times_of(rows, self.contest, self.above)
        if self.how == "seconds":
            return list(above.values())
        below = times_of(rows, self.contest, self.below)
        both = [(above[turn], below[turn]) for turn in above if turn in below]
        if self.how == "difference":
            return [one - other for one, other in both]
        return [one / other for one, other in both]

    def met(self, value: float) -> bool:
        """Return whether a value reaches the bar."""
        if self.bar is None:
            return True
        return value >= self.bar if self.least else value <= self.bar


#: Those with a bar first, in the order of the page.
MEASURES = (
    Measure("our private epoch against Snap ML's non-private dual epoch, 1 thread",
            "dense", "Snap ML", "ours, private", bar=1.5),
    Measure("the same, 2 threads",
            "dense", "Snap ML, 2 threads", "ours, private, 2 threads", bar=1.3),
    Measure("our private hinge epoch against liblinear's non-private dual epoch",
            "dense", "liblinear, hinge", "ours, private, hinge", bar=6.0),
    Measure("our private epoch against the plain Python loop of the paper",
            "dense", "plain Python loop", "ours, private", bar=100.0),
    Measure("rows a second against a float32 product that streams the same rows once",
            "dense", "product with a vector", "ours, private", how="percent", bar=0.22),
    Measure("private epoch over the same kernel on lots drawn before, without noise",
            "dense", "ours, private", "ours, no noise, lots drawn before", bar=1.25,
            least=False),
    Measure("sparse: lazy against eager noise",
            "sparse", "ours, private, eager noise", "ours, private, lazy noise", bar=100.0),
    Measure("sparse: private epoch with lazy noise over the non-private epoch",
            "sparse", "ours, private, lazy noise", "ours, not private", bar=4.0, least=False),
    Measure("whole default fit at epsilon 1, calibration cold, over scikit-learn's lbfgs fit",
            "fit", "ours, private", "scikit-learn, lbfgs", bar=6.0, least=False),
    Measure("first fit, with an empty cache of compiled code",
            "startup", "first fit", how="seconds", bar=6.0, least=False),
    Measure("`from dpscd import DPLogisticRegression` beyond `import sklearn.linear_model`",
            "startup", "from dpscd import DPLogisticRegression",
            "import sklearn.linear_model", how="difference", bar=0.4, least=False),
    Measure("our private epoch against scikit-learn's SGDClassifier epoch, not private",
            "dense", "scikit-learn, SGD", "ours, private"),
    Measure("our private epoch against our non-private one (SDCA)",
            "dense", "ours, not private", "ours, private"),
    Measure("our private epoch with 2 threads against 1",
            "dense", "ours, private", "ours, private, 2 threads"),
    Measure("our private epoch against a copy of the rows in random order",
            "dense", "copy of rows in random order", "ours, private"),
    Measure("share of the bandwidth of a copy in memory that a private epoch reads rows with",
            "dense", "copy of as many bytes", "ours, private", how="percent"),
    Measure("sparse: the same for a whole run of 4 epochs, with what it settles at its end",
            "sparse", "ours, private, lazy noise, whole run", "ours, not private"),
    Measure("sparse: private epoch over its kernel on lots drawn before, without noise",
            "sparse", "ours, private, lazy noise", "ours, no noise, lots drawn before"),
    Measure("whole default fit over diffprivlib's private fit",
            "fit", "ours, private", "diffprivlib"),
    Measure("`import dpscd`", "startup", "import dpscd", how="seconds"),
    Measure("fit in a later process", "startup", "later fit", how="seconds"),
)  # fmt: skip
