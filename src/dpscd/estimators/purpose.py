"""What the coefficients of a model and their bands are good for, in words for readers."""

from typing import Any

from dpscd.estimators.registry import kind_of

#: An effect that is called clear is at least this part of the largest, and of a value that at
#: least this share of the records has.
LEAST_SIZE, LEAST_SHARE = 0.05, 0.005


def prediction_note(model: Any, noun: str = "coefficient") -> str | None:
    """Return a caution about the coefficients of a fit for prediction.

    None where they have intervals, or no noise.
    """
    if model.fit_.has_intervals or not model.privacy_.private:
        return None
    able = kind_of(model).has_intervals and len(getattr(model, "classes_", (0, 1))) == 2
    where = " For estimates with intervals train with --inference." if able else ""
    return f"These {noun}s are for prediction, which shrinks or inflates them.{where}"


def band_words(model: Any) -> str | None:
    """Return the sentences that say what bands and bounds are; None without noise.

    Proof: docs/proofs/spread.md and docs/proofs/noise_band.md.
    """
    fit = model.fit_
    if not fit.card.private:
        return None
    if fit.spread.why is not None:
        words = f"There is no band: {fit.spread.why}."
    else:
        words = (
            "The band is an estimate of two standard deviations over repeated fits of the same "
            "records, from released numbers alone. It takes columns to be unrelated: where "
            "they go together it is too narrow, sometimes by ten times or more."
        )
    if fit.is_bounded:
        words += (
            " The bound is a proved upper limit for two standard deviations of the noise, "
            "unless the rows of a lot are nearly parallel."
        )
    return words


def clear_words(noun: str) -> str:
    """Return which effects, or coefficients, are called clear."""
    if noun != "effect":
        return "it is larger than the band and chance in the records explain"
    return (
        "the effect is larger than the band and chance in the records explain, it is at least "
        f"{100.0 * LEAST_SIZE:g} % of the largest, and at least {100.0 * LEAST_SHARE:g} % of "
        "the records have the value, as far as released means tell"
    )
