"""What the tests of several experiments share."""

from dataclasses import replace

import pytest

from vst.companion.experiments.profiles import PROFILES


@pytest.fixture
def tiny(monkeypatch):
    """The smoke profile with few steps, under the name ``tiny``."""
    smoke = PROFILES["smoke"]
    profile = replace(smoke, name="tiny", limits={**smoke.limits, "steps": 40})
    monkeypatch.setitem(PROFILES, "tiny", profile)
    return profile
