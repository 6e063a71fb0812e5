"""What can be fuzzed: one module a target, one input at a time, each made from a seed and its number alone."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

#: A try takes a source of random numbers and a folder of its own. It returns when the input was accepted, and lets
#: every exception through: a SuppleError is an answer, any other is a finding.
Try = Callable[[np.random.Generator, Path], None]

#: Modules of this package with a function `attempt`, a Try. Its docstring says what is tried.
TARGETS = ("arguments", "cache", "files", "journals", "recordings", "shapes")


def attempt_of(target: str) -> Try:
    """The function that makes one input of a target and tries it."""
    attempt: Try = importlib.import_module(f"tests.fuzz.{target}").attempt
    return attempt


def source(target: str, seed: int, number: int) -> np.random.Generator:
    """The random numbers of one input: they depend on nothing but the three arguments."""
    return np.random.default_rng([seed, zlib.crc32(target.encode()), number])
