"""Sentences about a card, in Markdown, shared by all exports."""

from collections.abc import Callable

from dpscd.export.examined import Examined
from dpscd.export.markup import bullets, code, plain
from dpscd.model.card import PrivacyCard
from dpscd.privacy.cost import Cost
from dpscd.privacy.unit import about_record_count
from dpscd.report.html import counted, number, whole
from dpscd.report.public_facts import READ, column_facts, other_facts
from dpscd.report.words import best_guess, chance, odds, percent, strength

_MOST_COLUMNS = 60  # in a list; the model's file has all of them

_ADJACENT = {
    "empty": "replacing {one} by {empty}. The number of {many} is the same in both and public.",
    "other": "replacing {one} by {other}. The number of {many} is the same in both and public.",
    "nothing": "adding or removing {one}. The true number of {many} is not public; the "
    "declared one, {n}, is.",
}
_RECORD = {
    "one": "one record",
    "empty": "an empty one, which contributes nothing",
    "other": "any other",
    "many": "records",
}
_PERSON = {
    "one": "all records of one person",
    "empty": "empty ones, which contribute nothing",
    "other": "those of any other, who may have more or fewer",
    "many": "persons",
}

_ACCOUNTANTS = {
    "PLD": "privacy loss distributions",
    "RDP": "Rényi differential privacy",
}


def task(examined: Examined, quoted: Callable[[str], str] = code) -> str:
    """Return the target and the inputs in one sentence; `quoted` writes names."""
    subject = examined.subject
    what = "a number" if subject.regression else "a class"
    if subject.target is not None:
        what = quoted(subject.target)
    ways = ""
    if subject.classes:
        shown = ", ".join(quoted(x) for x in subject.classes[:6])
        more = f" and {len(subject.classes) - 6} more" if len(subject.classes) > 6 else ""
        ways = f" (one of {shown}{more})"
    source = "the columns of a table" if subject.schema else "a row of numbers"
    return f"Predicts {what}{ways} from {source}."


def what_was_fitted(examined: Examined) -> str:
    """Return the sort of model and the size of its training, in one sentence."""
    return f"{examined.subject.kind.words.capitalize()}, trained on {trained_on(examined)}."


def trained_on(examined: Examined) -> str:
    """Return the numbers of records, or persons, and of features."""
    subject = examined.subject
    units = counted(subject.facts.n, subject.protected.noun)
    if subject.card.relation.needs_n:
        units = f"about {units} (declared; the true number is secret)"
    features = counted(subject.facts.d, "feature")
    return f"{units} with {features}"


def meaning(card: PrivacyCard) -> str:
    """Return the promise of a private card, in numbers other than epsilon."""
    unit = card.protected
    factor = odds(card.epsilon)
    most = factor if factor.startswith("more") else f"at most {factor}"
    return (
        f"The claim bounds how much the model depends on {unit.words(card.relation)}. Suppose "
        f"somebody finds it equally likely, 50 %, that {unit.suspicion(card.relation)}: with "
        "the best possible attack on this model they are right in at most "
        f"{percent(best_guess(card.epsilon, card.delta))} of such cases. Whatever comes out "
        f"can be more likely in one case than in the other by a factor of {most}, plus a "
        f"probability of {chance(card.delta)}."
    )


def scale(card: PrivacyCard) -> str:
    """Return how strong an epsilon is called, and by whom."""
    return (
        f"{strength(card.epsilon)}, where up to 1 is strong, up to 10 reasonable and more weak "
        "(Ponomareva et al., 2023)"
    )


def adjacent(card: PrivacyCard) -> str:
    """Return which data sets are adjacent, precisely."""
    person = card.protected.is_person
    words = _PERSON if person else _RECORD
    text = _ADJACENT[card.relation.absent].format(n=whole(card.facts.n), **words)
    found = (
        f"Two data sets are adjacent ({card.relation}) if one comes from the other by {text}"
    )
    if person:
        count = about_record_count(card.relation, card.epsilon, card.delta)
        found += f" Number of records: {count}."
    return found


def checked(examined: Examined) -> str:
    """Return when and how the claim was recomputed."""
    card = examined.card
    version = plain(card.versions["dp-accounting"])
    return (
        f"Epsilon was computed again from the model's file on {examined.day}: its releases "
        f"come to {examined.found:.6g}, not more than the {card.epsilon:g} that is claimed, at "
        f"delta {card.delta:.3g}, by {_ACCOUNTANTS[card.claim.accountant]} (dp-accounting "
        f"{version})."
    )


def finite_precision(card: PrivacyCard) -> str:
    """Return how floating point is accounted for."""
    claim = card.claim
    return (
        "Sums over records are exact whole numbers and the noise is rounded to the same "
        "lattice, so that neither the order of records nor low-order bits of a sum show "
        "through. What remains of finite precision is paid for: "
        f"{claim.precision_epsilon:.1e} of epsilon and {claim.precision_delta:.1e} of delta."
    )


def randomness(card: PrivacyCard) -> str:
    """Return where the noise came from."""
    if card.seeded:
        return (
            "The noise came from a seed: the guarantee holds only while the seed is secret and "
            "used for no other fit or score."
        )
    return "The noise comes from AES-256 in counter mode, keyed by the operating system."


def release_rows(card: PrivacyCard) -> list[tuple[str, str, str]]:
    """Return name, meaning and noise of each release."""
    many = f"{card.protected.noun}s"
    return [(x.what, x.words, _noise(x.cost, many)) for x in card.plan.releases]


def _noise(release: Cost, many: str) -> str:
    event = release.event
    lots = f"of all {many}" if event.rate == 1.0 else f"of lots at rate {event.rate:.4g}"
    times = "once" if event.steps == 1 else f"{whole(event.steps)} times"
    return (
        f"{counted(release.size, 'number')}, {times}, {lots}; Gaussian noise of "
        f"{event.noise_multiplier:.5g} clips (clip {number(release.clip, 4)})"
    )


def public_quantities(examined: Examined) -> str:
    """Return everything that is public, and so not protected by the guarantee."""
    rows = [f"{what}: {code(value)}" for what, value in other_facts(examined.subject)]
    columns = [
        x
        for x in column_facts(examined.subject)
        if x[2] == READ or (x[2] == "declared" and x[3])
    ]
    rows += [_column(*x) for x in columns[:_MOST_COLUMNS]]
    if len(columns) > _MOST_COLUMNS:
        rows.append(f"{len(columns) - _MOST_COLUMNS} more columns, in the model's file")
    return bullets(rows)


def _column(name: str, _: str, origin: str, known: str) -> str:
    note = ""
    if origin == READ:
        note = f". **This was {READ}, which the guarantee does not cover**"
    return f"column {code(name)}: {code(known) if known else 'its kind'}{note}"
