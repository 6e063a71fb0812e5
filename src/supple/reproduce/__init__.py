"""The five papers reproduced, ours beside theirs: a module for each, named as here, with run(out, quick, console)."""

PAPERS = {
    "sf": "Featherstone 2005: sparse factorization of the mass matrix",
    "vw": "Yamane and Nakamura: forward dynamics by virtual work",
    "qs": "Redon and Lin 2005: quasi-statics within a promised error",
    "ad": "Redon, Galoppo and Lin 2005: dynamics of the joints that matter most",
    "rr": "Stepien et al. 2012: changing the root of a moving tree; a passive walker",
}
