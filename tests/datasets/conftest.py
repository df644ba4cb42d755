"""No test looks at this user's cache or data directory unless it says so."""

import pytest


@pytest.fixture(autouse=True)
def _clean(clean_machine):
    """Every test starts on a clean machine."""
