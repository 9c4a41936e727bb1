"""Tests that every supported compiler builds the simulator, not only the preferred one."""

import shutil
import subprocess

import pytest

from spica.hw.base.compiler import find_compiler
from spica.hw.cluster.cluster import Cluster
from spica.hw.config import PRESETS
from spica.hw.emit.emitter import emit
from spica.sim.engine.verilator_model import HARNESS_SOURCES, NATIVE, build_model

OTHERS = [name for name in ("g++", "clang++") if shutil.which(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("source", HARNESS_SOURCES)
def test_harness_compiles(name, source):
    command = [name, "-std=c++20", "-fsyntax-only", f"-I{NATIVE}", str(NATIVE / source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_model_is_built(name, monkeypatch, tmp_path):
    monkeypatch.setenv("SPICA_CXX", name)
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path))
    assert find_compiler().command == (name,)
    assert build_model(emit(Cluster(PRESETS["tiny"]), "tiny"), optimize=1).exists()
