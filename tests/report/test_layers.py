"""The report shows what was computed elsewhere: it fits nothing."""

import ast
from pathlib import Path

import pytest

from vst.companion import report

MODULES = sorted(Path(report.__file__).parent.glob("*.py"))

#: What fits a model, or plays a bandit.
FITTING = {
    "estimator", "fit", "fit_both", "fit_ensemble", "fit_folds", "fit_many", "fit_one", "fit_rows",
    "fit_stack", "fitted", "sample", "simulate", "simulate_stack",
}  # fmt: skip

ESTIMATORS = {"VSTRegressor", "VSGBMRegressor", "VariationalRegressor"}

LIBRARIES = {"bartz", "catboost", "ngboost", "optuna", "stochtree", "xgboost"}

#: Modules whose business is to fit.
FITTERS = {
    "vst.boosting", "vst.inference", "vst.companion.experiments.examples",
    "vst.companion.experiments.fitting", "vst.companion.experiments.runner",
    "vst.companion.experiments.tuning",
}  # fmt: skip


def imports(tree):
    """Every imported name with its module; of ``import a.b`` the module is all there is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)


def annotations(tree):
    """Names that say what an argument, a result or a variable is."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if (part := getattr(node, name, None)) is not None:
                yield from (n for n in ast.walk(part) if isinstance(n, ast.Name))


def fits(source):
    """What a module imports, or uses, that fits a model."""
    tree = ast.parse(source)
    found = {
        f"{module} {name}".strip()
        for module, name in imports(tree)
        if name in FITTING
        or module.partition(".")[0] in LIBRARIES
        or {module, f"{module}.{name}"} & FITTERS
        or (module.startswith("vst.companion.peers.") and name[:1].isupper())
    }
    # An estimator may say what kind of fitted model a figure is drawn of, but not be called.
    said = set(annotations(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ESTIMATORS and node not in said:
            found.add(node.id)
        if isinstance(node, ast.Attribute) and node.attr in ESTIMATORS | FITTING - {"fit"}:
            found.add(ast.unparse(node))
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_module_of_the_report_can_fit_a_model(module):
    assert fits(module.read_text()) == set()


@pytest.mark.parametrize(
    "source",
    [
        "from vst.soft_trees import fit_many",
        "from vst.companion.experiments.fitting import score",
        "from vst.companion.experiments import examples",
        "from vst.companion.bandits import agent, simulate",
        "import catboost",
        "from xgboost.sklearn import XGBRegressor",
        "from vst.companion.peers.xbart import XBART",
        "from vst import VSTRegressor\nVSTRegressor().fit(x, y)",
        "import vst\nvst.VSGBMRegressor(steps=5)",
        "from vst.companion.experiments import pictures\npictures.sample(TREE, curve, 3, seed=0)",
    ],
)
def test_what_fits_a_model_is_noticed(source):
    assert fits(source)


def test_a_fitted_model_may_be_drawn():
    assert fits("from vst import VSTRegressor\ndef draw(model: VSTRegressor): ...") == set()
