"""Every public call with odd arguments answers or refuses in words: some inputs of the fuzz target `arguments`."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import supple
from tests.fuzz.arguments import attempt, calls
from tests.fuzz.target import source
from tests.fuzz.usual_values import model_of, usual


@pytest.mark.parametrize("part", range(4))
def test_odd_arguments_are_taken_or_refused_in_words(part, tmp_path):
    for number in range(60 * part, 60 * (part + 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with warnings.catch_warnings(), contextlib.suppress(supple.SuppleError):
            warnings.simplefilter("ignore")
            attempt(source("arguments", 1, number), folder)


def test_every_parameter_has_a_usual_value(tmp_path):
    """So that what is new in the interface is tried, too."""
    assert len(calls()) > 120
    rng = np.random.default_rng(0)
    for call in calls():
        for p in call.parameters:
            if p.kind is not p.VAR_KEYWORD:
                usual(call.name, p.name, model_of(0), rng, tmp_path)
