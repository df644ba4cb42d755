"""The classifiers: one tree, and an ensemble."""

from dataclasses import asdict, replace

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from vst.arguments import count, one_of
from vst.classes import ClassDraws, ClassShape
from vst.estimators.base import DEFAULT_DRAWS
from vst.estimators.sequential import MEMORY, SequentialClassifier
from vst.estimators.single import TREE
from vst.soft_trees import FittedStack, Seed, SoftClassTrees, SoftTrees, Streams, draw_model
from vst.tree import Leaves

#: The default tree: a wide prior, since classes that are nearly separable need large logits.
CLASS_TREE = replace(TREE, prior_scale=3.0, members=4)

#: The default ensemble of small trees. Both were chosen on tables of numbers cut into classes.
ENSEMBLE = replace(TREE, n_trees=10, depth=3, rank=0, prior_scale=2.0, members=4)


class SingleModelClassifier(SequentialClassifier):
    """What the classifiers of one model share."""

    shape_: ClassShape
    leaves: Leaves

    def _setting_for(self, target: Float[np.ndarray, " n"]) -> SoftTrees:
        own = asdict(self._setting()) | {"training": "joint"}
        return SoftClassTrees(**own, n_classes=len(self.classes_))

    def _check_params(self) -> None:
        super()._check_params()
        one_of("leaves", self.leaves, ("constant", "linear"))

    def _keep(self, fitted: FittedStack) -> None:
        """Nothing: the posteriors are all that predictions need."""

    def _draws(self, n: int | None) -> ClassDraws:
        drawing = Streams.of(self.seed_).drawing
        return self._function_draws(drawing, DEFAULT_DRAWS if n is None else n)

    def _function_draws(self, key: PRNGKeyArray, n: int) -> ClassDraws:
        return draw_model(key, self.shape_, self.beta_, self.stacked_posteriors_, n)


class VSTClassifier(SingleModelClassifier):
    """Variational soft tree for classes: one soft tree whose leaves are distributions over classes.

    Every leaf gives each class a logit, affine in the input or constant, and the class is drawn from the
    mixture of the leaves. The rest is as in :class:`~vst.VSTRegressor`, which explains the parameters.
    The paper names classification as future work.

    Parameters
    ----------
    depth, leaves, rank, beta, prior_scale, learning_rate, steps, tol, batch_size, mc_samples, whiten
        As in :class:`~vst.VSTRegressor`; the prior is wider by default.
    kl_weight, members, memory, forgetting, standardise, random_state, progress
        As in :class:`~vst.VSTRegressor`; by default there are four members.

    Attributes
    ----------
    classes_ : array
        The classes, sorted: the order of the columns of ``predict_proba``.
    posteriors_, elbo_, n_iter_, converged_, n_params_
        As in :class:`~vst.VSTRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from vst import VSTClassifier
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> model = VSTClassifier(depth=2).fit(x, np.where(np.abs(x[:, 0]) > 0.5, "outside", "inside"))
    >>> model.predict([[0.0, 0.0], [0.9, 0.0]]).tolist()
    ['inside', 'outside']
    """

    def __init__(
        self,
        depth: int = CLASS_TREE.depth,
        leaves: Leaves = CLASS_TREE.leaves,
        rank: int = CLASS_TREE.rank,
        beta: float = CLASS_TREE.beta,
        prior_scale: float = CLASS_TREE.prior_scale,
        learning_rate: float = CLASS_TREE.learning_rate,
        steps: int = CLASS_TREE.steps,
        tol: float = CLASS_TREE.tol,
        batch_size: int = CLASS_TREE.batch_size,
        mc_samples: int = CLASS_TREE.mc_samples,
        whiten: bool = bool(CLASS_TREE.whiten),
        kl_weight: float = CLASS_TREE.kl_weight,
        members: int = CLASS_TREE.members,
        memory: int = MEMORY,
        forgetting: float = 0.0,
        standardise: bool = True,
        random_state: Seed = 0,
        progress: bool = False,
    ):
        self.depth = depth
        self.leaves = leaves
        self.rank = rank
        self.beta = beta
        self.prior_scale = prior_scale
        self.learning_rate = learning_rate
        self.steps = steps
        self.tol = tol
        self.batch_size = batch_size
        self.mc_samples = mc_samples
        self.whiten = whiten
        self.kl_weight = kl_weight
        self.members = members
        self.memory = memory
        self.forgetting = forgetting
        self.standardise = standardise
        self.random_state = random_state
        self.progress = progress


class VSGBMClassifier(SingleModelClassifier):
    """A sum of variational soft trees for classes, all trained at once.

    The trees' logits are added up, each with the weight ``1 / sqrt(n_trees)``, and the sum gives the
    probabilities of the classes. The posterior covers all parameters of all trees.

    Parameters
    ----------
    n_trees
        Number of trees.
    depth, leaves, rank, beta, prior_scale, learning_rate, steps, tol, batch_size, mc_samples, whiten
        As in :class:`~vst.VSTRegressor`; the defaults differ.
    kl_weight, members, memory, forgetting, standardise, random_state, progress
        As in :class:`~vst.VSTRegressor`; the defaults differ.

    Attributes
    ----------
    classes_ : array
        The classes, sorted: the order of the columns of ``predict_proba``.
    posteriors_, elbo_, n_iter_, converged_, n_params_
        As in :class:`~vst.VSGBMRegressor`.
    """

    def __init__(
        self,
        n_trees: int = ENSEMBLE.n_trees,
        depth: int = ENSEMBLE.depth,
        leaves: Leaves = ENSEMBLE.leaves,
        rank: int = ENSEMBLE.rank,
        beta: float = ENSEMBLE.beta,
        prior_scale: float = ENSEMBLE.prior_scale,
        learning_rate: float = ENSEMBLE.learning_rate,
        steps: int = ENSEMBLE.steps,
        tol: float = ENSEMBLE.tol,
        batch_size: int = ENSEMBLE.batch_size,
        mc_samples: int = ENSEMBLE.mc_samples,
        whiten: bool = bool(ENSEMBLE.whiten),
        kl_weight: float = ENSEMBLE.kl_weight,
        members: int = ENSEMBLE.members,
        memory: int = MEMORY,
        forgetting: float = 0.0,
        standardise: bool = True,
        random_state: Seed = 0,
        progress: bool = False,
    ):
        self.n_trees = n_trees
        self.depth = depth
        self.leaves = leaves
        self.rank = rank
        self.beta = beta
        self.prior_scale = prior_scale
        self.learning_rate = learning_rate
        self.steps = steps
        self.tol = tol
        self.batch_size = batch_size
        self.mc_samples = mc_samples
        self.whiten = whiten
        self.kl_weight = kl_weight
        self.members = members
        self.memory = memory
        self.forgetting = forgetting
        self.standardise = standardise
        self.random_state = random_state
        self.progress = progress

    def _check_params(self) -> None:
        super()._check_params()
        count("n_trees", self.n_trees)
