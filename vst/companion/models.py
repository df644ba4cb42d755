"""The registry of models: one row holds everything the companion knows about a model.

To add a model, add a file in ``peers`` and a row here. Nothing else in the companion decides by a
model's name.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

from vst.companion.peers import (
    Interval,
    Peer,
    Ranges,
    Whole,
    bartz,
    deep_ensemble,
    gaussian_process,
    ngboost,
    sglb,
    stopped_ensemble,
    xbart,
    xgboost,
)
from vst.companion.stacked import StackedTrees
from vst.errors import UserError
from vst.soft_trees import SoftTrees

#: Okabe and Ito's palette, whose colours are distinct for all common kinds of colour vision.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY, BROWN, WINE = "#CC79A7", "#56B4E9", "#6E6E6E", "#8C6D1F", "#882255"
INDIGO = "#332288"

#: The parts of the paper's tables. Each model is compared with its own group and the deep ensemble.
Group = Literal["deep ensemble", "one tree", "many trees"]
GROUPS: tuple[Group, ...] = ("deep ensemble", "one tree", "many trees")

#: The group that the paper compares with both others; tables show it above them.
SHARED_GROUP: Group = "deep ensemble"

Setting = SoftTrees | Peer


class Family(NamedTuple):
    """A method without its variant; bandits, figures and tuning ranges use its name."""

    label: str
    colour: str  #: in every figure


FAMILIES: dict[str, Family] = {
    "random": Family("Random policy", GREY),
    "deep-ensemble": Family("Deep ensemble", PURPLE),
    "xbart": Family("XBART", ORANGE),
    "sglb": Family("SGLB", GREEN),
    "xgboost": Family("XGBoost", GREY),
    "vst": Family("VST", BLUE),
    "vsgbm": Family("VSGBM", VERMILLION),
    "ngboost": Family("NGBoost", SKY),
    "bart": Family("BART", BROWN),
    "gaussian-process": Family("Gaussian process", INDIGO),
    "lints": Family("LinTS", WINE),
    "logistic": Family("Logistic regression", WINE),
    "forest": Family("Random forest", BROWN),
    "catboost": Family("CatBoost", GREEN),
}


class Size(NamedTuple):
    """Rows and encoded features of a table, and how coarse its target is."""

    n: int
    d: int
    rounding: float = 0.0  #: standard deviation of the target's rounding, in standardised units


#: Tables with fewer rows are small: models vary more between folds and train faster.
SMALL = 2_000

#: Tables with at least this many rows are large.
LARGE = 10_000

#: Tables with at least this many rows per feature are long.
LONG = 500


def no_change(setting: Any, size: Size) -> dict[str, Any]:
    """A model that does not depend on the table's size."""
    return {}


def few_members(setting: Any) -> Any:
    """The form of a model in a trial: at most three members.

    One would not do: a mixture averages out the overfitting of its members, so it prefers, for example,
    a lower KL weight than a single member.
    """
    return replace(setting, members=min(setting.members, 3))


