"""The first command that a matrix unit refused: its name, and the instruction that sent it."""

from ...hw.config import MachineConfig
from ...hw.isa.commands import ROCC_OPCODE, Function, cisc_word, rocc_layout
from ...hw.styles.registry import matrix_style_of
from ...kernels.program import Program
from ..iss.devices import UNIT_SHIFT
from ..iss.machine import Iss
from .diagnostics_text import spot
from .source_locations import Locator

__all__ = ["RefusedCommand"]


class RefusedCommand:
    """Description of a refused command, for `describe_faults`.

    Parameters
    ----------
    config : MachineConfig
    program : Program
        Program that sent the command.
    iss : Iss or None
        Model that executed the program, alone or in lockstep; None if there is none.

    """

    def __init__(self, config: MachineConfig, program: Program, iss: Iss | None):
        self.config = config
        self.program = program
        self.iss = iss

    def __call__(self, number: int, word: int) -> str:
        """Return name and location of a command word of unit `number`, to follow the word."""
        name = self.name_of(number, word)
        return f"{f', {name}' if name else ''}{self.location_of(number, word)}"

    def name_of(self, number: int, word: int) -> str:
        """Return the name of an operation, "" if the unit has none of this code."""
        rocc = rocc_layout.from_bits(word)
        if rocc.opcode == ROCC_OPCODE:
            function = rocc.function
            return Function(function).name.lower() if function in list(Function) else ""
        matrix = self.config.units[number]
        return (
            matrix_style_of(matrix).operations(matrix).get(cisc_word.from_bits(word).operation, "")
        )

    def location_of(self, number: int, word: int) -> str:
        """Return core, warp and source line of the first instruction that sent a word."""
        if self.iss is None:
            return "; run in lockstep for the instruction"
        # A unit receives a command word without its own number.
        sent = self.iss.sender(word | number << UNIT_SHIFT) or self.iss.sender(word)
        if sent is None:
            return ", sent by the host"
        core, warp, pc = sent
        where = spot(Locator(self.program).at(pc))
        return f", sent by core {core}, warp {warp} at {pc:#010x}, {where}"
