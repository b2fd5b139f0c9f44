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
    """Return the sentence that says what bands are: a proved upper bound, or a rough estimate.

    None without noise.

    Proof: docs/proofs/noise_band.md, which also says how far estimates are off.
    """
    inner = getattr(model, "estimator_", model)
    if not inner.privacy_.private:
        return None
    rescaled = inner.fit_.plan.listed("rescaling") is not None
    columns = model.schema_.features if hasattr(model, "schema_") else ()
    if kind_of(inner).band_proved and not rescaled and not any(x.monotone for x in columns):
        return (
            "The band is a proved upper bound for two standard deviations of the noise, unless "
            "the rows of a lot are nearly parallel."
        )
    return (
        "The band is a rough estimate of two standard deviations of the noise: usually too "
        "wide, often by several times, and sometimes too narrow."
    )


def clear_words(noun: str) -> str:
    """Return which effects, or coefficients, are called clear."""
    if noun != "effect":
        return "zero lies outside the band"
    return (
        f"zero lies outside the band, the effect is at least {100.0 * LEAST_SIZE:g} % of the "
        f"largest, and at least {100.0 * LEAST_SHARE:g} % of the records have the value, as "
        "far as released means tell"
    )
