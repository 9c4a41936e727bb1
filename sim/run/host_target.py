"""Programs that end as riscv-tests and those of newlib do: by ``tohost`` or by a system call.

A program with a symbol ``tohost`` ends with gp, or stores to that word, twice the number of the
test that failed plus 1, so 1 if none did. The harts that it does not use repeat a branch to itself.
An even word is the address of a system call: its number, and its arguments, 8 bytes each. Without
the runtime, ``ecall`` with 93 in a7 ends a program with the exit code in a0.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...hw.isa.assembly import INTEGER_NAMES
from ...hw.isa.encoding import IMMEDIATES
from ...hw.isa.instructions import INSTRUCTIONS, find
from ...kernels.program import Program
from ..iss.machine import Iss
from ..machine.program_machine import ProgramMachine
from ..machine.stacks import core_of

__all__ = [
    "CHECKED_CYCLES",
    "CHECKED_INSTRUCTIONS",
    "EXIT",
    "HostTarget",
    "remarks_on",
    "system_calls",
]

SYMBOL = "tohost"
#: System calls of Linux and newlib that a program without a host makes, by number.
CALLS = {57: "close", 62: "lseek", 63: "read", 64: "write", 80: "fstat", 93: "exit", 214: "brk"}
EXIT = 93
GP, A0, A7 = (INTEGER_NAMES.index(name) for name in ("gp", "a0", "a7"))
#: Instructions on the model, and cycles on the RTL, between two checks for the end.
CHECKED_INSTRUCTIONS, CHECKED_CYCLES = 1_000, 500
#: Cycles in which a warp must issue nothing but its branch to count as parked.
WATCHED_CYCLES = 64


@dataclass(frozen=True)
class ParkedWarp:
    """Warp that repeats the branch at `pc` for ever."""

    core: int
    warp: int
    pc: int


class HostTarget:
    """End of a program with the word ``tohost``.

    Parameters
    ----------
    program : Program

    Attributes
    ----------
    parked : list of ParkedWarp
        Warps that were parked when the program ended.
    word : int
        Value that the program stored to ``tohost``, 0 if it ended otherwise.
    call : tuple of (int, int) or None
        Number and first argument of a system call at the address in `word`.

    """

    def __init__(self, program: Program):
        self.program = program
        self.parked: list[ParkedWarp] = []
        self.word = 0
        self.call: tuple[int, int] | None = None

    @staticmethod
    def of(program: Program) -> "HostTarget | None":
        """Return the end of a program, None if it has no such word."""
        return HostTarget(program) if SYMBOL in program.symbols else None

    def exit_code(self, code: int) -> int:
        """Return the exit code for a program that ended with `code` in gp: the failed test."""
        if self.call is not None and self.call[0] == EXIT:
            return self.call[1]
        code = self.word or code
        return code >> 1 if code & 1 else code

    def notes(self) -> Iterator[str]:
        """Yield a sentence on a system call, and on each parked warp."""
        if self.call is not None:
            yield from remarks_on([self.call])
        for parked in self.parked:
            function = self.program.function_of(parked.pc)
            inside = f", in {function}" if function else ""
            yield f"Parked: core {parked.core}, warp {parked.warp} at {parked.pc:#010x}{inside}"

    def read_word(self, machine: Iss | ProgramMachine) -> None:
        """Read the word ``tohost``."""
        memory = machine if isinstance(machine, Iss) else machine.iss or machine
        self.word = int(memory.read(self.program.symbols[SYMBOL], 4).view(np.uint32)[0])
        is_call = self.word % 8 == 0 and any(
            address <= self.word <= address + len(data) - 16
            for address, data in self.program.segments
        )
        if is_call:
            words = memory.read(self.word, 16).view(np.int32)
            self.call = int(words[0]), int(words[2])

    def ends(self, machine: Iss | ProgramMachine) -> bool:
        """Return whether a program that has not ended will do nothing more.

        A program without active warps ends by itself, when its writes have reached DRAM.
        """
        self.read_word(machine)
        if not is_active(machine):
            return False
        if self.word:
            return True
        model = machine if isinstance(machine, Iss) else machine.iss
        if model is not None:
            parked = warps_of_model(self.program, model)
        else:
            assert isinstance(machine, ProgramMachine)
            parked = warps_of_rtl(self.program, machine)
        self.parked = parked or []
        return bool(parked)


def system_calls(program: Program, model: Iss) -> list[tuple[int, int]]:
    """Return number and first argument of the system calls that ended a program's cores.

    A program of the runtime makes none, nor does a riscv-test, whose number is in gp too.
    """
    calls = []
    for core in range(model.config.cores if not program.runtime else 0):
        for warp in range(model.core.warps):
            history = model.history(core, warp)
            if history and history[-1][1] == INSTRUCTIONS["ecall"].match:
                lane = (history[-1][2] & -history[-1][2]).bit_length() - 1
                registers = model.warp(core, warp).integers[:, lane].astype(np.int32)
                number, code = int(registers[A7]), int(registers[A0])
                if number in CALLS and not (number == EXIT and code == registers[GP]):
                    calls.append((number, code))
    return calls


def remarks_on(calls: list[tuple[int, int]]) -> Iterator[str]:
    """Yield a sentence on each system call that nothing answers."""
    for number, _ in calls:
        if number != EXIT:
            name = f", {CALLS[number]}" if number in CALLS else ""
            yield (
                f"The program ended at system call {number}{name}: there is no host that answers "
                "others than exit; print by the console"
            )


def is_active(machine: Iss | ProgramMachine) -> bool:
    """Return whether a warp runs or waits."""
    if isinstance(machine, ProgramMachine):
        return any(state.active for state in machine.core_states())
    cores, warps = range(machine.config.cores), range(machine.core.warps)
    return any(machine.warp(core, warp).active for core in cores for warp in warps)


def is_loop(program: Program, pc: int) -> bool:
    """Return whether the instruction at an address is a branch or jump to itself."""
    word = program.word_at(pc)
    instruction = None if word is None else find(word)
    if word is None or instruction is None or instruction.operands[-1:] not in (("b",), ("j",)):
        return False
    return IMMEDIATES[instruction.operands[-1]].decode(word) == 0


def warps_of_model(program: Program, iss: Iss) -> list[ParkedWarp] | None:
    """Return the active warps of a model with an ended core, None unless all of them are parked.

    A warp is parked if all of its last instructions were the same branch to itself: nothing else
    can change its registers.
    """
    parked, ended = [], 0
    for core in range(iss.config.cores):
        active = [warp for warp in range(iss.core.warps) if iss.warp(core, warp).active]
        ended += not active
        for warp in active:
            pcs = {pc for pc, _, _ in iss.history(core, warp)}
            if len(pcs) != 1 or not is_loop(program, min(pcs)):
                return None
            parked.append(ParkedWarp(core, warp, min(pcs)))
    return parked if ended else None


def warps_of_rtl(program: Program, machine: ProgramMachine) -> list[ParkedWarp] | None:
    """Return the parked warps of the RTL in the same way; the machine runs on for some cycles."""
    first = last_issued(machine)
    done = [state.instructions for state in machine.core_states()]
    cores = {core for core, _ in first}
    if len(cores) == machine.config.cores or not all(is_loop(program, pc) for pc in first.values()):
        return None
    for _ in range(WATCHED_CYCLES):
        machine.run(1)
        if last_issued(machine) != first:
            return None
    states = machine.core_states()
    if any(states[core].instructions == done[core] for core in cores):
        return None
    return [ParkedWarp(core, warp, pc) for (core, warp), pc in first.items()]


def last_issued(machine: ProgramMachine) -> dict[tuple[int, int], int]:
    """Return the pc of the last issued instruction of each active warp, by core and warp."""
    return {
        (core, warp): state.pc[warp]
        for core, state in enumerate(machine.core_states())
        for warp in range(core_of(machine.config).warps)
        if state.active >> warp & 1
    }
