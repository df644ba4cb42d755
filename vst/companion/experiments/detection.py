"""Out-of-distribution detection: how well the epistemic variance separates test rows from others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from vst.companion.peers import Fitted
from vst.companion.protocol import Prepared, ood_set
from vst.errors import MissingDataError

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Detection:
    """Epistemic variances of one model at the rows of an OOD set."""

    model: str
    inside: Float[np.ndarray, " n"]
    outside: Float[np.ndarray, " m"]


def detect(model: Fitted, data: Prepared) -> dict[str, Any]:
    """Both AUROCs of a model, and the source of the OOD rows.

    The values are missing if the model has a single mean function, or if there are no OOD rows.
    """
    try:
        rows = ood_set(data)
    except MissingDataError:
        return {"auroc": None, "auroc_node": None, "ood": None}
    inside, outside = epistemic_variance(model, rows.x_in), epistemic_variance(model, rows.x_out)
    if inside is None or outside is None:
        return {"auroc": None, "auroc_node": None, "ood": None}
    return {
        "auroc": round(auroc(inside, outside), 5),
        "auroc_node": round(auroc_of_one_node(inside, outside), 5),
        "ood": rows.partner,
    }


def epistemic_variance(
    model: Fitted, x: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, " n"] | None:
    """Variance of the mean over posterior draws or members; None if there is only one."""
    means = model.mean_draws(x)
    return None if len(means) == 1 else np.var(means, axis=0)


def auroc(inside: Float[np.ndarray, " n"], outside: Float[np.ndarray, " m"]) -> float:
    """Probability that an outside row has the higher score; a tie counts half.

    Examples
    --------
    >>> auroc(np.array([0.1, 0.2]), np.array([0.2, 0.3]))
    0.875
    """
    labels = np.repeat([0, 1], [len(inside), len(outside)])
    return float(roc_auc_score(labels, _finite(np.concatenate([inside, outside]))))


def auroc_of_one_node(inside: Float[np.ndarray, " n"], outside: Float[np.ndarray, " m"]) -> float:
    """AUROC as in the paper: of a decision tree with one node, fitted to the scores.

    One threshold gives one point on the ROC curve, so this is the mean of the true positive and true
    negative rates.

    Examples
    --------
    >>> auroc_of_one_node(np.array([0.1, 0.2]), np.array([0.2, 0.3]))
    0.75
    """
    labels = np.repeat([0, 1], [len(inside), len(outside)])
    # Ranks instead of scores: scikit-learn's trees treat values within 1e-7 of each other as equal.
    scores = rankdata(_finite(np.concatenate([inside, outside])))[:, None]
    node = DecisionTreeClassifier(max_depth=1, class_weight="balanced", random_state=0)
    return float(roc_auc_score(labels, node.fit(scores, labels).predict_proba(scores)[:, 1]))


def _finite(scores: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Scores in which an overflowed variance is the largest number."""
    return np.nan_to_num(scores.astype(np.float64), nan=LARGEST, posinf=LARGEST)
