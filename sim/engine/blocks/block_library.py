"""Libraries of single blocks: Verilated, compiled and cached by their text."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ....base.build_cache import cached, digest, scratch_folder
from ....base.build_step import build_step
from ....base.compiler import Compiler, compile_all, find_compiler, link, workers
from ....base.progress import Progress
from ...harness.binding import DRIVE
from ...harness.binding import TOP as WRAPPER
from ..driven_top import bits
from ..verilated_headers import with_headers
from ..verilator_build import generate
from ..verilator_model import (
    IDENTITY,
    NATIVE,
    SHARED_HEADERS,
    VERILATE_FLAGS,
    find_verilator,
    flag_levels,
    runtime_objects,
)
from .partition import BlockDesign

__all__ = ["block_libraries", "port_name"]

#: File with the library of a block; `IDENTITY` beside it is a hash of the format of its state.
LIBRARY = "block.so"
#: Maximum bytes of C++ in one compilation unit.
UNIT = 2_000_000
SOURCES = ("blocks/block.cpp", "blocks/block.hpp", "verilated_state.hpp")


def port_name(number: int) -> str:
    """Return the name of a port of the wrapper: Verilator changes names with two underscores."""
    return f"p{number}"


def wrapper(design: BlockDesign, clocks: Sequence[str]) -> str:
    """Return the Verilog of a wrapper that holds a block's inputs in registers.

    As in `driven_top`, but the inputs other than clocks are taken over at both edges of `DRIVE`.
    """
    names = {port.name: port_name(number) for number, port in enumerate(design.ports)}
    held = [port for port in design.ports if port.direction == "input" and port.name not in clocks]
    held_names = {port.name: f"{names[port.name]}_held" for port in held}
    connections = [
        f".{port.name}({held_names.get(port.name, names[port.name])})" for port in design.ports
    ]
    return "\n".join([
        f"module {WRAPPER}({', '.join([*names.values(), DRIVE])});",
        f"  input {DRIVE};",
        *(f"  {port.direction} {bits(port)}{names[port.name]};" for port in design.ports),
        *(f"  reg {bits(port)}{held_names[port.name]};" for port in held),
        f"  always @(posedge {DRIVE} or negedge {DRIVE}) begin",
        *(f"    {held_names[port.name]} <= {names[port.name]};" for port in held),
        "  end",
        f"  {design.name} block ({', '.join(connections)});",
        "endmodule",
        "",
    ])


def ports_header(design: BlockDesign) -> str:
    """Return the C++ header with the storage and width of each port, the drive input last."""
    entries = [
        f"        {{&top.{port_name(number)}, {port.width}}},"
        for number, port in enumerate(design.ports)
    ]
    return "\n".join([
        "// Generated: ports of a Verilated block.",
        "#pragma once",
        "#include <vector>",
        '#include "Vtop.h"',
        "inline std::vector<spica::BlockPort> block_ports(Vtop& top) {",
        "    return {",
        *entries,
        f"        {{&top.{DRIVE}, 1}},",
        "    };",
        "}",
        "",
    ])


def block_libraries(
    blocks: Sequence[tuple[BlockDesign, Sequence[str]]],
    *,
    optimize: int,
    trace: bool = False,
    flags: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[Path]:
    """Return the library of each block, built in parallel if it is not in the cache.

    Parameters
    ----------
    blocks : sequence of tuple
        Each block and its clock ports.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    trace : bool
        Whether the blocks can write waveforms of their registers, ports and read data.
    flags : sequence of str
        Additional arguments for Verilator.
    progress : callable or None
        Progress callback.

    """
    compiler = find_compiler()
    largest = sorted(range(len(blocks)), key=lambda one: -len(blocks[one][0].verilog))
    paths: dict[int, Path] = {}

    def build(number: int) -> None:
        design, clocks = blocks[number]
        paths[number] = block_library(design, clocks, compiler, optimize, trace, flags)

    step, size = "building block models", sum(len(design.verilog) for design, _ in blocks)
    with (
        build_step(progress, step, size=size, total=len(blocks), variant=f"-O{optimize}"),
        ThreadPoolExecutor(workers()) as pool,
    ):
        for done, _ in enumerate(pool.map(build, largest), 1):
            if progress is not None:
                progress(step, done, len(blocks))
    return [paths[number] for number in range(len(blocks))]


def block_library(
    design: BlockDesign,
    clocks: Sequence[str],
    compiler: Compiler,
    optimize: int,
    trace: bool,
    flags: Sequence[str],
) -> Path:
    """Return the library of a block, see `block_libraries`."""
    verilator = find_verilator()
    levels = flag_levels(compiler, verilator, optimize, trace)
    verilog = design.verilog + wrapper(design, clocks)
    verilate = [*VERILATE_FLAGS, *(["--trace"] if trace else []), *flags]
    header = ports_header(design)
    runtime = runtime_objects(compiler, verilator, trace)

    def build(directory: Path) -> None:
        with scratch_folder() as folder:
            generate(
                verilator.program, verilator.root, design.name, verilog, verilate, folder, None
            )
            (folder / "block_ports.hpp").write_text(header)
            local = [f"-I{path}" for path in (NATIVE, NATIVE / "blocks", folder)]
            options = {
                level: [*with_headers(compiler, verilator.root, level_flags), *local]
                for level, level_flags in levels.items()
            }
            jobs = [
                (source, source.with_suffix(".o"), options[level])
                for source, level in units(folder)
            ]
            compile_all(compiler, jobs)
            objects = [target for _, target, _ in jobs]
            link(compiler, [*objects, *runtime], directory / LIBRARY)
            (directory / IDENTITY).write_text(identity)

    sources = [path.read_text() for path in (*(NATIVE / name for name in SOURCES), *SHARED_HEADERS)]
    identity = digest([verilog, header, verilator.version, *verilate, *sources])
    key = digest([identity, *compiler.key([*levels["fast"], *levels["slow"]])])
    return cached(f"block-{design.name}", key, build) / LIBRARY


def units(folder: Path) -> Iterator[tuple[Path, str]]:
    """Write the compilation units of a block; yield each with its level of optimization.

    Code that runs once is one unit with the interface. The rest is in units of at most `UNIT`
    bytes: the headers take over a second in each.
    """
    sources = sorted(folder.glob("Vtop*.cpp"))
    slow = [source for source in sources if "Slow" in source.name]
    fast = sorted(set(sources) - set(slow), key=lambda source: -source.stat().st_size)
    groups: list[list[Path]] = []
    for source in fast:
        room = UNIT - source.stat().st_size
        fitting = (group for group in groups if sum(one.stat().st_size for one in group) <= room)
        group = next(fitting, None)
        if group is None:
            groups.append([source])
        else:
            group.append(source)
    for number, group in enumerate(groups):
        yield written(folder / f"unit_{number}.cpp", group), "fast"
    yield written(folder / "unit_slow.cpp", [*slow, NATIVE / SOURCES[0]]), "slow"


def written(path: Path, sources: Sequence[Path]) -> Path:
    """Write a source that includes others; return its path."""
    path.write_text("".join(f'#include "{source}"\n' for source in sources))
    return path
