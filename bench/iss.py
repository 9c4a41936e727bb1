"""Benchmark of the instruction-set model: warp-instructions per second by code and threads."""

import resource
import time
from collections.abc import Iterator
from dataclasses import replace

from spica.base.compiler import find_compiler
from spica.base.progress import Progress
from spica.cli.options import new_table
from spica.hw.config import CoreConfig
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.program_bench import START

from .target import Target

__all__ = ["measure", "tables"]

WARPS = 8
THREADS = (1, 2, 4, 8, 16, 32)
TARGET_THREADS = 8
INSTRUCTIONS_PER_SECOND = {"float": 10_000_000, "divergent": 10_000_000}
BODIES = 8  # copies of a body in the loop, so that the loop itself hardly counts
#: Every thread of every warp continues at `body`, with numbers near 1 in f1 and f2.
BEGIN = f"""{START}
        csrr s0, mhartid
        andi s1, s0, 1
        slli s2, s0, 2
        li s3, {SHARED_BASE}
        add s2, s2, s3
        li t1, 0x3F800001
        fmv.w.x f1, t1
        li t1, 0x3F7FFFF1
        fmv.w.x f2, t1
"""
#: Loop bodies; ``@`` is replaced by the number of the copy, for labels.
CODES = {
    "integer": """
        add a0, a1, s0
        xor a1, a0, s2
        slli a2, a1, 3
        sub a3, a2, a0
        and a4, a3, a1
        sltu a5, a4, a0
    """,
    "float": """
        fmadd.s f3, f3, f1, f2
        fadd.s f4, f3, f1
        fmul.s f5, f4, f2
        fmadd.s f6, f5, f1, f2
        fmul.s f3, f6, f5
        fmul.s f3, f2, f1
    """,
    "memory": """
        lw a0, 0(s2)
        addi a0, a0, 1
        sw a0, 0(s2)
        flw f3, 0(s2)
        fsw f3, 0(s2)
    """,
    "divergent": """
        vx_split s4, s1, zero
        beqz s1, else@
        fmadd.s f3, f1, f2, f3
        addi a0, a0, 1
        j join@
else@:  fmul.s f3, f3, f2
        xor a0, a0, a1
join@:  vx_join s4
    """,
}


def program_of(code: str, loops: int) -> bytes:
    """Return a program that repeats `code`."""
    body = "\n".join(CODES[code].replace("@", str(k)) for k in range(BODIES))
    loop = f"li s5, {loops}\nagain:\n{body}\naddi s5, s5, -1\nbnez s5, again\nvx_tmc zero\n"
    return assemble_program(BEGIN + loop).data


def speed(code: str, threads: int, instructions: int) -> dict:
    """Return the speed of one machine for one kind of code."""
    core = CoreConfig(warps=WARPS, threads=threads)
    iss = Iss(replace(PRESETS["core"], core=core))
    size = len(program_of(code, 1)) // 4
    iss.write(ENTRY, program_of(code, max(2, instructions // (size * WARPS))))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    outcome = iss.run(1 << 40)
    seconds = time.perf_counter() - started
    processor = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    if outcome.stop is not StopReason.DONE:
        raise SystemExit(f"{code} must run to its end for a valid speed: {outcome}")
    statistics = iss.statistics
    return {
        "instructions": outcome.instructions,
        "thread_instructions": statistics.thread_instructions,
        "seconds": seconds,
        "processor_seconds": processor,
        "instructions_per_processor_second": outcome.instructions / max(processor, 1e-6),
        "threads_per_instruction": statistics.thread_instructions / outcome.instructions,
    }


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every part."""
    instructions = 1_000_000 if quick else 20_000_000
    compiler = find_compiler()
    result: dict = {
        "warps": WARPS,
        "compiler": f"{compiler.version} ({' '.join(compiler.command)})",
        "speed": {},
    }
    for code in CODES:
        result["speed"][code] = {}
        for threads in THREADS:
            progress(f"{code} code, {threads} threads", 0, 0)
            result["speed"][code][str(threads)] = speed(code, threads, instructions)
        yield result | {"targets": targets(result)}


def targets(result: dict) -> list[dict]:
    """Return the targets by processor time, which other work on the host affects less."""
    return [
        Target(
            name=f"warp-instructions per processor second, {code} code, {TARGET_THREADS} threads",
            value=result["speed"][code][str(TARGET_THREADS)]["instructions_per_processor_second"],
            limit=limit,
            at_least=True,
        ).as_dict()
        for code, limit in INSTRUCTIONS_PER_SECOND.items()
        if code in result["speed"]
    ]


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    counts = [str(threads) for threads in THREADS]
    table = new_table(
        f"Million warp-instructions per processor second by threads, {result['warps']} warps, "
        f"{result['compiler']}",
        "code",
        numbers=counts,
    )
    for code, figures in result["speed"].items():
        rates = (figures[size]["instructions_per_processor_second"] / 1e6 for size in counts)
        table.add_row(code, *(f"{rate:.1f}" for rate in rates))
    yield table
