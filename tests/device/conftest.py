import pytest

from dpscd.device.backend import exactly


@pytest.fixture(scope="module")
def exact():
    """Let JAX compute as it does in a training."""
    with exactly():
        yield
