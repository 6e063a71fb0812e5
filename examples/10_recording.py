"""A run kept in a file: stopped, gone on with to the very bits of a run in one go, looked at, exported."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import supple

chain = supple.trees.chain(30, general=False, link_length=0.05, link_mass=0.02)
bent = np.full(chain.nq, 0.05)

with TemporaryDirectory() as folder:
    file = Path(folder) / "chain.h5"
    first = supple.simulate(chain, bent, duration=0.5, record=file, joint_wrenches=True)
    first.close()
    # A run that was killed goes on just so: up to a second of it is lost, and computed again.
    both = supple.simulate(chain, bent, duration=1.0, record=file, resume=True, joint_wrenches=True)
    print(both)

    in_one_go = supple.simulate(chain, bent, duration=1.0)
    print("the same bits:", np.array_equal(both.q, in_one_go.q) and np.array_equal(both.energy, in_one_go.energy))
    assert np.array_equal(both.q, in_one_go.q)

    loads = np.linalg.norm(both.joint_wrenches[:, 0, 3:], axis=1)
    print(f"the first joint carries {loads.min():.2f} to {loads.max():.2f} N; the chain weighs {0.6 * 9.81:.2f} N")
    print(f"the energy has changed by {np.ptp(both.energy):.1e} J")

    both.plot(str(Path(folder) / "chain.png"), joints=chain.joint_names[:3])
    for path in supple.export(file, to="csv"):
        print(f"{path.name}: {path.read_text().count(chr(10))} lines")
    both.close()
