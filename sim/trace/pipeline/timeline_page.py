"""Timeline of the cores as a self-contained HTML page with its own viewer."""

from collections.abc import Sequence
from typing import Any

from ....hw.config import MachineConfig
from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.csr import COUNTERS
from ..page import filled
from ..palette import SLOT_COLOURS
from .life import STAGES, Life, Pipeline, Run, held_up, slot_totals, stages_of
from .naming import Names, fault_text, register_name

__all__ = ["html_page"]

LETTERS = "".join(STAGES)
UNKNOWN = -1  # represents None in the page's data


STAGES_PAGE = "docs/pipeline.md#the-stages"
#: Meaning of each kind of track, and page and section of the manual.
ABOUT = {
    "slot": ("outcome of an issue slot in each cycle", "docs/pipeline.md#stall-reasons"),
    "warp": ("stalls of the warp, and below the stages of its instructions", STAGES_PAGE),
    "port": ("instructions in the unit, each in the colour of its warp", STAGES_PAGE),
    "bus": ("results on the writeback bus, each in the colour of its warp", STAGES_PAGE),
    "fetch": ("requests for instruction words, each in the colour of its warp", STAGES_PAGE),
    "memory": ("loads and stores, from request to response", "docs/machine.md#memory"),
    "faults": ("faults of instructions", "docs/programming.md#faults-and-their-reports"),
}


class Numbers(dict[str, int]):
    """Numbers of texts, assigned in the order of first use."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def html_page(pipelines: Sequence[Pipeline], config: MachineConfig, names: Names) -> str:
    """Return the page of all cores, with style, script and data."""
    assert config.core is not None
    texts, places = Numbers(), Numbers()
    shape = f"{config.core.warps} warps of {config.core.threads} threads"
    cores = f"{len(pipelines)} cores, each " if len(pipelines) > 1 else ""
    data = {
        "cores": [core_data(pipeline, names, texts, places) for pipeline in pipelines],
        "first": min(pipeline.first for pipeline in pipelines),
        "end": max(pipeline.end for pipeline in pipelines),
        "texts": list(texts),
        "places": list(places),
        "stages": [meaning.partition(":")[0] for meaning in STAGES.values()],
        "ports": [port.name for port in config.core.ports],
        "buses": config.core.writeback_buses,
        "reasons": [reason.name.lower().replace("_", " ") for reason in StallReason],
        "colours": [SLOT_COLOURS[reason] for reason in StallReason],
        "meanings": [COUNTERS[f"slots_{reason.name.lower()}"].meaning for reason in StallReason],
        "about": ABOUT,
        "summary": "".join(summary(pipeline) for pipeline in pipelines),
    }
    return filled("timeline", f"{cores}{shape}", data)


def core_data(pipeline: Pipeline, names: Names, texts: Numbers, places: Numbers) -> dict[str, Any]:
    """Return the page data of a core, read by `livesOf` and `tracksOf` of the script."""
    holds = held_up(pipeline)
    return {
        "core": pipeline.core,
        "first": pipeline.first,
        "end": pipeline.end,
        "slots_end": max((runs[-1].end for runs in pipeline.slots if runs), default=pipeline.end),
        "missing": pipeline.sentence,
        "lives": [
            [
                *life_data(life, names, texts, places),
                holds[life.number],
                [(LETTERS.index(x), start, end) for x, start, end in stages_of(life, pipeline.end)],
            ]
            for life in pipeline.lives
        ],
        "warps": [states(runs) for runs in pipeline.warps],
        "slots": [states(runs) for runs in pipeline.slots],
        "fetches": pipeline.fetches,
        "transfers": [
            [
                *(one.accepted, UNKNOWN if one.answered is None else one.answered),
                *(int(one.is_store), one.address, one.mask, int(one.is_refused)),
            ]
            for one in pipeline.transfers
        ],
        "faults": [(int(row["cycle"]), fault_text(row)) for row in pipeline.faults],
    }


def life_data(life: Life, names: Names, texts: Numbers, places: Numbers) -> list[Any]:
    """Return an instruction's fields in the order of `LIFE` of the script, up to its place."""
    return [
        life.warp,
        life.pc,
        texts[names.text(life.pc, life.word)],
        life.mask,
        int(life.port),
        life.collector,
        life.pending,
        *(UNKNOWN if time is None else time for time in life.times),
        life.bus,
        register_name(life.rd) if life.writes else "",
        places[", ".join(filter(None, names.place(life.pc)))],
    ]


def states(runs: Sequence[Run]) -> list[tuple[int, int]]:
    """Return first cycle and state of each run."""
    return [(run.start, run.state) for run in runs]


def summary(pipeline: Pipeline) -> str:
    """Return the table of a core's issue slots."""
    totals = slot_totals(pipeline)
    whole = max(1, sum(totals.values()))
    rows = "".join(
        f"<tr><td>{reason.name.lower().replace('_', ' ') if reason else 'issued'}</td>"
        f"<td>{count:,}</td><td>{100 * count / whole:.1f} %</td></tr>"
        for reason, count in totals.items()
        if count
    )
    return f"<table><tr><th>core {pipeline.core}</th><th>slots</th><th></th></tr>{rows}</table>"
