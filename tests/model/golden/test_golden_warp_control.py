"""Tests of the golden model of control against the instruction-set model, by instruction."""

import random

import numpy as np
import pytest

from spica.hw.config import CoreBlockConfig
from spica.hw.core.control.control_operand import EXIT_CODE_OPERAND
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import ControlOperation as Operation
from spica.hw.isa.operations import Port
from spica.sim.golden.core.control.control_sequences import EXIT_CODE, RS1, RS2, ControlSequence
from spica.sim.golden.core.control.warp_control import ControlModel
from spica.sim.golden.core.front_end.decode import decode
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import small_config

#: Operations of cores with a tensor unit, which these have not.
OF_TENSOR_UNITS = {Operation.HGMMA_WAIT, Operation.PARTIAL}
ILLEGAL, BARRIER = Cause.ILLEGAL_INSTRUCTION, Cause.BAD_BARRIER
#: Fault names of the instruction-set model, and a word of each message.
SENTENCES = {
    FaultCause.ILLEGAL: (ILLEGAL, "is not an instruction"),
    FaultCause.UNKNOWN_CSR: (ILLEGAL, "does not exist"),
    FaultCause.READ_ONLY_CSR: (ILLEGAL, "is read-only"),
    FaultCause.STACK_OVERFLOW: (Cause.STACK_OVERFLOW, "divergent split"),
    FaultCause.STACK_UNDERFLOW: (Cause.STACK_UNDERFLOW, "join without"),
    FaultCause.MISALIGNED_JUMP: (Cause.MISALIGNED_JUMP, "jump to"),
    FaultCause.BARRIER_NUMBER: (BARRIER, "does not exist: the machine has"),
    FaultCause.BARRIER_COUNT: (BARRIER, "the barrier count must be 1 to"),
    FaultCause.BARRIER_DISAGREES: (BARRIER, "at earlier arrivals"),
    FaultCause.BARRIER_FULL: (BARRIER, "already has all"),
    FaultCause.WSPAWN_COUNT: (Cause.BAD_WSPAWN, "the warp count must be"),
}


class Pair:
    """Both models of one core, executing the same instructions."""

    def __init__(self, config, rng):
        self.config = config
        self.rng = rng
        self.iss = Iss(config)
        self.threads = config.core.threads
        self.integers = np.zeros((32, self.threads), np.uint32)
        self.pcs = [ENTRY] * config.core.warps
        self.causes = []
        self.operations = []
        self.begin()

    def begin(self):
        self.iss.reset()
        self.model = ControlModel(CoreBlockConfig.of(self.config))
        self.sequence = ControlSequence(self.model, self.rng, commands=False)
        self.pcs = [ENTRY if warp == 0 else 0 for warp in range(self.config.core.warps)]

    def step(self):
        instruction = self.sequence.next()
        if instruction is None:
            assert not any(self.iss.step(0, w) for w in range(self.config.core.warps))
            self.begin()
            instruction = self.sequence.next()
        given = instruction.operands
        self.prepare(instruction)
        retired = self.iss.step(0, given.warp)
        effect = self.model.execute(given)
        self.operations.append(given.operation)
        if effect.fault is not None:
            self.causes.append(effect.fault)
            self.compare_fault(retired.fault, effect.fault, given)
        else:
            assert retired.fault is None, retired.fault.sentence
            self.pcs[given.warp] = given.pc + 4
            self.pcs = [dict(effect.turns).get(w, pc) for w, pc in enumerate(self.pcs)]
            if effect.values is not None:
                lanes = [t for t in range(self.threads) if given.mask >> t & 1]
                assert [effect.values[t] for t in lanes] == retired.values[lanes].tolist()
        self.compare(given.warp)

    def prepare(self, instruction):
        given = instruction.operands
        self.iss.write(given.pc, instruction.word.to_bytes(4, "little"))
        for register, row in zip((RS1, RS2, EXIT_CODE), given.rows, strict=True):
            self.integers[register] = row
        self.iss.set_warp(0, given.warp, pc=given.pc, integers=self.integers)
        self.pcs[given.warp] = given.pc
        self.model.wide = dict.fromkeys(("mcycle", "minstret"), self.iss.instructions)
        self.model.wide["counter"] = 0

    def compare_fault(self, fault, cause, given):
        assert fault is not None, cause
        expected, words = SENTENCES[cause]
        assert fault.cause is expected
        assert words in fault.sentence
        assert (fault.pc, fault.lanes) == (given.pc, given.mask)
        if cause is FaultCause.MISALIGNED_JUMP:
            assert fault.address == given.scalar(1)

    def compare(self, warp):
        model = self.model
        state = self.iss.warp(0, warp)
        assert self.iss.exit_code & 0xFFFF_FFFF == model.exit_code
        assert (state.mask, state.active) == (model.masks[warp], bool(model.active >> warp & 1))
        assert state.frm << 5 | state.fflags == model.fcsr[warp]
        assert (state.mscratch, state.mepc) == (model.mscratch[warp], model.mepc[warp])
        assert bool(state.waits) == bool(model.waiting >> warp & 1)
        stack = [(e.both, 0 if e.is_second else e.rest, e.pc) for e in state.stack]
        assert stack == model.stacks[warp]
        if state.active:
            assert state.pc == self.pcs[warp]

    def compare_all(self):
        for warp in range(self.config.core.warps):
            self.compare(warp)


def test_operands_are_what_the_decoder_says():
    config = small_config()
    model = ControlModel(CoreBlockConfig.of(config))
    sequence = ControlSequence(model, random.Random(3))
    seen = set()
    for _ in range(2000):
        instruction = sequence.next()
        given = instruction.operands
        found = decode(instruction.word, given.pc)
        seen.add(given.operation)
        assert (found["port"], found["operation"]) == (Port.CONTROL, given.operation)
        assert found["stalls_warp"]
        assert found["writes"] == given.writes
        if given.writes:
            assert found["rd"] == given.rd
        if given.operation.name.startswith("CSRR"):
            assert found["immediate"] & 0x1FFFF == given.immediate
            assert found["b_is_immediate"] == given.b_is_immediate
            assert found["serialises"]
        if given.operation in (Operation.TMC, Operation.PRED, Operation.END):
            assert found["reads"] >> EXIT_CODE_OPERAND & 1
            assert found["sources"][EXIT_CODE_OPERAND] == EXIT_CODE
        if given.operation in (Operation.WSPAWN, Operation.BAR, Operation.PRED):
            assert [*found["sources"][:2]] == [RS1, RS2]
    assert seen == {*Operation} - OF_TENSOR_UNITS


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize(
    ("warps", "threads", "count"),
    [(1, 1, 1000), (2, 2, 2000), (4, 4, 4000), (3, 5, 2000), (8, 8, 3000), (32, 32, 1000)],
)
@pytest.mark.quick(2)
def test_models_agree(warps, threads, count, scope):
    config = small_config(warps=warps, threads=threads, barrier_scope=scope)
    pair = Pair(config, random.Random(count + warps))
    for step in range(count):
        pair.step()
        if step % 16 == 0:
            pair.compare_all()
    if count == 4000:
        assert set(pair.operations) == set(Operation) - OF_TENSOR_UNITS
        # In a single core, the last expected warp opens the barrier.
        assert set(pair.causes) == set(SENTENCES) - {FaultCause.BARRIER_FULL}
