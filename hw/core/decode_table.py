"""Which port of a core executes each instruction, and as what: by name, for the decoder."""

from dataclasses import dataclass

from ..isa.encoding import IMMEDIATES, RegisterFile
from ..isa.instructions import INSTRUCTIONS, Instruction, Unit
from .operations import (
    ControlOperation,
    DivideOperation,
    FloatOperation,
    IntegerOperation,
    MemoryOperation,
    Port,
    SpecialOperation,
)

__all__ = ["EXIT_CODE_REGISTER", "RULES", "Rule"]

#: gp, by which a program tells how it ended.
EXIT_CODE_REGISTER = 3

#: Operation of each instruction whose name is not that of its operation.
_RENAMED = {
    "lui": IntegerOperation.ADD,
    "auipc": IntegerOperation.ADD,
    "sltiu": IntegerOperation.SLTU,
    "flw": MemoryOperation.LW,
    "fsw": MemoryOperation.SW,
    "ecall": ControlOperation.END,
    "ebreak": ControlOperation.END,
    "fence.i": ControlOperation.FENCE_I,
    "fcvt.w.s": FloatOperation.TO_SIGNED,
    "fcvt.wu.s": FloatOperation.TO_UNSIGNED,
    "fcvt.s.w": FloatOperation.FROM_SIGNED,
    "fcvt.s.wu": FloatOperation.FROM_UNSIGNED,
    "fmv.x.w": FloatOperation.MOVE,
    "fmv.w.x": FloatOperation.MOVE,
}
_FUSED = ("fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s")
#: Of the float operations, those that keep the "f" of their instruction.
_ARITHMETIC = ("fadd.s", "fsub.s", "fmul.s")

_PORTS = {
    Unit.INT: (Port.INT, IntegerOperation),
    Unit.BRANCH: (Port.INT, IntegerOperation),
    Unit.MULTIPLY: (Port.INT, IntegerOperation),
    Unit.DIVIDE: (Port.DIVIDE, DivideOperation),
    Unit.LSU: (Port.MEMORY, MemoryOperation),
    Unit.FP32: (Port.FP32, FloatOperation),
    Unit.FP32_DIVIDE: (Port.DIVIDE, DivideOperation),
    Unit.SFU: (Port.SPECIAL, SpecialOperation),
    Unit.CSR: (Port.CONTROL, ControlOperation),
    Unit.WARP: (Port.CONTROL, ControlOperation),
    Unit.SYSTEM: (Port.CONTROL, ControlOperation),
}
#: Immediates that are operand 1; others belong to addresses, targets and control.
_OPERAND_IMMEDIATES = ("i", "u", "shamt", "zimm")
#: Nothing of the warp may be under way when these are carried out: what follows relies on what
#: was stored, on flags that were raised, or on a warp with nothing to come when it ends.
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
)
#: These read the exit code as operand 2: the warp may end by them.
_ENDING = (ControlOperation.TMC, ControlOperation.PRED, ControlOperation.END)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What the decoder makes of one instruction.

    Parameters
    ----------
    instruction : Instruction
    port : Port
    operation : int
        Of the port's operations.
    immediate : str
        How its immediate is laid out: ``i``, ``s``, ``b``, ``u``, ``j`` or ``csr``; ``i`` too
        where there is none.
    reads : tuple of bool
        Whether operands 0, 1, 2 are the registers of fields rs1, rs2, rs3.

    """

    instruction: Instruction
    port: Port
    operation: int
    immediate: str
    reads: tuple[bool, bool, bool]

    @property
    def rounds(self) -> bool:
        """Whether it has a rounding mode."""
        return "rm" in self.instruction.operands

    @property
    def is_control(self) -> bool:
        """Whether the control port executes it."""
        return self.port == Port.CONTROL

    @property
    def reads_exit_code(self) -> bool:
        """Whether operand 2 is the exit code."""
        return self.is_control and self.operation in _ENDING

    @property
    def a_is_pc(self) -> bool:
        """Whether the pc is operand 0."""
        return self.instruction.name == "auipc"

    @property
    def b_is_immediate(self) -> bool:
        """Whether the immediate is operand 1."""
        return self.instruction.unit in (Unit.INT, Unit.CSR) and any(
            name in _OPERAND_IMMEDIATES for name in self.instruction.operands
        )

    @property
    def blocks(self) -> bool:
        """Whether the warp waits for it."""
        return self.is_control or self.instruction.unit == Unit.BRANCH

    @property
    def drains(self) -> bool:
        """Whether it waits for all that the warp has under way."""
        return self.is_control and self.operation in _DRAINING

    def is_float(self, field: str) -> bool:
        """Return whether the operand of `field` is a float register."""
        return self.instruction.registers.get(field) is RegisterFile.FLOAT


def _operation(instruction: Instruction) -> tuple[Port, int]:
    """Return the port of `instruction`, and its operation."""
    port, operations = _PORTS[instruction.unit]
    name = instruction.name
    if name in _RENAMED:
        return port, _RENAMED[name]
    if instruction.unit in (Unit.FP32, Unit.SFU) and name not in _FUSED + _ARITHMETIC:
        name = name[1:]
    name = name.removeprefix("vx_").removesuffix(".s").upper()
    if name not in operations.__members__:  # an immediate form
        name = name.removesuffix("I")
    return port, operations[name]


def _rule(instruction: Instruction) -> Rule:
    port, operation = _operation(instruction)
    immediates = [name for name in instruction.operands if name in IMMEDIATES]
    layout = next((name for name in ("s", "b", "u", "j", "csr") if name in immediates), "i")
    registers = instruction.registers
    # The machine whose instruction `vx_split` is ignores its rs2.
    is_split = port == Port.CONTROL and operation == ControlOperation.SPLIT
    reads = ("rs1" in registers, "rs2" in registers and not is_split, "rs3" in registers)
    return Rule(
        instruction=instruction, port=port, operation=operation, immediate=layout, reads=reads
    )


#: A rule for each instruction of a core without tensor instructions, by name.
RULES: dict[str, Rule] = {
    name: _rule(instruction)
    for name, instruction in INSTRUCTIONS.items()
    if instruction.unit is not Unit.TENSOR
}
