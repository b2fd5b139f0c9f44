"""What a card says of the search that chose its model, and whether it can be so."""

from dpscd.errors import CardError
from dpscd.privacy.release import Release
from dpscd.privacy.score import SCORE
from dpscd.privacy.search import Search
from dpscd.privacy.unit import Unit

__all__ = ["check_search", "words_of"]

# What a card may state; narrow enough that it can be recomputed.
_MOST_FITS = 1000
_LEAST_NOISE = 0.05


def check_search(search: Search, releases: tuple[Release, ...]) -> None:
    """Refuse a search that is never made so, or not for a model with these releases."""
    score = search.score
    if releases not in search.fits or len(search.fits) > _MOST_FITS:
        raise CardError("the card's releases are not those of one of its candidates.")
    if {x.n for fit in search.fits for x in fit} != {releases[0].n}:
        raise CardError("the card's candidates were not trained on the same records.")
    released = score.what, score.clip, score.event.rate, score.event.steps
    if released != (SCORE, 1.0, 1.0, 1):
        raise CardError("the card states a score that is never released so.")
    if any(x.event.noise_multiplier < _LEAST_NOISE for one in search.lists() for x in one):
        raise CardError("the card's search has a release without noise.")


def words_of(search: Search, unit: Unit) -> str:
    """Return how the model was chosen, in words."""
    return (
        f"Chosen by a private search: the best of a secret number of runs, "
        f"{1.0 / search.stop:.4g} on average, each training one of the candidates with "
        f"({search.far_epsilon:.4g}, {search.far_delta:.3g}) and scoring it, with noise, on "
        f"{search.score.n:,} {unit.noun}s kept apart. The guarantee is that of the whole "
        "search."
    )
