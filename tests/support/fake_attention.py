"""Small program and golden model of attention to single keys, for tests of what surrounds them."""

from pathlib import Path

import numpy as np

from spica.hw.config import SystolicConfig
from spica.kernels.attention import cores
from spica.sim.golden.styles.registry import GOLDEN_ATTENTION

FOLDER = Path(__file__).with_name("c_programs") / "attention"


def golden(config, problem, q, k, v):
    """Return O and LSE of single keys with scores of 0."""
    heads = np.arange(problem.problems) // problem.group
    o = np.repeat(v[heads], problem.queries, axis=1)
    lse = np.zeros(problem.shapes["lse"], np.float32)
    if problem.causal:
        o[:, :-1], lse[:, :-1] = 0, -np.inf
    return o, lse


def install(monkeypatch, model=golden):
    """Replace the program and the golden model of systolic arrays."""
    monkeypatch.setattr(cores, "program_folder", lambda style: FOLDER / style)
    monkeypatch.setitem(GOLDEN_ATTENTION, SystolicConfig, model)
