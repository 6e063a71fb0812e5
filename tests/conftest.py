"""Being here puts this folder on the path, so that tests can import its helpers (`robots`, `oracle`).

No test depends on how fast the machine is: Hypothesis allows its examples any time.
"""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
