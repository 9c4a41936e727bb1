"""Tests of machines that exist as models only: refused before anything is generated."""

import pytest

import spica
from spica.base.errors import UserError
from support.command_line import refused

#: More ports of shared memory than the RTL can have.
WIDE = {"cores": 32, "core.threads": 32, "core.shared_ports": 32}
SENTENCE = "core.shared_ports must give 32 cores at most 256 ports of shared memory in RTL, not 32"


def test_one_sentence_and_no_step_of_a_build(capsys):
    settings = " ".join(f"--set {name}={value}" for name, value in WIDE.items())
    command = f"run vecadd --preset core {settings} --dram-latency 50 --size 10"
    assert refused(capsys, command) == f"{SENTENCE} each"


def test_from_python():
    machine = spica.Machine("core", set=WIDE, dram=spica.Dram(latency=50))
    with pytest.raises(UserError, match=SENTENCE):
        machine.run("vecadd", n=10)
