"""Library of Verilog from elsewhere, simulated by a C++ testbench."""

from pathlib import Path

from ...base.build_cache import cached, digest
from ...base.compiler import compile_all, find_compiler, link
from ...base.progress import Progress
from ..harness.binding import TOP
from .verilator_build import compile_generated, generate
from .verilator_model import (
    VERILATE_FLAGS,
    find_verilator,
    model_flags,
    runtime_objects,
)

__all__ = ["TOP", "build_foreign_design"]


def build_foreign_design(
    name: str, verilog: str, testbench: Path, *, progress: Progress | None = None
) -> Path:
    """Return the shared library of a design and its testbench, built if it is not in the cache.

    It is compiled for the shortest build, so it suits simulations of up to a few million cycles.

    Parameters
    ----------
    name : str
        Name of the design in messages and in the cache.
    verilog : str
        Text with the module `TOP`, which has the ports of the testbench.
    testbench : Path
        C++ that includes ``Vtop.h``, and exports its functions as ``extern "C"``.
    progress : callable or None
        Progress callback.

    """
    compiler, verilator = find_compiler(), find_verilator()
    flags = [*model_flags(verilator, trace=False), *compiler.flags(0)]

    def build(directory: Path) -> None:
        generate(
            verilator.program, verilator.root, name, verilog, VERILATE_FLAGS, directory, progress
        )
        local = [*flags, f"-I{directory}"]
        compile_generated(compiler, directory, {"fast": local, "slow": local}, progress)
        compile_all(compiler, [(testbench, directory / "testbench.o", local)], progress)
        objects = [*directory.glob("*.o"), *runtime_objects(compiler, verilator, trace=False)]
        link(compiler, sorted(objects), directory / "design.so", progress)
        for path in directory.iterdir():
            if path.name != "design.so":
                path.unlink()

    key = digest([
        verilog,
        testbench.read_text(),
        verilator.version,
        *VERILATE_FLAGS,
        *compiler.key(flags),
    ])
    return cached(f"foreign-{name}", key, build, progress) / "design.so"
