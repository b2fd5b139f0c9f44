"""The fields of a details file, one row each, under the names of the registry."""

from typing import NamedTuple

__all__ = ["FIELDS", "Field"]


class Field(NamedTuple):
    """One question of the details file."""

    path: tuple[str, ...]  # place in the registry's record
    asks: str  # the question
    needed: bool = True  # whether an entry of tier 3 is refused without it
    kind: str = "text"  # of the answer: 'text', 'list', 'date' or 'slug'
    choices: tuple[str, ...] = ()  # the allowed answers; any text if empty

    @property
    def name(self) -> str:
        """The path in one word."""
        return ".".join(self.path)


_BASIC = ("deployment", "basic")
_MODEL = ("deployment", "deployment_model")
_MADE = ("deployment", "implementation")
_ABOUT = ("deployment", "administrative")
_SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")

#: In the order in which the file asks.
FIELDS = (
    Field(
        ("url_slug",),
        "The end of the entry's address: letters, digits, - and _.",
        kind="slug",
    ),
    Field((*_BASIC, "name"), "What the model is called."),
    Field((*_BASIC, "data_curators"), "Who publishes it, one text each.", kind="list"),
    Field((*_BASIC, "description"), "What it is, in a few sentences."),
    Field((*_BASIC, "intended_use"), "What it is meant to be used for, and by whom."),
    Field(
        (*_BASIC, "data_product_region"), "Which region the data describe, or whose law holds."
    ),
    Field(
        (*_BASIC, "publication_date"),
        "When it is published, or was first: YYYY-MM-DD.",
        kind="date",
    ),
    Field((*_BASIC, "data_product_sector"), "The field it is about.", False, choices=_SECTORS),
    Field(
        (*_MODEL, "actors"),
        "Who sees the records, who sees the model, who might attack it;\n"
        "whom the people in the data have to trust, and why they may.",
    ),
    Field(
        (*_MODEL, "release_type"),
        "Whether this model is all that is published, or others follow from the same people.",
        choices=("One release", "Many releases"),
    ),
    Field(
        (*_MODEL, "release_type_details"),
        "Of one release: whether the records will be used again. Of many: how often, and what\n"
        "budget bounds them together.",
    ),
    Field(
        (*_MODEL, "data_source_type"),
        "Whether new records come in over time.",
        choices=("Static", "Dynamic"),
    ),
    Field((*_MODEL, "data_source_type_details"), "More about that.", False),
    Field(
        ("deployment", "accounting", "composition"),
        "Other releases about the same people, and how their epsilons add up. Stands after\n"
        "what the card says of this model's own releases.",
        False,
    ),
    Field(
        (*_MADE, "preprocessing_and_hyperparameter_tuning"),
        "What was done with the records before training: cleaning, looking at them, choosing\n"
        "columns, trying settings; and whether its privacy loss was accounted for. Write if\n"
        "nothing was. Stands after what the card says of planning.",
    ),
    Field(
        (*_MADE, "mechanisms"),
        "How the records themselves are secured, and who has access. Follows the card's text.",
        False,
    ),
    Field(
        (*_MADE, "justification"),
        "Why this epsilon, this delta, this unit and these public facts, and who decided.",
    ),
    Field((*_ABOUT, "sources"), "Links to papers, pages or the model itself.", False),
    Field((*_ABOUT, "notes"), "Anything else.", False),
    Field((*_ABOUT, "registry_authors"), "Who wrote this entry, one text each.", kind="list"),
)
