"""Random programs of one thread, executed by all threads of all warps."""

from spica.hw.config import MachineConfig
from spica.sim.iss.program_bench import END, START
from support.programs.placed_program import PlacedProgram
from support.programs.scalar import MIDDLE, WINDOW, WINDOW_BYTES, scalar_program

__all__ = ["uniform_program"]


def uniform_program(seed: int, config: MachineConfig, length: int = 60) -> PlacedProgram:
    """Return a random single-threaded program, executed by all threads of all warps.

    Each warp has its own data; its threads have equal registers. All registers are used, and the
    end of the program ends the warp.
    """
    core = config.core
    assert core is not None
    scalar = scalar_program(seed, length)
    # The first two words load the base of all accesses into a register of the program's choice.
    base = scalar.words[0] >> 7 & 31
    other = 1 + base % 31
    lines = [START, *(f"li x{register}, 0" for register in range(1, 32))]
    lines += [f"csrr x{base}, mhartid", f"srli x{base}, x{base}, {core.thread_width}"]
    lines += [f"slli x{base}, x{base}, {WINDOW_BYTES.bit_length() - 1}", f"li x{other}, {MIDDLE}"]
    lines += [f"add x{base}, x{base}, x{other}"]
    lines += [f".word {word}" for word in scalar.words[2:-1]]
    warps = 1 << (config.cores - 1).bit_length() + core.warp_width
    windows = tuple((WINDOW + warp * WINDOW_BYTES, scalar.data) for warp in range(warps))
    region = (WINDOW, warps * WINDOW_BYTES)
    text, name = "\n".join([*lines, END]), f"uniform_program, seed {seed}, length {length}"
    return PlacedProgram(text, windows, (region,), name)
