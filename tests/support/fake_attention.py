"""Small program and golden model of attention to single keys, for tests of what surrounds them."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from spica.kernels.attention import cores

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
    module = "spica.sim.golden.styles.cluster_array.attention"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(attention=model))
