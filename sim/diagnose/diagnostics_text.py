"""Text report of a program error on one screen: cause, location, history."""

import struct
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..iss.faults import lane_text, numbers_text
from .finding_text import finding_lines, findings_sentence
from .place_text import inside, place_lines, source_line, spot

__all__ = [
    "ADVICE",
    "counted",
    "diagnostics_text",
    "head_lines",
    "warps_text",
    "with_warnings",
]

WIDTH = 100
SCREEN = 40
INDENT: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "    "}
#: Maximum groups of warps, lanes and lines of code in the report; the rest are counted.
SHOWN = 6
#: Findings of the inspection below a report.
WARNINGS = 3
#: Hints for some causes.
ADVICE = {
    "divergent branch": (
        "use SPICA_IF, SPICA_WHILE or spica_select, in assembly vx_split and vx_join, if threads "
        "disagree"
    ),
    "stack overflow": "each nested SPICA_IF takes an entry until its SPICA_END_IF",
}


def diagnostics_text(diagnostics: dict[str, Any]) -> str:
    """Return the report of `explain` as lines of text."""
    after = f"after {diagnostics['instructions']:,} instructions"
    findings = diagnostics.get("findings", [])
    if findings:
        what, rest = f"{findings_sentence(findings)}, {after}", finding_lines(findings)
        if diagnostics["stop"] != "done":
            ending = diagnostics_text(diagnostics | {"findings": []})
            rest = (*rest, *(f"  {line}" for line in ["then", *ending.splitlines()]))
    elif diagnostics["stop"] == "fault":
        what = diagnostics["sentence"].rpartition(" (core ")[0] or diagnostics["sentence"]
        rest = fault_lines(diagnostics, after)
    else:
        what, rest = f"{diagnostics['sentence']}, {after}", group_lines(diagnostics)
    return on_screen([line[:WIDTH].rstrip() for line in [*head_lines(what), *rest]])


def on_screen(lines: list[str], below: Sequence[str] = ()) -> str:
    """Return a report with further lines below it, cut to one screen."""
    room = SCREEN - len(below)
    if len(lines) > room:
        lines[room - 1 :] = ["  truncated; --json FILE writes the complete report"]
    return "\n".join([*lines, *below])


def with_warnings(report: str, warnings: Sequence[str]) -> str:
    """Return a report with the findings of the inspection of the program below it."""
    shown = [f"warning: {warning}" for warning in warnings[:WARNINGS]]
    if len(warnings) > WARNINGS:
        shown.append(f"and {len(warnings) - WARNINGS} more warnings")
    wrapped = (textwrap.wrap(text, WIDTH, **INDENT) for text in shown)
    return on_screen(report.splitlines(), [line for lines in wrapped for line in lines])


def head_lines(sentence: str) -> list[str]:
    """Return the lines of the first sentence; the command line writes its name in front."""
    return textwrap.wrap(sentence, WIDTH - len("spica: "), subsequent_indent="  ")


def fault_lines(diagnostics: dict[str, Any], after: str) -> Iterator[str]:
    """Yield the report lines of a fault."""
    lanes = lane_text(mask_of(diagnostics["lanes"]))
    who = f"core {diagnostics['core']}, warp {diagnostics['warp']}, {lanes}"
    instruction = f": {diagnostics['assembly']}" if diagnostics["assembly"] else ""
    yield f"  {who}, at {diagnostics['pc']:#010x}{instruction}, {after}"
    if diagnostics["advice"]:
        yield from textwrap.wrap(diagnostics["advice"], WIDTH, **INDENT)
    yield from place_lines(diagnostics["location"])
    if diagnostics["came_from"] is not None:
        yield "  reached from"
        yield from place_lines(diagnostics["came_from"])
    yield from partner_lines(diagnostics["partner"])
    yield from stray_lines(diagnostics, "  ")
    yield from address_lines(diagnostics["addresses"])
    if diagnostics["registers"]:
        yield f"  source registers of {diagnostics['assembly']}"
    for name, values in diagnostics["registers"].items():
        yield from register_lines(name, diagnostics["registers_lanes"], values)
    yield from split_lines(diagnostics)
    if diagnostics["history"]:
        yield f"  last instructions of core {diagnostics['core']}, warp {diagnostics['warp']}"
    for instruction in diagnostics["history"]:
        yield history_line(instruction)


