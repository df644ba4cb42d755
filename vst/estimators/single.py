"""What the estimators of one model share: its settings and checks, training, and posteriors."""

from abc import abstractmethod
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from vst.arguments import count, one_of, positive
from vst.bound import Shape
from vst.convergence import require_convergence, warn_unless_converged
from vst.estimators.base import VariationalModel, VariationalRegressor
from vst.minibatches import CHUNK
from vst.posterior import LowRankGaussian, unstack
from vst.preprocessing import Axes, rounding_error, training_inputs
from vst.soft_trees import FittedStack, SoftTrees, Streams, fit_one
from vst.tree import SMALLEST_SCALE

TREE = SoftTrees()


class SingleModel(VariationalModel):
    """What VSTs and VSGBMs share."""

    # Set by the subclasses' signatures.
    whiten: bool

    # Set by fit.
    shape_: Shape
    beta_: float
    stacked_posteriors_: LowRankGaussian
    elbo_: Float[np.ndarray, "members *trees steps"]
    n_iter_: int
    converged_: bool

    def _axes(self) -> Axes:
        return self._setting().axes

    def _train(
        self,
        x: Float[np.ndarray, "n d"],
        target: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"] | None,
    ) -> None:
        setting = self._setting_for(target)
        setting.require_memory(
            len(x), len(self.standardiser_.mean), draws=getattr(self, "draws", 0)
        )
        streams = Streams.of(self.seed_, setting.members, boosted=setting.n_trees > 0)
        z = training_inputs(x, self.standardiser_, CHUNK * setting.batch_size * setting.members)
        fitted = fit_one(setting, streams, z, target, weights=weights, progress=self._label)
        for tree in fitted.trees:
            require_convergence(tree)
        self.shape_, self.beta_ = fitted.shape, setting.beta
        self.stacked_posteriors_ = fitted.posteriors(0)
        self.elbo_ = fitted.elbo(0) if setting.n_trees else fitted.elbo(0)[:, 0]
        self.n_iter_ = self.elbo_.shape[-1]
        self._keep(fitted)
        self.converged_ = warn_unless_converged(fitted.trees, setting.steps, setting.tol)

    @property
    def posteriors_(self) -> list:
        """One posterior per member, or one list per member with one posterior per tree."""
        return unstack(self.stacked_posteriors_)

    @property
    def posterior_(self) -> Any:
        """The first member's posterior, or its list with one per tree."""
        return self.posteriors_[0]

    @property
    def n_params_(self) -> int:
        """Number of parameters ``p`` of what has one posterior: one tree, or all at once."""
        return self.stacked_posteriors_.mean.shape[-1]

    def _setting(self) -> SoftTrees:
        """Return this model's settings, converted to the types of :class:`SoftTrees`."""
        own, usual = self.get_params(), asdict(TREE)
        own = {name: value for name, value in own.items() if name in usual and value != "auto"}
        return SoftTrees(**{name: type(usual[name])(value) for name, value in own.items()})

    def _setting_for(self, target: Float[np.ndarray, " n"]) -> SoftTrees:
        """The settings, those that depend on the target included."""
        return self._setting()

    @abstractmethod
    def _keep(self, fitted: FittedStack) -> None:
        """Store what predictions need besides the posteriors."""

    def _check_params(self) -> None:
        own = self.get_params()
        for name in ("beta", "prior_scale", "learning_rate"):
            positive(name, own[name])
        for name in ("kl_weight", "tol"):
            positive(name, own[name], zero_allowed=True)
        for name in ("steps", "batch_size", "mc_samples", "members"):
            count(name, own[name])
        for name in ("depth", "rank"):
            count(name, own[name], least=0)
        for name in ("whiten", "standardise"):
            one_of(name, own[name], (False, True))
        if self.whiten and not self.standardise:
            raise ValueError("whiten=True needs standardised features: set standardise=True")


class SingleModelRegressor(SingleModel, VariationalRegressor):
    """What the regressors of one model share: a floor on the scales."""

    smallest_scale: float | Literal["auto"]

    def _setting_for(self, target: Float[np.ndarray, " n"]) -> SoftTrees:
        setting = super()._setting_for(target)
        if self.smallest_scale == "auto":
            return replace(setting, smallest_scale=max(rounding_error(target), SMALLEST_SCALE))
        return setting

    def _check_params(self) -> None:
        super()._check_params()
        if self.smallest_scale != "auto":
            positive("smallest_scale", self.smallest_scale, instead='"auto"')
