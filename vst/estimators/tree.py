"""The estimator of a single variational soft tree."""

from typing import Literal

from jaxtyping import PRNGKeyArray

from vst.estimators.base import DEFAULT_DRAWS
from vst.estimators.sequential import MEMORY, SequentialRegressor
from vst.estimators.single import TREE
from vst.predictive import Draws
from vst.soft_trees import FittedStack, Seed, Streams, draw_model
from vst.tree import Leaves, TreeShape


class VSTRegressor(SequentialRegressor):
    """Variational soft tree: one soft decision tree with a low-rank Gaussian posterior.

    Every leaf is a Normal, and the target is a mixture of the leaves, weighted by the tree's soft
    routing. Maximising the ELBO fits the posterior over all parameters. The model standardises
    features and target; predictions are in the target's own units.

    Parameters
    ----------
    depth
        Gates between root and leaf; the tree has ``2**depth`` leaves.
    leaves
        ``"linear"``: a leaf's mean and scale are affine in the input; ``"constant"``: they are numbers.
    rank
        Rank of the low-rank part of the posterior covariance: 0 is mean field, ``n_params_`` is a
        full covariance.
    beta
        Inverse temperature of the gates: a larger value is closer to a hard tree.
    prior_scale
        Standard deviation ``tau`` of the prior on every parameter.
    learning_rate
        Adam's step size. It falls linearly to zero over the last third of the steps.
    steps
        Gradient steps, at most: training stops earlier if the bound no longer rises.
    tol
        When the bound counts as flat: it rose by less than this from the second third of the steps so
        far to the last, in nats per row. With 0, training always takes all ``steps``.
    batch_size
        Rows per minibatch.
    mc_samples
        Posterior draws per step in the estimate of the expected log-likelihood.
    whiten
        Also make the standardised inputs uncorrelated (PCA). Not in the paper.
    kl_weight
        Weight of the KL term: below 1 the posterior trusts the data more. Not in the paper.
    members
        Number of posteriors fitted from different starts; predictions mix them. Not in the paper.
    smallest_scale
        Smallest standard deviation of a leaf, in units of the target's. A target with few values, such
        as a count or a grade, needs one: nothing else limits the density at these values. ``"auto"``
        takes the rounding error, 0.29 of the distance between two values, for a target with at most 20
        values, and 1e-6 for others. Not in the paper.
    memory
        Past rows that ``partial_fit`` keeps: a random sample of all so far, saved with the model.
    forgetting
        Share of what is known that every call of ``partial_fit`` forgets first, for data that drift.
    standardise
        Standardise features and target. Set to False if they already are standardised.
    random_state
        Seed of initial values, minibatches and draws: a number, or a JAX key. With a key, a member's
        fit does not depend on the number of members.
    progress
        Show a progress bar while fitting.

    Attributes
    ----------
    posteriors_ : list of LowRankGaussian
        One per member; ``posterior_`` is the first.
    elbo_ : array of shape (members, steps taken)
        Objective at every step, in nats per row: the estimated ELBO of the standardised target, with
        the KL term weighted by ``kl_weight``.
    n_iter_ : int
        Steps taken.
    converged_ : bool
        Whether the bound of every member rose by less than five times ``tol`` before the learning rate
        began to fall. If not, ``fit`` warns (ConvergenceWarning), unless ``tol`` is 0.
    n_params_ : int
        Number of parameters.
    n_samples_seen_ : int
        Rows that it was fitted to, by all calls of ``partial_fit`` together.

    Examples
    --------
    >>> import numpy as np
    >>> from vst import VSTRegressor
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.abs(x[:, 0])
    >>> model = VSTRegressor(depth=1, steps=2000, learning_rate=1e-2).fit(x, y)
    >>> model.score(x, y) > 0.9
    True
    """

    shape_: TreeShape

    def __init__(
        self,
        depth: int = TREE.depth,
        leaves: Leaves = TREE.leaves,
        rank: int = TREE.rank,
        beta: float = TREE.beta,
        prior_scale: float = TREE.prior_scale,
        learning_rate: float = TREE.learning_rate,
        steps: int = TREE.steps,
        tol: float = TREE.tol,
        batch_size: int = TREE.batch_size,
        mc_samples: int = TREE.mc_samples,
        whiten: bool = bool(TREE.whiten),
        kl_weight: float = TREE.kl_weight,
        members: int = TREE.members,
        smallest_scale: float | Literal["auto"] = "auto",
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
        self.smallest_scale = smallest_scale
        self.memory = memory
        self.forgetting = forgetting
        self.standardise = standardise
        self.random_state = random_state
        self.progress = progress

    def _keep(self, fitted: FittedStack) -> None:
        """Nothing: the posteriors are all that predictions need."""

    def _draws(self, n: int | None) -> Draws:
        drawing = Streams.of(self.seed_).drawing
        return self._function_draws(drawing, DEFAULT_DRAWS if n is None else n)

    def _function_draws(self, key: PRNGKeyArray, n: int) -> Draws:
        return draw_model(key, self.shape_, self.beta_, self.stacked_posteriors_, n)
