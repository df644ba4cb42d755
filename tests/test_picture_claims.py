"""What the captions of the pictures say follows from the measures of the fits."""

import numpy as np
import pandas as pd
import pytest

from vst.companion.paper.claims import verdicts
from vst.companion.paper.evidence import Evidence


def fits(picture, seeds=(0,), variant="usual", **columns):
    """Measures of hand-made numbers, the same for every seed."""
    models = list(next(iter(columns.values())))
    return pd.DataFrame(
        [
            {"dataset": picture, "variant": variant, "seed": seed, "model": model}
            | {name: by[model] for name, by in columns.items()}
            for seed in seeds
            for model in models
        ]
    )


def found(*frames):
    """The verdicts on the captions, by the claim's id."""
    # Measures that a picture does not have are empty.
    every = pd.concat(frames).reindex(
        columns=["dataset", "variant", "seed", "model", "rmse", "outside", "ratio", "away"]
    )
    evidence = Evidence(pictures=every)
    return {verdict.claim.id: verdict for verdict in verdicts(evidence, "uncertainty")}


def words(of, *names):
    return [of[name].word for name in names]


@pytest.mark.parametrize("picture", ["tails", "gap"])
def test_what_is_said_of_the_tails_and_the_gap_follows_from_the_spreads(picture):
    names = [f"{picture}-{kind}" for kind in ("spread", "mean", "diversity")]
    good = fits(
        picture,
        ratio={"vst": 2.5, "xbart": 1.0, "sglb": 0.5},
        outside={"vst": 0.5, "xbart": 0.4, "sglb": 0.1},
        rmse={"vst": 0.09, "xbart": 0.5, "sglb": 0.5},
    )
    assert words(found(good), *names) == ["reproduced"] * 3
    bad = fits(
        picture,
        seeds=(1,),
        ratio={"vst": 1.9, "xbart": 9.0, "sglb": 9.0},
        outside={"vst": 0.5, "xbart": 0.4, "sglb": 0.6},
        rmse={"vst": 0.11, "xbart": 0.0, "sglb": 0.0},
    )
    assert words(found(bad), *names) == ["not reproduced"] * 3
    both = found(good, bad)
    assert words(both, *names) == ["partly reproduced"] * 3
    assert both[names[0]].here.numbers == "VST 2.2 times; 1 of 2 checks"
    assert all(both[name].paper is None for name in names)


def test_what_is_said_of_the_step_is_held_against_the_worse_of_the_hard_trees():
    step = found(
        fits(
            "step",
            away={"vst": 0.05, "xbart": 0.01, "sglb": 0.02},
            rmse={"vst": 0.2, "xbart": 0.1, "sglb": 0.25},
        )
    )
    assert words(step, "step-fit", "step-away", "step-everywhere") == [
        "reproduced",
        "not reproduced",
        "reproduced",
    ]
    assert step["step-away"].paper is None
    paper = step["step-everywhere"].paper
    assert paper == ("holds", "VST 0.2121, XBART 0.0982, SGLB 0.3014")


def wavelet():
    return fits("wavelet", rmse={"vst": 0.3, "vsgbm": 0.2, "xbart": 0.1, "sglb": 0.15})


def test_the_papers_own_errors_contradict_that_boosting_improves_the_wavelet():
    of = found(wavelet())
    assert words(of, "wavelet-underfit", "wavelet-boosting") == ["reproduced", "reproduced"]
    assert of["wavelet-underfit"].paper.holds == "holds"
    assert of["wavelet-boosting"].paper.holds == "fails"


def test_more_rows_help_if_the_error_falls_on_the_same_seed():
    many = fits("wavelet", variant="rows 16000", rmse={"vst": 0.2, "vsgbm": 0.199})
    some = fits("wavelet", variant="rows 2000", rmse={"vst": 0.1, "vsgbm": 0.1})
    other = wavelet().assign(seed=1, rmse=9.0)
    assert found(wavelet(), many, some, other)["wavelet-rows"].here == (
        "partly",
        "VST 67%, VSGBM 100%; 1 of 2 checks",
    )
    assert found(wavelet(), some)["wavelet-rows"].word == "not testable here"


def test_the_prior_is_to_blame_if_the_fit_is_good_without_it():
    free = fits("wavelet", variant="kl_weight 0", rmse={"vst": 0.14, "vsgbm": 0.16})
    assert found(wavelet(), free)["wavelet-prior"].here == (
        "partly",
        "VST 0.140, VSGBM 0.160, the larger of the others' 0.150; 1 of 2 checks",
    )
    assert found(wavelet())["wavelet-prior"].word == "not testable here"
    assert found(free)["wavelet-prior"].word == "not testable here"


def test_a_data_set_without_one_of_the_models_is_no_check():
    two = wavelet().assign(seed=1)
    two.loc[two["model"] == "sglb", "rmse"] = np.nan
    assert found(wavelet(), two)["wavelet-underfit"].here.numbers.endswith("; 1 of 1 check")
    assert found(two)["wavelet-underfit"].word == "not testable here"
