"""Tests of machines that exist as models only: refused before anything is generated."""

import subprocess
import sys

import pytest

import spica
from spica.hw.base.errors import UserError

#: More ports of shared memory than the RTL can have.
WIDE = {"cores": 32, "core.threads": 32, "core.shared_ports": 32}
SENTENCE = "core.shared_ports must give 32 cores at most 256 ports of shared memory in RTL, not 32"


def test_one_sentence_and_no_step_of_a_build(tmp_path):
    settings = [f"--set={name}={value}" for name, value in WIDE.items()]
    command = (sys.executable, "-m", "spica.cli", "run", "vecadd", "--preset", "core")
    done = subprocess.run(
        [*command, *settings, "--dram-latency", "50", "--size", "10"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == f"spica: {SENTENCE} each\n" and not done.stdout


def test_from_python(tmp_path):
    machine = spica.Machine("core", set=WIDE, dram=spica.Dram(latency=50))
    with pytest.raises(UserError, match=SENTENCE):
        machine.run("vecadd", n=10)
