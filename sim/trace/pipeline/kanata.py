"""Pipeline log in the format Kanata 0004, for the viewer Konata."""

from collections.abc import Iterator, Sequence

from ....hw.config import MachineConfig
from .life import Life, Pipeline, held_up, stages_of
from .naming import Names, register_name

__all__ = ["kanata_log"]

#: Lanes of an instruction's row: its stages, and its stalls on top.
STAGE_LANE, HOLD_LANE = 0, 1
RETIRED, FLUSHED = 0, 1
Line = tuple[int, int, str]  # cycle, rank within the cycle, command
Entry = tuple[Pipeline, Life]


def kanata_log(pipelines: Sequence[Pipeline], config: MachineConfig, names: Names) -> str:
    """Return the log of all cores: a thread per warp, instructions in order of first cycles.

    Lane 0 has the stages of `STAGES`, lane 1 the stalls, by the names of `held_up`. Instructions
    that are not done within the records are marked as flushed at their end.
    """
    assert config.core is not None
    entries = [(pipeline, life) for pipeline in pipelines for life in pipeline.lives]
    entries.sort(key=lambda entry: (first_cycle(*entry), entry[0].core, entry[1].number))
    holds = {pipeline.core: held_up(pipeline) for pipeline in pipelines}
    lines = list(ends(entries))
    for identity, (pipeline, life) in enumerate(entries):
        thread = pipeline.core * config.core.warps + life.warp
        start = first_cycle(pipeline, life)
        text = f"w{life.warp} {life.pc:08x} {names.text(life.pc, life.word)}"
        lines += [
            (start, 0, f"I\t{identity}\t{life.number}\t{thread}"),
            (start, 1, f"L\t{identity}\t0\t{text}"),
            (start, 1, f"L\t{identity}\t1\t{details(pipeline.core, life, names)}"),
        ]
        stages = stages_of(life, pipeline.end)
        for lane, spans in ((STAGE_LANE, stages), (HOLD_LANE, holds[pipeline.core][life.number])):
            for name, begin, end in spans:
                lines.append((begin, 2, f"S\t{identity}\t{lane}\t{name}"))
                lines.append((end, 1, f"E\t{identity}\t{lane}\t{name}"))
    return "\n".join(timed(sorted(lines, key=lambda line: line[:2]))) + "\n"


def first_cycle(pipeline: Pipeline, life: Life) -> int:
    """Return the first known cycle of an instruction."""
    return stages_of(life, pipeline.end)[0][1]


def ends(entries: Sequence[Entry]) -> Iterator[Line]:
    """Yield the command that ends each instruction, numbered in the order of completion."""
    order = sorted(
        (pipeline.end if life.done is None else life.done + 1, life.done is None, identity)
        for identity, (pipeline, life) in enumerate(entries)
    )
    for retired, (cycle, is_open, identity) in enumerate(order):
        yield cycle, 3, f"R\t{identity}\t{retired}\t{FLUSHED if is_open else RETIRED}"


def details(core: int, life: Life, names: Names) -> str:
    """Return the details of an instruction for its tooltip."""
    function, line = names.place(life.pc)
    parts = [
        f"core {core} warp {life.warp}",
        f"mask {life.mask:#x}",
        f"{life.port.name} from collector {life.collector}",
        *([f"writes {register_name(life.rd)} over bus {life.bus}"] if life.writes else []),
        *([f"operands over a bus: {life.pending:#05b}"] if life.pending else []),
        *filter(None, (function, line)),
    ]
    return ", ".join(parts)


def timed(lines: Sequence[Line]) -> list[str]:
    """Return the log: commands, with the number of elapsed cycles between them."""
    now = lines[0][0] if lines else 0
    commands = ["Kanata\t0004", f"C=\t{now}"]
    for cycle, _, command in lines:
        if cycle != now:
            commands.append(f"C\t{cycle - now}")
            now = cycle
        commands.append(command)
    return commands
