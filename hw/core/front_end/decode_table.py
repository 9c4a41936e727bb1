"""Decode table: port and operation of each instruction, by name."""

from dataclasses import dataclass

from ...isa.encoding import IMMEDIATES, RegisterClass
from ...isa.instructions import INSTRUCTIONS, Instruction
from ...isa.operations import (
    PORTS,
    ControlOperation,
    FloatOperation,
    IntegerOperation,
    MemoryOperation,
    Port,
    RegisterGroups,
    Unit,
    groups_of,
)

__all__ = ["EXIT_CODE_REGISTER", "RULES", "Rule"]

#: gp, in which a program leaves its exit code.
EXIT_CODE_REGISTER = 3

#: Operations of instructions whose name differs from the operation's.
_RENAMED = {
    "lui": IntegerOperation.ADD,
    "auipc": IntegerOperation.ADD,
    "sltiu": IntegerOperation.SLTU,
    "flw": MemoryOperation.LW,
    "fsw": MemoryOperation.SW,
    "ecall": ControlOperation.END,
    "ebreak": ControlOperation.END,
    "fence.i": ControlOperation.FENCE_I,
    "mbarrier.wait.parity": ControlOperation.BARRIER_WAIT,
    "fcvt.w.s": FloatOperation.TO_SIGNED,
    "fcvt.wu.s": FloatOperation.TO_UNSIGNED,
    "fcvt.s.w": FloatOperation.FROM_SIGNED,
    "fcvt.s.wu": FloatOperation.FROM_UNSIGNED,
    "fmv.x.w": FloatOperation.MOVE,
    "fmv.w.x": FloatOperation.MOVE,
    "fcvt.h.s": FloatOperation.TO_FP16,
    "fcvt.bf16.s": FloatOperation.TO_BF16,
    "fcvt.s.h": FloatOperation.FROM_FP16,
    "fcvt.s.bf16": FloatOperation.FROM_BF16,
    "fpack.h.s": FloatOperation.PACK_FP16,
    "fpack.bf16.s": FloatOperation.PACK_BF16,
    "funpackl.s.h": FloatOperation.LOW_FP16,
    "funpackh.s.h": FloatOperation.HIGH_FP16,
    "funpackl.s.bf16": FloatOperation.LOW_BF16,
    "funpackh.s.bf16": FloatOperation.HIGH_BF16,
}
_FUSED = ("fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s")
#: Float operations that keep the "f" of their instruction.
_ARITHMETIC = ("fadd.s", "fsub.s", "fmul.s")

