"""The experiments behind the paper's tables and figures, all of one shape."""

from vst.companion.experiments.bandit_trials import BANDIT_TRIALS
from vst.companion.experiments.bandits import BANDITS
from vst.companion.experiments.beyond import BEYOND
from vst.companion.experiments.blind import BLIND
from vst.companion.experiments.classification import CLASSIFICATION
from vst.companion.experiments.experiment import Experiment, Obtained, obtain
from vst.companion.experiments.gaps import GAP_RUNS
from vst.companion.experiments.ladder import LADDER
from vst.companion.experiments.literature import LITERATURE
from vst.companion.experiments.optimisers import OPTIMISERS
from vst.companion.experiments.optimum import OPTIMUM
from vst.companion.experiments.pictures import PICTURES
from vst.companion.experiments.rank import RANK
from vst.companion.experiments.regression import REGRESSION
from vst.companion.experiments.streams import STREAM_RUNS

__all__ = [
    "BANDITS",
    "BANDIT_TRIALS",
    "BEYOND",
    "BLIND",
    "CLASSIFICATION",
    "EXPERIMENTS",
    "GAP_RUNS",
    "LADDER",
    "LITERATURE",
    "OPTIMISERS",
    "OPTIMUM",
    "PICTURES",
    "RANK",
    "REGRESSION",
    "STREAM_RUNS",
    "Experiment",
    "Obtained",
    "obtain",
]

#: Every experiment by its name: what ``vst run`` takes.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        REGRESSION,
        OPTIMISERS,
        RANK,
        OPTIMUM,
        BEYOND,
        LADDER,
        CLASSIFICATION,
        GAP_RUNS,
        LITERATURE,
        PICTURES,
        STREAM_RUNS,
        BANDIT_TRIALS,
        BANDITS,
        BLIND,
    )
}
