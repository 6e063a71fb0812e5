"""Being here puts this folder on the path, so that tests can import its helpers (`robots`, `oracle`).

No test depends on how fast the machine is: Hypothesis allows its examples any time.
"""

import gc

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_collection_finish() -> None:
    """What is imported by then stays: collecting garbage does not go through it each time."""
    gc.collect()
    gc.freeze()