#: Ports of instructions whose unit has another one.
_ELSEWHERE = {"hgmma_wait": Port.CONTROL, "mbarrier.wait.parity": Port.CONTROL}
#: Port of each unit of the table of ports.
_PORT_OF = {unit: port for port, info in PORTS.items() for unit in info.units}
#: Instructions that ignore rs2, as in Vortex, their origin.
_IGNORING_B = ("vx_split", "vx_vote_all", "vx_vote_any", "vx_vote_uni", "vx_vote_ballot")
#: Immediates used as operand 1; others belong to addresses, targets and control.
_OPERAND_IMMEDIATES = ("i", "u", "shamt", "zimm")
#: Serialising operations: the warp must have nothing in flight, because they rely on completed
#: stores or products, on raised flags, or on a warp that ends with nothing outstanding.
_DRAINING = (
    ControlOperation.TMC,
    ControlOperation.WSPAWN,
    ControlOperation.BAR,
    ControlOperation.FENCE,
    ControlOperation.FENCE_I,
    ControlOperation.CSRRW,
    ControlOperation.CSRRS,
    ControlOperation.CSRRC,
    ControlOperation.END,
    ControlOperation.HGMMA_WAIT,
    ControlOperation.WAIT,
)
#: Operations that may end the warp: they read the exit code as operand 2.
_ENDING = (ControlOperation.TMC, ControlOperation.PRED, ControlOperation.END)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Decode rule of one instruction.

    Parameters
    ----------
    instruction : Instruction
    port : Port
    operation : int
        One of the port's operations.
    immediate : str
        Immediate layout: ``i``, ``s``, ``b``, ``u``, ``j`` or ``csr``; ``i`` also if there is
        no immediate.
    reads : tuple of bool
        Whether operands 0, 1, 2 are the registers of fields rs1, rs2, rs3; see `reads_rd`.

    """

    instruction: Instruction
    port: Port
    operation: int
    immediate: str
    reads: tuple[bool, bool, bool]

    @property
    def rounds(self) -> bool:
        """True if the instruction has a rounding mode."""
        return "rm" in self.instruction.operands

    @property
    def is_control(self) -> bool:
        """True if the control port executes it."""
        return self.port == Port.CONTROL

    @property
    def reads_exit_code(self) -> bool:
        """True if operand 2 is the exit code."""
        return self.is_control and self.operation in _ENDING

    @property
    def reads_rd(self) -> bool:
        """True if operand 2 is the register of field rd."""
        return self.instruction.updates_rd

    @property
    def is_atomic(self) -> bool:
        """True if it is an atomic access, with an ordering."""
        return self.instruction.unit is Unit.ATOMIC

    @property
    def a_is_pc(self) -> bool:
        """True if operand 0 is the pc."""
        return self.instruction.name == "auipc"

    @property
    def b_is_immediate(self) -> bool:
        """True if operand 1 is the immediate."""
        return self.instruction.unit in (Unit.INT, Unit.CSR) and any(
            name in _OPERAND_IMMEDIATES for name in self.instruction.operands
        )

    @property
    def stalls_warp(self) -> bool:
        """True if it stalls the warp until it completes."""
        return self.is_control or self.instruction.unit == Unit.BRANCH

    @property
    def serialises(self) -> bool:
        """True if it serialises: issues only after everything in flight of the warp completed.

        Products are an exception, see `awaits_products`.
        """
        return self.is_control and self.operation in _DRAINING

    @property
    def awaits_products(self) -> bool:
        """True if it waits for the products of the warp too."""
        return self.is_control and self.operation == ControlOperation.HGMMA_WAIT

    def groups(self, threads: int) -> RegisterGroups | None:
        """Return the register groups of its operation in warps of `threads` threads, if any."""
        return groups_of(self.port, threads).get(self.operation)

    def is_float(self, field: str) -> bool:
        """Return whether the operand of `field` is a float register."""
        return self.instruction.registers.get(field) is RegisterClass.FLOAT


def _operation(instruction: Instruction) -> tuple[Port, int]:
    """Return the port and the operation of `instruction`."""
    port = _ELSEWHERE.get(instruction.name, _PORT_OF[instruction.unit])
    operations = PORTS[port].operations
    name = instruction.name
    if name in _RENAMED:
        return port, _RENAMED[name]
    if instruction.unit is Unit.ATOMIC:
        return port, MemoryOperation.ATOMIC_B + (instruction.match >> 12 & 3)
    if instruction.unit is Unit.BARRIER:
        return port, MemoryOperation.BARRIER
    if instruction.unit in (Unit.FP32, Unit.SFU) and name not in _FUSED + _ARITHMETIC:
        name = name[1:]
    if instruction.unit is Unit.EXCHANGE:
        name = name.removeprefix("f")
    name = name.removeprefix("vx_").removesuffix(".s").upper()
    if name not in operations.__members__:  # an immediate form
        name = name.removesuffix("I")
    return port, operations[name]


def _rule(instruction: Instruction) -> Rule:
    port, operation = _operation(instruction)
    immediates = [name for name in instruction.operands if name in IMMEDIATES]
    layout = next((name for name in ("s", "b", "u", "j", "csr") if name in immediates), "i")
    registers = instruction.registers
    has_b = "rs2" in registers and instruction.name not in _IGNORING_B
    reads = ("rs1" in registers, has_b, "rs3" in registers)
    return Rule(
        instruction=instruction, port=port, operation=operation, immediate=layout, reads=reads
    )


#: A rule for each instruction that a port executes, by name.
RULES: dict[str, Rule] = {
    name: _rule(instruction)
    for name, instruction in INSTRUCTIONS.items()
    if instruction.unit in _PORT_OF
}