def partner_lines(partner: dict[str, Any] | None) -> Iterator[str]:
    """Yield the lines about the other access of a race."""
    if partner is None:
        return
    yield f"  races with {partner['what']}, at {partner['pc']:#010x}"
    yield from place_lines(partner["location"])
    yield from textwrap.wrap(partner["advice"], WIDTH, **INDENT)


def split_lines(diagnostics: dict[str, Any]) -> Iterator[str]:
    """Yield the open splits of an overflowed divergence stack, grouped by source line."""
    if diagnostics["cause"] != "stack overflow":
        return
    spots = Counter(spot(split["location"]) for split in diagnostics["open_splits"])
    yield f"  open splits: {len(diagnostics['open_splits'])}"
    for where, count in list(spots.items())[:SHOWN]:
        yield f"    {count} at {where}"


def history_line(instruction: dict[str, Any]) -> str:
    """Return the line of one instruction before a fault."""
    where = instruction["location"]
    line = ""
    if where is not None and where["line"] is not None:
        line = f"{Path(where['file']).name}:{where['line']}"
    lanes = lane_text(mask_of(instruction["lanes"]))
    return f"    {instruction['pc']:#010x}  {lanes:12} {instruction['assembly']:30} {line}"


def address_lines(addresses: list[list]) -> Iterator[str]:
    """Yield the region near each faulting address, per lane unless all are equal."""
    if len({address for _, address, _ in addresses}) == 1:
        addresses = addresses[:1]
    for lane, address, near in addresses[:SHOWN]:
        whose = f"lane {lane}: " if len(addresses) > 1 else ""
        yield f"  {whose}{address:#010x} is {near}"
    if len(addresses) > SHOWN:
        yield f"  and {len(addresses) - SHOWN} more lanes"