def half_steps(setting: SoftTrees) -> SoftTrees:
    """The form of a soft tree in a trial: just large enough to tell good settings from bad."""
    return replace(few_members(setting), steps=setting.steps // 2)


def few_sweeps(setting: bartz.BART) -> bartz.BART:
    """The form of BART in a trial: settings differ by more than short chains do."""
    return replace(setting, burn_in=min(setting.burn_in, 100), draws=min(setting.draws, 100))


def one_search(setting: gaussian_process.GaussianProcess) -> gaussian_process.GaussianProcess:
    """The form of a Gaussian process in a trial: a kernel shows what it is worth on 1,000 rows."""
    return replace(setting, search_rows=1000, most_rows=1000, restarts=0)


def unchanged(setting: Any) -> Any:
    """A model that is quick enough to be tried unchanged."""
    return setting


@dataclass(frozen=True)
class Model:
    """One row of the tables.

    Attributes
    ----------
    id
        The name in data files and on the command line.
    label
        The name in tables and figures; the paper's where it has one.
    group
        The part of the table that the row belongs to.
    family
        The method without its variant, a name in `FAMILIES`, which also gives the colour.
    settings
        Hyperparameters before tuning. Those of the peers were chosen knowing the test scores on
        boston, yacht, concrete and energy, so scores of untuned peers on these sets are optimistic:
        only tuned scores are results.
    ranges
        The paper's tuning ranges, by setting; empty for a peer that the paper does not have.
    own_ranges
        Ranges for settings that the paper does not name, or that replace the paper's.
    origin
        ``"paper"``: printed there; ``"beyond"``: the paper's models with options of this package;
        ``"today"``: a peer that the paper does not have.
    has_density
        Whether it predicts a distribution; if not, only its RMSE can be scored.
    trials
        Number of tuning trials per data set: more for more settings, fewer if a trial takes long.
    by_size
        Adds the settings that depend on the size of the table.
    in_trials
        The form that a trial fits.
    mark
        Marker in figures that show several models of one colour.
    library
        The package that fits it, if not this one.
    """

    id: str
    label: str
    group: Group
    family: str
    settings: Setting
    ranges: Ranges
    own_ranges: Ranges = field(default_factory=dict)
    origin: Literal["paper", "beyond", "today"] = "paper"
    has_density: bool = True
    trials: int = 16
    by_size: Callable[[Any, Size], Mapping[str, Any]] = no_change
    in_trials: Callable[[Any], Any] = unchanged
    mark: str = "o"
    library: str = ""

    @property
    def in_paper(self) -> bool:
        """Whether the paper prints scores of this model."""
        return self.origin == "paper"

    @property
    def is_soft(self) -> bool:
        """Whether it is a VST or a VSGBM; one program fits many of these."""
        return isinstance(self.settings, SoftTrees)

    @property
    def is_ours(self) -> bool:
        """Whether this package fits it: a soft tree, an ensemble or a mixture of them."""
        return isinstance(self.settings, SoftTrees | StackedTrees)

    @property
    def colour(self) -> str:
        """Its family's colour."""
        return FAMILIES[self.family].colour

    def all_ranges(self) -> Ranges:
        """All tuning ranges: the paper's, and our own for the rest."""
        return {**self.ranges, **self.own_ranges}

    def setting(self, parameters: Mapping[str, Any]) -> Any:
        """The model with these parameters; all others keep their values before tuning."""
        return replace(self.settings, **parameters)  # type: ignore[type-var]

    def setting_for(self, size: Size, tuned: Mapping[str, Any]) -> Any:
        """The model for a table of this size, with its tuned settings."""
        setting = self.setting(tuned)
        return replace(setting, **{**self.by_size(setting, size), **tuned})


def steps_for(size: Size) -> int:
    """Most gradient steps of a soft tree: 20,000, and three times as many on long tables.

    The paper does not say how many it used. With many rows the posterior is narrow, and training takes
    long to reach it. With many features each step is slow.
    """
    return 60_000 if size.n >= LONG * size.d else 20_000


def all_steps(setting: SoftTrees, size: Size) -> dict[str, Any]:
    """A VST trains for all steps of its table size."""
    return {"steps": steps_for(size)}


def steps_of_a_tree(setting: SoftTrees, size: Size) -> dict[str, Any]:
    """The trees of an ensemble share the steps: a fifth each."""
    return {"steps": steps_for(size) // 5}


def bart_by_size(setting: Any, size: Size) -> Mapping[str, Any]:
    """Fewer sweeps on a large table."""
    return bartz.LARGE if size.n >= LARGE else {}


#: The paper's tuning ranges. Its learning rates, 0.0001 to 0.001, belong to an optimiser that it does
#: not describe; here a fit trains until it has converged, with one rate for all data sets.
VST_RANGES: Ranges = {
    "prior_scale": Interval(0.01, 2.5, log=True),
    "depth": Whole(1, 5),
    "beta": Interval(1.0, 50.0, log=True),
}
VSGBM_RANGES: Ranges = {
    **VST_RANGES,
    "n_trees": Whole(1, 10),
    "prior_sigma_alpha": Interval(2.5, 5.0),
    "prior_sigma_beta": Interval(0.1, 5.0, log=True),
}

#: Ranges of the ensemble trained as one, around the settings that ``VSTRegressorCV`` chooses from.
JOINT_RANGES: Ranges = {
    "kl_weight": Interval(0.03, 1.0, log=True),
    "prior_scale": Interval(0.1, 1.0, log=True),
    "beta": Interval(2.0, 30.0, log=True),
}

#: An ensemble of ten small trees and a noise tree with one mean-field posterior, and a mixture of four.
JOINT = SoftTrees(
    depth=3, rank=0, prior_scale=0.3, kl_weight=0.3, steps=4000, tol=0.0,
    n_trees=10, training="joint", noise="tree", members=4,
)  # fmt: skip


def joint_by_size(setting: SoftTrees, size: Size) -> dict[str, Any]:
    """More and deeper trees for more rows; they are not tuned, so that all trials share a program.

    No scale is below the rounding error of the target, as in the estimator.
    """
    trees = {"depth": 4, "n_trees": 20} if size.n >= SMALL else {}
    return {**trees, "smallest_scale": size.rounding} if size.rounding else trees


SOFT: dict[str, Any] = {"in_trials": half_steps}

#: Every row, by group in the paper's order; rows that the paper does not have end each group.
MODELS: tuple[Model, ...] = (
    Model(
        "deep-ensemble", "Deep ensemble", "deep ensemble", "deep-ensemble",
        deep_ensemble.DeepEnsemble(), deep_ensemble.RANGES, deep_ensemble.OWN_RANGES,
        trials=8, in_trials=few_members, mark="D",
    ),
    Model(
        "xbart-1", "XBART (1 tree)", "one tree", "xbart",
        xbart.ONE_TREE, xbart.ONE_TREE_RANGES, xbart.OWN_RANGES, library="stochtree",
    ),
    Model(
        "sglb-1", "SGLB (1 tree)", "one tree", "sglb",
        sglb.ONE_TREE, sglb.ONE_TREE_RANGES, sglb.ONE_TREE_OWN_RANGES,
        trials=12, in_trials=few_members, library="catboost",
    ),
    Model(
        "xgboost-1", "XGBoost (1 tree)", "one tree", "xgboost",
        xgboost.ONE_TREE, xgboost.ONE_TREE_RANGES, has_density=False, trials=12, library="xgboost-cpu",
    ),
    Model(
        "vst-const", "VST (const.)", "one tree", "vst",
        SoftTrees(leaves="constant"), VST_RANGES, by_size=all_steps, mark="X",
        **SOFT,
    ),
    Model(
        "vst-linear", "VST (linear)", "one tree", "vst",
        SoftTrees(), VST_RANGES, by_size=all_steps, **SOFT,
    ),
    Model(
        "xbart", "XBART", "many trees", "xbart",
        xbart.XBART(), xbart.RANGES, xbart.OWN_RANGES, mark="s", library="stochtree",
    ),
    Model(
        "sglb", "SGLB", "many trees", "sglb",
        sglb.SGLB(), sglb.RANGES, sglb.OWN_RANGES, in_trials=few_members, mark="s", library="catboost",
    ),
    Model(
        "xgboost", "XGBoost", "many trees", "xgboost",
        xgboost.XGBoost(), xgboost.RANGES, has_density=False, mark="s", library="xgboost-cpu",
    ),
    Model(
        "vsgbm-const", "VSGBM (const.)", "many trees", "vsgbm",
        SoftTrees(leaves="constant", n_trees=10), VSGBM_RANGES,
        trials=8, by_size=steps_of_a_tree, mark="P", **SOFT,
    ),
    Model(
        "vsgbm-linear", "VSGBM (linear)", "many trees", "vsgbm",
        SoftTrees(n_trees=10), VSGBM_RANGES,
        trials=8, by_size=steps_of_a_tree, mark="s", **SOFT,
    ),
    Model(
        "vsgbm-joint", "VSGBM (joint)", "many trees", "vsgbm",
        JOINT, {}, JOINT_RANGES, origin="beyond", trials=8, by_size=joint_by_size, mark="h", **SOFT,
    ),
    Model(
        "vst-cv", "VST (CV)", "many trees", "vst",
        StackedTrees(), {}, origin="beyond", trials=0, mark="*",  # it chooses by itself
    ),
    Model(
        "ngboost", "NGBoost", "many trees", "ngboost",
        ngboost.NGBoost(), {}, ngboost.OWN_RANGES, origin="today", mark="s", library="ngboost",
    ),
    Model(
        "bartz", "BART (bartz)", "many trees", "bart",
        bartz.BART(), {}, bartz.OWN_RANGES, origin="today",
        trials=0,  # its literature's defaults, but for the blind replication, which tunes all models
        by_size=bart_by_size, in_trials=few_sweeps, mark="s", library="bartz",
    ),
    Model(
        "stopped-ensemble", "Stopped ensemble", "many trees", "deep-ensemble",
        stopped_ensemble.StoppedEnsemble(), {}, stopped_ensemble.OWN_RANGES,
        origin="today", trials=8, in_trials=few_members, mark="d",
    ),
    Model(
        "gaussian-process", "Gaussian process", "many trees", "gaussian-process",
        gaussian_process.GaussianProcess(), {}, gaussian_process.OWN_RANGES,
        origin="today", trials=4, in_trials=one_search, mark="d",
    ),
)  # fmt: skip

MODEL_BY_ID: dict[str, Model] = {model.id: model for model in MODELS}

#: Packages that fit models.
LIBRARIES: tuple[str, ...] = tuple(dict.fromkeys(m.library for m in MODELS if m.library))

#: All names, in the order of the tables.
NAMES: tuple[str, ...] = tuple(MODEL_BY_ID)


def label(identifier: str) -> str:
    """Name of a model or family in tables and figures.

    >>> label("vsgbm-const"), label("vst")
    ('VSGBM (const.)', 'VST')
    """
    if identifier in MODEL_BY_ID:
        return MODEL_BY_ID[identifier].label
    if identifier in FAMILIES:
        return FAMILIES[identifier].label
    names = list(dict.fromkeys([*MODEL_BY_ID, *FAMILIES]))
    raise UserError(f"there is no model {identifier!r}: the names are {', '.join(names)}")


#: Settings that came after results were stored. A description leaves them out while they have these
#: values, so that it still is the description of the stored results.
LATER = {"training": "boosting", "noise": "constant"}


def parameters(setting: Setting) -> dict[str, Any]:
    """All hyperparameters of a model, by name."""
    named = asdict(setting)  # type: ignore[arg-type]
    if isinstance(setting, SoftTrees):
        return {name: value for name, value in named.items() if LATER.get(name) != value}
    return named


def check_names(kind: str, given: list[str], valid: tuple[str, ...]) -> None:
    """Refuse unknown names, and list the valid ones."""
    unknown = [name for name in given if name not in valid]
    if unknown:
        raise UserError(f"there is no {kind} {', '.join(unknown)}: choose from {', '.join(valid)}")
