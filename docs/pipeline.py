"""Writer of the cycles in pipeline.md, and of its picture, from a run; run by ``make docs``."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pages
from pages import table
from pipeline_picture import picture

from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.assembly import disassemble
from spica.hw.isa.encoding import REGISTER_FIELDS
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.trace.pipeline.life import STAGES, Life, Pipeline, held_up, stages_of
from spica.sim.trace.pipeline.pipeline import pipeline_of

PAGE = Path(__file__).with_name("pipeline.md")
PICTURE = Path(__file__).with_name("pictures") / "pipeline.svg"
CONFIG = small_config(warps=2, threads=4)
PROGRAM = """
        li      t0, -1
        vx_tmc  t0                      # all threads of the warp
        csrr    a0, mhartid
        fcvt.s.w fa0, a0
        fmadd.s fa1, fa0, fa0, fa0
        fmadd.s fa2, fa1, fa0, fa0      # waits for fa1
        vx_tmc  zero
"""
#: Positions in the program of the two instructions that the page describes.
PRODUCER, CONSUMER = 4, 5
CYCLES = 1000  # an upper bound of the program's cycles


def run(engine: str = "verilator", vcd: str | None = None) -> Pipeline:
    """Run the program on an engine and return the recorded pipeline."""
    with ProgramMachine(CONFIG, engine=engine, optimize=0, record=(0, CYCLES), vcd=vcd) as machine:
        machine.write(ENTRY, assemble_program(PROGRAM).data.ljust(64, b"\0"))
        machine.run(CYCLES)
        return pipeline_of(machine.records()[0])


pipeline = functools.cache(run)


@dataclass
class Step:
    """Event of the second `fmadd.s` in one cycle, and the signals that show it."""

    cycle: int
    text: str
    signals: dict[str, int] = field(default_factory=dict)


def sources(life: Life) -> list[int]:
    """Return the operand registers of an `fmadd.s`, numbered as in the core."""
    assert life.word is not None
    return [32 + (life.word >> REGISTER_FIELDS[name] & 31) for name in ("rs1", "rs2", "rs3")]


def steps(recorded: Pipeline) -> Iterator[Step]:
    """Yield the steps of the second `fmadd.s`, cycle by cycle."""
    yield from front_steps(recorded)
    yield from issue_steps(recorded)
    yield from operand_steps(recorded)
    yield from result_steps(recorded)


def front_steps(recorded: Pipeline) -> Iterator[Step]:
    """Yield the steps until the instruction is the next of its warp."""
    producer, life = recorded.lives[PRODUCER], recorded.lives[CONSUMER]
    warp, half = life.warp, life.pc >> 2 & 1
    assert life.requested is not None and life.fetched is not None and producer.issued is not None
    yield Step(
        life.requested,
        "Fetch requests the pair of words that contains the instruction; memory accepts.",
        {
            "core0_fetch_valid": 1,
            "core0_fetch_address": life.pc & ~7,
            f"core0.front_end.fetch.warp_{warp}.granted": 1,
        },
    )
    yield Step(
        life.fetched,
        f"The words arrive. `decode_{half}` decodes the {'upper' if half else 'lower'} one, and "
        "the pair is pushed into its entry of the warp's buffer.",
        {
            "core0_fetched_valid": 1,
            f"core0.front_end.decode_{half}.word": life.word or 0,
            f"core0.front_end.buffer.warp_{warp}.push__valid": 1,
        },
    )
    yield Step(
        producer.issued,
        "Older instructions of its warp leave first. The last of them, the first `fmadd.s`, "
        "leaves the buffer and claims its destination in the scoreboard.",
        {
            f"core0.front_end.buffer.warp_{warp}.instructions__take": 1,
            f"core0.issue_stage.scoreboard.warp_{warp}.events__issued": 1,
        },
    )


def issue_steps(recorded: Pipeline) -> Iterator[Step]:
    """Yield the steps until the instruction has a collector."""
    producer, life = recorded.lives[PRODUCER], recorded.lives[CONSUMER]
    warp = life.warp
    board = f"core0.issue_stage.scoreboard.warp_{warp}"
    ((reason, first, end),) = held_up(recorded)[life.number]
    assert producer.dispatched is not None and life.issued is not None
    for cycle in range(first, end):
        text = {
            first: "It is the next of its warp, but one operand, the result of the first, is not "
            f"near: a hazard. The warp and the issue slot stall with reason `{reason}`.",
            producer.dispatched: "The unit accepts the first. From now on the cycle of its "
            "result is known, and early enough for an instruction issued in the next cycle: the "
            "register no longer blocks issue, but is still pending.",
        }.get(cycle)
        if text is not None:
            reasons = StallReason[reason.upper()] << 4 * warp
            other = StallReason.IDLE << 4 * (1 - warp)
            signals = {f"{board}.hazards__hazard": 1, "core0_observed_reasons": reasons | other}
            yield Step(cycle, text, signals)
    yield Step(
        life.issued,
        "No hazard: the scheduler selects the warp, and the instruction leaves its buffer, with "
        "a mask of its pending operands.",
        {
            f"{board}.hazards__hazard": 0,
            "core0.issue_stage.scheduler.warps__grant": 1 << warp,
            "core0.issue_stage.slot_0.entry__enter": 1,
        },
    )
    yield Step(
        life.collected,
        "It moves from the issue slot to the lowest free collector.",
        {
            "core0_observed_collected_0_valid": 1,
            "core0_observed_collected_0_pc": life.pc,
            "core0_observed_collected_0_pending": life.pending,
            f"core0.collectors.collector_{life.collector}.allocate": 1,
        },
    )


def operand_steps(recorded: Pipeline) -> Iterator[Step]:
    """Yield the steps that gather the operands."""
    producer, life = recorded.lives[PRODUCER], recorded.lives[CONSUMER]
    collector = f"core0.collectors.collector_{life.collector}"
    from_banks = [source for k, source in enumerate(sources(life)) if not life.pending >> k & 1]
    assert producer.done is not None
    for number, source in enumerate(from_banks):
        cycle = life.collected + 1 + number
        name = f"f{source - 32}"
        text = f"It requests an operand, {name}, from the register banks."
        signals = {
            f"{collector}.request__valid": 1,
            f"core0.registers.request__{life.collector}__ready": 1,
        }
        if number:
            text = f"The first operand arrives. It requests the next, {name}."
            signals[f"{collector}.data__valid"] = 1
        if cycle == producer.done:
            text += (
                " The result of the first `fmadd.s` is on a bus, and the collector captures it. "
                "In the next cycle all operands are present."
            )
            signals |= {
                f"core0_observed_done_{producer.bus}_valid": 1,
                f"core0_observed_done_{producer.bus}_pc": producer.pc,
                f"{collector}.snooped": 1,
                f"{collector}.collected__complete": 1,
            }
        yield Step(cycle, text, signals)


def result_steps(recorded: Pipeline) -> Iterator[Step]:
    """Yield the steps from the unit on."""
    life = recorded.lives[CONSUMER]
    port = int(Port.FP32)
    assert life.dispatched is not None and life.offered is not None and life.done is not None
    yield Step(
        life.dispatched,
        "The last operand arrives from the banks and is forwarded in the same cycle: the unit "
        "accepts the instruction. The collector is free for another one.",
        {
            f"core0.collectors.collector_{life.collector}.data__valid": 1,
            f"core0_observed_dispatched_{port}_valid": 1,
            f"core0_observed_dispatched_{port}_pc": life.pc,
            "core0.fp32_unit.i__valid": 1,
        },
    )
    bus = life.bus
    yield Step(
        life.offered,
        f"{life.offered - life.dispatched} cycles later, `fma_latency`, the unit has the result. "
        "A bus and the bank are free, so the result is written. The scoreboard clears the "
        "register, and collectors can snoop the result.",
        {
            f"core0_observed_offered_{port}_valid": 1,
            f"core0_observed_done_{bus}_valid": 1,
            f"core0_observed_done_{bus}_rd": life.rd,
            f"core0.registers.write__{bus}__valid": 1,
            f"core0.registers.write__{bus}__ready": 1,
        },
    )


def shown(name: str, value: int) -> str:
    """Return the text of a signal, with its value unless that is 1."""
    text = f" = {value:#x}" if value > 9 else f" = {value}"
    return f"`{name}`" + ("" if value == 1 else text)


def program() -> str:
    """Return the program as a code block."""
    return f"```\n{PROGRAM.strip(chr(10))}\n```"


def lives() -> str:
    """Return the table of all instructions: first cycle of each stage, completion, stalls."""
    recorded = pipeline()
    names = [meaning.partition(":")[0] for meaning in STAGES.values()]
    rows = []
    for life in recorded.lives:
        stages = {letter: start for letter, start, _ in stages_of(life, recorded.end)}
        holds = ", ".join(f"{name} {a} to {b - 1}" for name, a, b in held_up(recorded)[life.number])
        cycles = [str(stages[letter]) for letter in STAGES]
        rows.append([f"`{disassemble(life.word or 0)}`", *cycles, str(life.done), holds])
    return table(["instruction", *names, "done", "stalled by"], rows)


def walk() -> str:
    """Return the table of the steps of the second `fmadd.s`."""
    rows = [
        [str(step.cycle), step.text, ", ".join(shown(*signal) for signal in step.signals.items())]
        for step in steps(pipeline())
    ]
    return table(["cycle", "event", "signals"], rows)


def updated(text: str) -> str:
    """Return the page with the cycles of a run filled in."""
    return pages.updated(text, [program, lives, walk])


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
    PICTURE.write_text(picture(pipeline(), PRODUCER, CONSUMER))