def stray_lines(state: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield the lines about stack pointers of a warp that are outside their stacks."""
    if strayed := state["strayed"]:
        lanes = lane_text(mask_of(lane for lane, _ in strayed))
        furthest = max(nbytes for _, nbytes in strayed)
        yield (
            f"{indent}stack pointer {furthest:,} bytes below the stack of "
            f"{state['stack_bytes']:,} bytes in {lanes}:"
        )
        yield (
            f"{indent}  calls are too deep, or local variables are too large: raise --stack-bytes"
        )


def register_lines(name: str, lanes: list[int], values: list[int]) -> list[str]:
    """Return the values of a register, grouped by value."""
    holders: dict[int, list[int]] = {}
    for lane, value in zip(lanes, values, strict=True):
        holders.setdefault(value, []).append(lane)
    parts = [
        f"{register_text(name, value)} in {lane_text(mask_of(same))}"
        for value, same in holders.items()
    ]
    text = f"    {name:4} {'; '.join(drawn_together(parts, 'values'))}"
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * 9)


def register_text(name: str, value: int) -> str:
    """Return a register value as text, for a float register also as a decimal number."""
    if not name.startswith("f"):
        return f"{value:#010x}"
    return f"{struct.unpack('<f', struct.pack('<I', value))[0]:.7g} ({value:#010x})"


def drawn_together(parts: list[str], what: str) -> list[str]:
    """Return the first texts, and the number of those left out."""
    more = len(parts) - SHOWN
    return [*parts[:SHOWN], *([f"and {more} more {what}"] if more > 0 else [])]


def group_lines(diagnostics: dict[str, Any]) -> Iterator[str]:
    """Yield the state of the warps, grouped by location."""
    texts = [barrier_text(barrier) for barrier in diagnostics["barriers"]]
    yield from (f"  {text}" for text in drawn_together(texts, "barriers"))
    missing = [
        f"missing at barrier {barrier['number']}: {warps_text(barrier['missing'])}"
        for barrier in diagnostics["barriers"]
        if barrier["missing"]
    ]
    yield from (f"  {text}" for text in drawn_together(missing, "barriers"))
    groups = sorted(diagnostics["groups"], key=telling)
    for group in groups[:SHOWN]:
        yield f"  {warps_text(group['warps'])} {doing(group)}"
        yield from stray_lines(group, "    ")
        if "locations" in group:
            yield from loop_lines(group["locations"])
        elif group["location"] is not None:
            yield from place_lines(group["location"], "    ")
    if len(groups) > SHOWN:
        yield f"  and {sum(len(g['warps']) for g in groups[SHOWN:])} more warps"
    # Idle units have no part in a deadlock.
    if diagnostics["stop"] != "deadlock" or not diagnostics["devices_idle"]:
        yield from textwrap.wrap(diagnostics["devices"], WIDTH, **INDENT)


#: States of warps, the most informative first.
ORDER = ("loops", "runs", "waits", "ended", "never began")


def telling(group: dict[str, Any]) -> tuple[int, bool]:
    """Return a sort key: running warps first, those in the user's files before others."""
    foreign = not any(span["own"] for span in group.get("locations", []))
    return ORDER.index(group["does"]), foreign


def barrier_text(barrier: dict[str, Any]) -> str:
    """Return the arrivals at a barrier as text."""
    number, count, arrived = barrier["number"], barrier["count"], barrier["arrived"]
    head = f"barrier {number & 0x7FFF_FFFF}"
    if number >> 31:
        return f"{head} of the cluster: {sum(arrived)} of {count} arrived"
    alike: dict[int, list[int]] = {}
    for core, here in enumerate(arrived):
        alike.setdefault(here, []).append(core)
    present = [
        f"{counted('core', cores)}: {here} of {count} warps arrived"
        for here, cores in alike.items()
    ]
    return f"{head}: {'; '.join(drawn_together(present, 'groups'))}"


def doing(group: dict[str, Any]) -> str:
    """Return the state of a group of warps as text."""
    several = len(group["warps"]) > 1
    ending = "" if several else "s"
    if group["does"] == "waits":
        where = f" at barrier {group['barrier'][0] & 0x7FFF_FFFF}" if group.get("barrier") else ""
        awaited = group.get("unit") or group.get("phase")
        where = f" for {awaited}" if awaited else where
        return f"wait{ending}{where}"
    if group["does"] in ("loops", "runs"):
        span = f"{group['first_pc']:#010x} to {group['last_pc']:#010x}"
        return f"{group['does'][:-1]}{ending} in {group['instructions']} instructions, {span}"
    if group["does"] == "ended":
        return f"{'have' if several else 'has'} ended, last at"
    return "never started"


def loop_lines(spans: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of code of a loop."""
    for span in spans[:2]:
        first, last = min(span["texts"]), max(span["texts"])
        lines = f"{first}" if first == last else f"{first}-{last}"
        yield f"    {span['file']}:{lines}{inside(span['function'])}"
        for number, text in list(span["texts"].items())[:4]:
            if text is not None:
                yield source_line(number, text, "    ")


def warps_text(warps: Iterable[list[int]]) -> str:
    """Return warps as text, ``core 0, warps 0-6``; cores with the same warps are grouped."""
    by_core: dict[int, list[int]] = {}
    for core, warp in warps:
        by_core.setdefault(core, []).append(warp)
    alike: dict[tuple[int, ...], list[int]] = {}
    for core, numbers in by_core.items():
        alike.setdefault(tuple(numbers), []).append(core)
    parts = [
        f"{counted('core', cores)}, {counted('warp', numbers)}" for numbers, cores in alike.items()
    ]
    return "; ".join(drawn_together(parts, "groups"))


def counted(what: str, numbers: Iterable[int]) -> str:
    """Return a noun and its numbers, ``warp 3`` or ``warps 0-6``."""
    return numbers_text(what, mask_of(numbers))


def mask_of(numbers: Iterable[int]) -> int:
    """Return a mask with these bits set."""
    return sum(1 << number for number in numbers)
