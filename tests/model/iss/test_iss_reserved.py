"""Test of the instruction-set model: reserved encodings and control registers do not exist."""

import random

import pytest

from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.reserved.registers import RESERVED_CSRS
from spica.hw.isa.reserved.table import RESERVED
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import machine

TENSORS = {"plain": None, "hmma": RegisterFedConfig(), "hgmma": SharedFedConfig()}


def fault_of(text, **config):
    """Return the fault of the first instruction of a program."""
    return machine(text, **config).step(0, 0).fault


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_reserved_encodings_are_illegal(tensor):
    rng = random.Random(1)
    for row in RESERVED.values():
        free = 0xFFFF_FFFF & ~row.mask
        for bits in (0, free, rng.getrandbits(32)):
            word = row.match | bits & free
            fault = fault_of(f".word {word:#010x}", tensor=tensor, threads=8)
            assert fault is not None, f"{row.name}: {word:#010x}"
            assert (fault.cause, fault.word, fault.pc) == (
                *(Cause.ILLEGAL_INSTRUCTION, word),
                ENTRY,
            ), row.name


@pytest.mark.parametrize("name", RESERVED_CSRS)
def test_reserved_control_registers_do_not_exist(name):
    fault = fault_of(f"csrrs a0, {RESERVED_CSRS[name].number:#x}, zero")
    assert fault is not None
    assert fault.cause is Cause.ILLEGAL_INSTRUCTION
    assert f"CSR {RESERVED_CSRS[name].number:#x} does not exist" in fault.sentence
