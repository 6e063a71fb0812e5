"""The picture of contact.md: a chain of thirty capsules that falls over a block. python docs/draw/contact.py"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import supple
from supple.drawing import BLUE, GREY, INK, new_figure
from supple.viewing.colours import CONTACT_FORCE

PICTURES = Path(__file__).parents[1] / "pictures"
LINKS, LENGTH, RADIUS = 30, 0.08, 0.02
PER, CUT = 0.2, 0.4  #: of arrows: metres a newton; metres at most
VIOLET = tuple(x / 255 for x in CONTACT_FORCE)
TIMES = (0.0, 0.32, 0.5, 0.8, 2.5)


def chain_over_block() -> supple.Result:
    b = supple.ModelBuilder("chain")
    up = None
    mass = 0.05
    for i in range(LINKS):
        joint = "planar" if i == 0 else "revolute"
        b.add_body(
            f"link{i}", up, joint, axis=(0, 1, 0), position=(0 if i == 0 else LENGTH, 0, 0), mass=mass,
            com=(LENGTH / 2, 0, 0), inertia=[mass * LENGTH**2 / 10] * 3, damping=0.0 if i == 0 else 2e-4,
        )  # fmt: skip
        turn = (0, np.sin(np.pi / 4), 0, np.cos(np.pi / 4))
        b.add_shape(i, "capsule", (RADIUS, LENGTH), (LENGTH / 2, 0, 0), turn, friction=0.4)
        up = i
    b.add_shape(None, "box", (0.3, 1, 0.6), (0.1, 0, 0.3))
    model = b.build()
    q = model.neutral()
    q[:2] = -0.85, -1.1  # along x and, of this plane, against z
    return supple.simulate(model, q, duration=TIMES[-1], dt=2e-3, contacts=supple.Contacts(ground=0.0))


def main() -> None:
    r = chain_over_block()
    figure = new_figure(11.0, 1.9)
    for k, (time, axes) in enumerate(zip(TIMES, figure.subplots(1, len(TIMES), sharey=True))):
        i = round(time / 2e-3)
        at = supple.poses(r.model, r.q[i])
        ends = at.position + at.rotation @ np.array([LENGTH, 0, 0])
        axes.fill_between([-0.05, 0.25], 0, 0.6, color=GREY, alpha=0.5, lw=0)
        axes.axhline(0, color=INK, lw=1)
        for a, e in zip(at.position, ends):
            axes.plot([a[0], e[0]], [a[2], e[2]], color=BLUE, lw=3.2, solid_capstyle="round")
        for c in r.contacts(i):
            d = PER * c.force
            d *= CUT / max(CUT, float(np.linalg.norm(d)))
            axes.quiver(*c.point[[0, 2]], *d[[0, 2]], angles="xy", scale_units="xy", scale=1, color=VIOLET, width=0.008,
                        zorder=3)  # fmt: skip
        axes.set(xlim=(-0.9, 1.6), ylim=(-0.1, 1.2), aspect="equal", title=f"{time:g} s")
        axes.axis("off")
        print(k, time, "overlap at most", max((-c.gap for c in r.contacts(i)), default=0.0))
    figure.savefig(PICTURES / "contact.png", dpi=120)


if __name__ == "__main__":
    main()
