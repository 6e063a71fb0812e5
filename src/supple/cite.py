"""How to cite Supple and the papers whose algorithms it has. CITATION.cff, in the repository, says the same."""

from __future__ import annotations

from importlib import import_module

from supple.arguments import checked
from supple.errors import StateError

TITLE = "Supple: articulated rigid bodies of any size, simulated exactly or as exactly as asked"

#: Each paper: what of it is used, then its BibTeX fields.
PAPERS: dict[str, tuple[str, dict[str, str]]] = {
    "sf": (
        "factorize, mass_matrix, forward_dynamics(method='crba')",
        {
            "author": "Featherstone, Roy",
            "title": "Efficient Factorization of the Joint-Space Inertia Matrix for Branched Kinematic Trees",
            "journal": "The International Journal of Robotics Research",
            "year": "2005",
        },
    ),
    "vw": (
        "forward_dynamics(method='virtual-work'), joint_wrenches",
        {
            "author": "Yamane, Katsu and Nakamura, Yoshihiko",
            "title": "O(N) Forward Dynamics Computation of Open Kinematic Chains "
            "Based on the Principle of Virtual Work",
            "booktitle": "IEEE International Conference on Robotics and Automation",
            "year": "2001",
        },
    ),
    "qs": (
        "QuasiStatics",
        {
            "author": "Redon, Stephane and Lin, Ming C.",
            "title": "An Efficient, Error-Bounded Approximation Algorithm "
            "for Simulating Quasi-Statics of Complex Linkages",
            "booktitle": "ACM Symposium on Solid and Physical Modeling",
            "pages": "175--186",
            "doi": "10.1145/1060244.1060264",
            "year": "2005",
        },
    ),
    "ad": (
        "adaptive dynamics",
        {
            "author": "Redon, Stephane and Galoppo, Nico and Lin, Ming C.",
            "title": "Adaptive Dynamics of Articulated Bodies",
            "journal": "ACM Transactions on Graphics",
            "year": "2005",
        },
    ),
    "rr": (
        "changing the root",
        {
            "author": "Stępień, Jakub and Polański, Andrzej and Wojciechowski, Konrad",
            "title": "A General On-the-Fly Algorithm for Modifying the Kinematic Tree Hierarchy",
            "journal": "International Journal of Applied Mathematics and Computer Science",
            "year": "2012",
        },
    ),
}


@checked
def citation(*papers: str) -> str:
    """BibTeX entries of Supple and of the papers behind it: of all of them, or of those named ("sf", "vw", "qs", "ad",
    "rr")."""
    wanted = papers or tuple(PAPERS)
    for name in wanted:
        if name not in PAPERS:
            raise StateError(f"no paper named {name!r}; there are {', '.join(PAPERS)}")
    version = import_module("supple").__version__
    own = {"author": "{The Supple authors}", "title": TITLE, "note": f"Version {version}"}
    entries = [_entry("misc", "supple", own)]
    for name in wanted:
        use, fields = PAPERS[name]
        kind = "article" if "journal" in fields else "inproceedings"
        entries.append(f"% {use}\n" + _entry(kind, f"supple-{name}", fields))
    return "\n\n".join(entries)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
