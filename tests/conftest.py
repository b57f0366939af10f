"""What all tests share."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def native_code_elsewhere(tmp_path_factory):
    """Native code goes to a folder of the tests', not to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADJOINT_CACHE", str(tmp_path_factory.mktemp("native")))
        yield
