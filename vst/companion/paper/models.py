"""The models of the book's tables: their names, their order and the group each is compared in."""

from dataclasses import dataclass
from typing import Literal

from vst.errors import UserError

#: The parts of the paper's tables. A model is compared with its own group and the deep ensemble.
Group = Literal["deep ensemble", "one tree", "many trees"]
GROUPS: tuple[Group, ...] = ("deep ensemble", "one tree", "many trees")

#: The group that the paper sets against both others: it stands above them and in both comparisons.
SHARED_GROUP: Group = "deep ensemble"


@dataclass(frozen=True)
class Model:
    """One row of a table.

    Attributes
    ----------
    id
        The name in data files and on the command line.
    label
        The name in tables and figures; the paper's where it has one.
    group
        The part of the table the row stands in.
    family
        The method without its variant. The bandits, the figures and the tuning ranges are printed
        by family: the paper does not say there which leaves, or how many trees.
    origin
        ``"paper"``: printed there; ``"beyond"``: the paper's models with options of this package;
        ``"today"``: a peer that the paper does not have.
    probabilistic
        Whether it gives a predictive distribution; if not, only its RMSE can be scored.
    """

    id: str
    label: str
    group: Group
    family: str
    origin: Literal["paper", "beyond", "today"] = "paper"
    probabilistic: bool = True

    @property
    def in_paper(self) -> bool:
        """Whether the paper prints scores of this model."""
        return self.origin == "paper"


#: Every row, group by group in the paper's order; rows it does not have end each group.
MODELS: tuple[Model, ...] = (
    Model("deep-ensemble", "Deep ensemble", "deep ensemble", "deep-ensemble"),
    Model("xbart-1", "XBART (1 tree)", "one tree", "xbart"),
    Model("sglb-1", "SGLB (1 tree)", "one tree", "sglb"),
    Model("xgboost-1", "XGBoost (1 tree)", "one tree", "xgboost", probabilistic=False),
    Model("vst-const", "VST (const.)", "one tree", "vst"),
    Model("vst-linear", "VST (linear)", "one tree", "vst"),
    Model("vst-quick", "VST+ (quick)", "one tree", "vst", "beyond"),
    Model("vst-plus", "VST+", "one tree", "vst", "beyond"),
    Model("xbart", "XBART", "many trees", "xbart"),
    Model("sglb", "SGLB", "many trees", "sglb"),
    Model("xgboost", "XGBoost", "many trees", "xgboost", probabilistic=False),
    Model("vsgbm-const", "VSGBM (const.)", "many trees", "vsgbm"),
    Model("vsgbm-linear", "VSGBM (linear)", "many trees", "vsgbm"),
    Model("vsgbm-plus", "VSGBM+", "many trees", "vsgbm", "beyond"),
    Model("ngboost", "NGBoost", "many trees", "ngboost", "today"),
    Model("bartz", "BART (bartz)", "many trees", "bart", "today"),
)

MODEL_BY_ID: dict[str, Model] = {model.id: model for model in MODELS}

#: What is printed by family rather than by variant, and the bandits' agents that fit no table.
FAMILY_LABELS: dict[str, str] = {
    "random": "Random policy",
    "deep-ensemble": "Deep ensemble",
    "xbart": "XBART",
    "sglb": "SGLB",
    "xgboost": "XGBoost",
    "vst": "VST",
    "vsgbm": "VSGBM",
    "ngboost": "NGBoost",
    "bart": "BART",
    "lints": "LinTS",
}


def label(identifier: str) -> str:
    """Name of a model, or of a family, as tables and figures show it.

    >>> label("vsgbm-const"), label("vst")
    ('VSGBM (const.)', 'VST')
    """
    if identifier in MODEL_BY_ID:
        return MODEL_BY_ID[identifier].label
    if identifier in FAMILY_LABELS:
        return FAMILY_LABELS[identifier]
    names = list(dict.fromkeys([*MODEL_BY_ID, *FAMILY_LABELS]))
    raise UserError(f"there is no model {identifier!r}: the names are {', '.join(names)}")
