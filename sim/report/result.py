"""Result of a run: one versioned schema for every kernel and engine."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ...base.errors import MachineError
from ...hw.config import MachineConfig
from ...hw.core.issue.stall_reason import StallReason
from ...hw.isa.csr import COUNTERS
from ...hw.machine.fields import plain_config
from ..engine.versions import versions
from ..harness.core_memory import CoreMemoryConfig
from ..harness.dram import DramConfig

__all__ = [
    "COMPLETE",
    "FAIL",
    "FUNCTIONAL",
    "ISSUED",
    "ISSUE_SLOTS",
    "PASS",
    "SAVED",
    "SCHEMA",
    "STOPPED",
    "VERSION",
    "check_section",
    "complete",
    "core_section",
    "instruction_section",
    "issue_slots",
    "memory_section",
    "new_result",
    "record_failure",
    "region_section",
    "result_schema",
    "saved",
    "speed_section",
    "traffic_section",
    "unit_section",
]

SCHEMA = "spica.result"
VERSION = 1
FILE = Path(__file__).with_name("result.schema.json")

#: Verdicts of a check.
PASS, FAIL = "pass", "fail"
#: Status of a run: at its end; stopped by a fault, a hang or a limit; saved at its limit.
COMPLETE, STOPPED, SAVED = "complete", "stopped", "saved"

#: Key of the issue slots with an instruction; the other keys are stall reasons.
ISSUED = "issued"
#: Outcomes of an issue slot by key: `ISSUED` and the stall reasons, each with its meaning.
ISSUE_SLOTS = {
    ISSUED if reason is StallReason.NONE else reason.name.lower(): COUNTERS[
        f"slots_{reason.name.lower()}"
    ].meaning.removeprefix("empty slots: ")
    for reason in StallReason
}
#: Memory of the instruction-set model, which has no timing.
FUNCTIONAL = {"model": "functional", "parameters": {}, "traffic": None}


@cache
def result_schema() -> dict[str, Any]:
    """Return the JSON schema of a result."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def new_result(
    *,
    preset: str,
    config: MachineConfig,
    engine: str,
    driver: str,
    seed: int,
    options: Mapping[str, Any],
    memory: dict[str, Any],
    kernel: str | None = None,
    program: Sequence[str] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the result of a run that has not begun: every key of the schema, the others null.

    Parameters
    ----------
    preset : str
        Name of the machine.
    config : MachineConfig
        Its config.
    engine : str
        ``verilator``, ``amaranth`` or ``iss``.
    driver : str
        ``cores`` or ``host``.
    seed : int
        Seed of data, random stalls, random gating and random schedules.
    options : mapping
        The other options of the run, by the keys of the schema; options not given are null.
    memory : dict
        From `memory_section`.
    kernel : str or None
        Name of the kernel.
    program : sequence of str or None
        Files of the program.
    sizes : mapping or None
        Sizes of the kernel by dimension.

    """
    return dict.fromkeys(result_schema()["properties"]) | {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "status": None,
        "check": check_section(None),
        "preset": preset,
        "kernel": kernel,
        "program": None if program is None else list(program),
        "sizes": None if sizes is None else dict(sizes),
        "engine": engine,
        "driver": driver,
        "seed": seed,
        "options": updated(dict.fromkeys(properties_of("options")), options),
        "memory": memory,
        "notes": [],
        "versions": versions(),
        "config": plain_config(config.resolved),
    }


def complete(result: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """Return the result of a completed run, with the sections it has measured."""
    return updated(result, sections | {"status": COMPLETE})


def saved(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a run that was saved at its limit: it has no verdict."""
    return result | {"status": SAVED}


@contextmanager
def record_failure(new: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Attach the result of a stopped run, verdict `FAIL`, to the `MachineError` that stops it.

    `new` returns the result without what the run measures.
    """
    try:
        yield
    except MachineError as error:
        diagnosis = getattr(error, "diagnostics", None)
        error.result = new() | {
            "status": STOPPED,
            "check": check_section(FAIL),
            "failure": {"message": str(error), "diagnosis": diagnosis},
        }
        raise


def check_section(
    verdict: str | None,
    *,
    exit_code: int | None = None,
    device_errors: str = "",
    code_warnings: Sequence[str] = (),
    buffers: Mapping[str, dict[str, Any]] | None = None,
    ignored_races: int | None = None,
) -> dict[str, Any]:
    """Return the `check` of a result."""
    return {
        "verdict": verdict,
        "exit_code": exit_code,
        "device_errors": device_errors,
        "code_warnings": list(code_warnings),
        "buffers": dict(buffers or {}),
        "ignored_races": ignored_races,
    }


def memory_section(
    memory: DramConfig | CoreMemoryConfig, traffic: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the `memory` of a result: model, its parameters, traffic."""
    return {
        "model": "dram" if isinstance(memory, DramConfig) else "simple",
        "parameters": dataclasses.asdict(memory),
        "traffic": traffic,
    }


def issue_slots(slots: Mapping[str, int]) -> dict[str, int]:
    """Return issue slots by the keys of `ISSUE_SLOTS`; `slots` has the names of `StallReason`."""
    names = (reason.name for reason in StallReason)
    return {key: slots[name] for key, name in zip(ISSUE_SLOTS, names, strict=True)}


def unit_section(units: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the `units` of a core; `units` has the `UnitUse` of each `Port` by name."""
    return {
        name.lower(): {
            "cycles": use.cycles,
            "lost_slots": {reason.lower(): slots for reason, slots in use.lost.items()},
        }
        for name, use in units.items()
    }


def traffic_section(
    run: dict[str, float], region: dict[str, float] | None, planned_read_bytes: int | None = None
) -> dict[str, Any]:
    """Return the `memory.traffic` of a result, from `dram.traffic` of the run and its region."""
    return {"run": run, "region": region, "planned_read_bytes": planned_read_bytes}


def region_section(begin: int | None, end: int | None, **events: str) -> dict[str, Any] | None:
    """Return the `region` of a result or of a core; None without a beginning and an end."""
    if begin is None and end is None:
        return None
    return {"begin": begin, "end": end} | events


def core_section(
    instructions: int,
    slots: dict[str, int] | None = None,
    counters: dict[str, int] | None = None,
    units: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return an entry of `cores` of a result."""
    return {
        "instructions": instructions,
        "issue_slots": slots,
        "units": units,
        "counters": counters,
        "region": None,
    }


def instruction_section(counts: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Return `instructions` and `lane_utilization` of a result; warps have `threads` threads."""
    known = dict.fromkeys(properties_of("instructions"))
    lanes = counts["thread"] / max(1, counts["warp"] * threads)
    return {"instructions": updated(known, counts), "lane_utilization": lanes}


def speed_section(**values: float | str | None) -> dict[str, Any]:
    """Return the `speed` of a result."""
    return updated(dict.fromkeys(properties_of("speed")), values)


def properties_of(section: str) -> dict[str, Any]:
    """Return the keys of a section in the schema."""
    return result_schema()["properties"][section]["properties"]


def updated(section: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with other values; refuse keys that the schema does not have."""
    unknown = values.keys() - section.keys()
    assert not unknown, f"result.schema.json must have the keys {', '.join(sorted(unknown))}"
    return section | dict(values)
