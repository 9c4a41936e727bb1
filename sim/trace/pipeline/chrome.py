"""Timeline of the cores in the trace-event format, for chrome://tracing and Perfetto."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....hw.config import MachineConfig, PipelineConfig
from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.operations import Port
from .life import STAGES, Life, Pipeline, Transfer, slot_totals, stages_of
from .naming import Names, fault_text, register_name

__all__ = ["chrome_trace", "in_rows"]

#: Groups of tracks, each a process of the viewer.
GROUPS = ("warps", "warp stalls", "units", "issue and memory")
ROWS = 100  # rows of one track: far more than a warp or unit has instructions in flight
Event = dict[str, Any]
Span = tuple[int, int, str, Event]  # first cycle, end, name, arguments


def chrome_trace(pipelines: Sequence[Pipeline], config: MachineConfig, names: Names) -> str:
    """Return the trace as JSON: a cycle is a microsecond of the viewer.

    A warp has as many rows as instructions in flight; an instruction is a span that contains its
    stages. Tracks of units and buses show the warp that occupies them.
    """
    events: list[Event] = []
    for pipeline in pipelines:
        for group, tracks in enumerate((
            warps(pipeline, names),
            stalls(pipeline),
            units(pipeline, names),
            others(pipeline),
        )):
            process = len(GROUPS) * pipeline.core + group + 1
            events.append(
                named("process_name", process, 0, f"core {pipeline.core}: {GROUPS[group]}")
            )
            for number, (title, spans) in enumerate(tracks):
                events += track(process, number, title, spans)
    said = {
        f"core {pipeline.core}": {
            "cycles": [pipeline.first, pipeline.end],
            "missing": pipeline.sentence,
            "slots": {reason.name: count for reason, count in slot_totals(pipeline).items()},
        }
        for pipeline in pipelines
    }
    encode = json.JSONEncoder(separators=(",", ":")).encode
    lines = ",\n".join(map(encode, events))
    return f'{{"traceEvents":[\n{lines}\n],"otherData":{json.dumps(said)}}}\n'


def named(kind: str, process: int, thread: int, name: str) -> Event:
    """Return the event that names a process or a thread."""
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def span_event(span: Span, process: int, thread: int) -> Event:
    """Return the event of a span."""
    start, end, name, arguments = span
    event = {
        "ph": "X",
        "name": name,
        "ts": start,
        "dur": end - start,
        "pid": process,
        "tid": thread,
    }
    details = {key: value for key, value in arguments.items() if key != "inside"}
    return event | {"args": details} if details else event


def track(process: int, number: int, title: str, spans: Iterable[Span]) -> Iterator[Event]:
    """Yield the events of a track in as many rows as it needs, with the spans inside its spans."""
    named_rows = set()
    for row, span in in_rows(spans):
        thread = ROWS * number + row + 1
        if row not in named_rows:
            named_rows.add(row)
            yield named("thread_name", process, thread, f"{title} ({row + 1})" if row else title)
            order = named("thread_sort_index", process, thread, "")
            yield order | {"args": {"sort_index": thread}}
        yield span_event(span, process, thread)
        for inner in span[3].get("inside", ()):
            yield span_event(inner, process, thread)


def in_rows(spans: Iterable[Span]) -> Iterator[tuple[int, Span]]:
    """Yield each span, in order of first cycles, with the first row that is free for it."""
    ends: list[int] = []
    for span in sorted(spans, key=lambda span: span[:2]):
        row = next((row for row, end in enumerate(ends) if end <= span[0]), len(ends))
        if row == len(ends):
            ends.append(0)
        ends[row] = span[1]
        yield row, span


def arguments_of(life: Life, names: Names) -> Event:
    """Return the details of an instruction for the viewer."""
    function, line = names.place(life.pc)
    details = {
        "pc": f"{life.pc:#010x}",
        "warp": life.warp,
        "mask": f"{life.mask:#x}",
        "port": life.port.name,
        "collector": life.collector,
        "operands over a bus": f"{life.pending:03b}",
        "writes": register_name(life.rd) if life.writes else "",
        "function": function,
        "line": line,
    }
    return {key: value for key, value in details.items() if value != ""}


def warps(pipeline: Pipeline, names: Names) -> Iterator[tuple[str, list[Span]]]:
    """Yield a track of instructions per warp."""
    spans_of: dict[int, list[Span]] = {warp: [] for warp in range(len(pipeline.warps))}
    for life in pipeline.lives:
        stages = stages_of(life, pipeline.end)
        inside = [
            (start, end, STAGES[letter].partition(":")[0], {}) for letter, start, end in stages
        ]
        arguments = arguments_of(life, names) | {"inside": inside}
        spans_of[life.warp].append((
            stages[0][1],
            stages[-1][2],
            names.text(life.pc, life.word),
            arguments,
        ))
    for warp, spans in spans_of.items():
        yield f"warp {warp}", spans


def stalls(pipeline: Pipeline) -> Iterator[tuple[str, list[Span]]]:
    """Yield a track per warp: the stall reasons of its next instruction."""
    for warp, runs in enumerate(pipeline.warps):
        yield (
            f"warp {warp}",
            [
                (run.start, run.end, StallReason(run.state).name.lower(), {})
                for run in runs
                if run.state
            ],
        )


def units(pipeline: Pipeline, names: Names) -> Iterator[tuple[str, list[Span]]]:
    """Yield a track per unit and one per writeback bus."""
    of_port: dict[Port, list[Span]] = {port: [] for port in PipelineConfig().ports}
    of_bus: dict[int, list[Span]] = {}
    for life in pipeline.lives:
        name = f"w{life.warp} {names.text(life.pc, life.word)}"
        if life.dispatched is not None:
            end = pipeline.end if life.done is None else life.done + 1
            span = (life.dispatched, end, name, {"pc": f"{life.pc:#010x}"})
            of_port.setdefault(life.port, []).append(span)
        if life.done is not None:
            register = {"register": register_name(life.rd)} if life.writes else {}
            of_bus.setdefault(life.bus, []).append((life.done, life.done + 1, name, register))
    for port, spans in of_port.items():
        yield port.name, spans
    for bus in sorted(of_bus):
        yield f"bus {bus}", of_bus[bus]


def others(pipeline: Pipeline) -> Iterator[tuple[str, list[Span]]]:
    """Yield the tracks of issue slots, fetches, data memory and faults."""
    for slot, runs in enumerate(pipeline.slots):
        names = (StallReason(run.state).name.lower() if run.state else "issued" for run in runs)
        spans = [(run.start, run.end, name, {}) for run, name in zip(runs, names, strict=True)]
        yield f"slot {slot}", spans
    fetches = [
        (start, end + 1, f"w{warp} {address:08x}", {})
        for start, end, warp, address in pipeline.fetches
    ]
    yield "fetch", fetches
    yield "memory", [transfer_span(one, pipeline.end) for one in pipeline.transfers]
    faults = [
        (int(row["cycle"]), int(row["cycle"]) + 1, fault_text(row), {}) for row in pipeline.faults
    ]
    yield "faults", faults


def transfer_span(one: Transfer, end: int) -> Span:
    """Return the span of a memory request; without a response it lasts until the end."""
    answered = end if one.answered is None else one.answered + 1
    name = f"{'store' if one.is_store else 'load'} {one.address:08x}"
    details = {"lanes": f"{one.mask:#x}", "tag": one.tag, "refused": one.is_refused}
    return one.accepted, answered, name, details
