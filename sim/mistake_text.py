"""A program's mistake on one screen: its cause, its place, and the way there."""

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .iss.faults import lane_text

__all__ = ["mistake_text", "numbers_text"]

WIDTH = 100
#: Groups of warps, of lanes and of lines of code that are shown; more are counted.
SHOWN = 6


def mistake_text(mistake: dict[str, Any]) -> str:
    """Return what `explain` found as lines of text."""
    after = f" (after {mistake['instructions']:,} instructions)"
    lines = textwrap.wrap(mistake["sentence"] + after, WIDTH, subsequent_indent="  ")
    lines += fault_lines(mistake) if mistake["stop"] == "fault" else group_lines(mistake)
    return "\n".join(line[:WIDTH].rstrip() for line in lines)


def fault_lines(mistake: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a fault."""
    yield from place_lines(mistake["location"])
    if mistake["came_from"] is not None:
        yield "  came from"
        yield from place_lines(mistake["came_from"])
    yield from address_lines(mistake["addresses"])
    if mistake["registers"]:
        yield f"  registers that {mistake['assembly']} reads"
        lanes = mistake["lanes"]
        for name, values in mistake["registers"].items():
            yield from register_lines(name, lanes, values)
    if mistake["open_splits"] and mistake["cause"].startswith("stack"):
        yield f"  {len(mistake['open_splits'])} splits are open, the innermost last"
        for split in mistake["open_splits"][-SHOWN:]:
            yield f"    {spot(split['location'])}, {lane_text(mask_of(split['lanes']))}"
    if mistake["history"]:
        yield f"  last instructions of core {mistake['core']}, warp {mistake['warp']}"
    for each in mistake["history"]:
        yield history_line(each)


def history_line(each: dict[str, Any]) -> str:
    """Return one instruction of the way to a fault."""
    where = each["location"]
    line = ""
    if where is not None and where["line"] is not None:
        line = f"{Path(where['file']).name}:{where['line']}"
    return f"    {each['pc']:#010x}  {lane_text(mask_of(each['lanes'])):12} {each['assembly']:30} {line}"


def place_lines(place: dict[str, Any] | None, indent: str = "  ") -> Iterator[str]:
    """Yield where something is, and the text of its line."""
    if place is None:
        yield f"{indent}in code without source lines"
        return
    yield f"{indent}{spot(place)}"
    if place["text"] is not None:
        yield source_line(place["line"], place["text"], indent)


def spot(place: dict[str, Any] | None) -> str:
    """Return a place in a few words."""
    if place is None:
        return "code without source lines"
    if place["line"] is None:
        return f"in {place['function']}, without source lines"
    return f"{place['file']}:{place['line']} in {place['function']}"


def source_line(number: int, text: str, indent: str) -> str:
    """Return a line of source code, marked."""
    return f"{indent}> {number:4} | {text.expandtabs(4)}"


def address_lines(addresses: list[list]) -> Iterator[str]:
    """Yield what the addresses of a fault are close to, lane by lane unless they are equal."""
    if len({address for _, address, _ in addresses}) == 1:
        addresses = addresses[:1]
    for lane, address, near in addresses[:SHOWN]:
        whose = f"lane {lane}: " if len(addresses) > 1 else ""
        yield f"  {whose}{address:#010x} is {near}"
    if len(addresses) > SHOWN:
        yield f"  and {len(addresses) - SHOWN} lanes more"


def register_lines(name: str, lanes: list[int], values: list[int]) -> Iterator[str]:
    """Yield the values of a register, once if all lanes agree."""
    if len(set(values)) == 1:
        whose = "this lane" if len(lanes) == 1 else "these lanes"
        yield f"    {name:4} {values[0]:#010x} in {whose}"
        return
    pairs = [f"lane {lane} {value:#010x}" for lane, value in zip(lanes, values, strict=True)]
    more = [f"and {len(pairs) - SHOWN} lanes more"] if len(pairs) > SHOWN else []
    text = f"    {name:4} {', '.join(pairs[:SHOWN] + more)}"
    yield from textwrap.wrap(text, WIDTH, subsequent_indent=" " * 9)


def group_lines(mistake: dict[str, Any]) -> Iterator[str]:
    """Yield where the warps stand, those at one place together."""
    for barrier in mistake["barriers"]:
        yield f"  {barrier_text(barrier)}"
    groups = sorted(mistake["groups"], key=lambda group: ORDER.index(group["does"]))
    for group in groups[:SHOWN]:
        yield f"  {warps_text(group['warps'])} {doing(group)}"
        if "locations" in group:
            yield from loop_lines(group["locations"])
        elif group["location"] is not None:
            yield from place_lines(group["location"], "    ")
    if len(groups) > SHOWN:
        yield f"  and {sum(len(g['warps']) for g in groups[SHOWN:])} warps elsewhere"
    # Devices that are done have no part in a deadlock.
    if mistake["stop"] != "deadlock" or not mistake["devices_idle"]:
        yield from textwrap.wrap(
            mistake["devices"], WIDTH, initial_indent="  ", subsequent_indent="    "
        )


#: What warps do, the most telling first.
ORDER = ("loops", "runs", "waits", "ended", "never began")


def barrier_text(barrier: dict[str, Any]) -> str:
    """Return who is at a barrier and who is not."""
    number, count, arrived = barrier["number"], barrier["count"], barrier["arrived"]
    present = [
        f"core {core}: {here} of {count} warps are there" for core, here in enumerate(arrived)
    ]
    head = f"barrier {number & 0x7FFF_FFFF}"
    if number >> 31:
        return f"{head} of all cores: {sum(arrived)} of {count} are there"
    more = [f"and {len(present) - SHOWN} cores more"] if len(present) > SHOWN else []
    return f"{head}: {'; '.join(present[:SHOWN] + more)}"


def doing(group: dict[str, Any]) -> str:
    """Return what the warps of a group do."""
    several = len(group["warps"]) > 1
    if group["does"] == "waits":
        where = f" at barrier {group['barrier'][0] & 0x7FFF_FFFF}" if group.get("barrier") else ""
        return f"wait{'' if several else 's'}{where}"
    if group["does"] in ("loops", "runs"):
        verb = group["does"] if not several else group["does"][:-1]
        span = f"{group['first_pc']:#010x} to {group['last_pc']:#010x}"
        return f"{verb} in {group['instructions']} instructions, {span}"
    return (
        "have ended, and were last at"
        if several and group["does"] == "ended"
        else {"ended": "has ended, and was last at"}.get(group["does"], "never began")
    )


def loop_lines(spans: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of code of a loop."""
    for span in spans[:2]:
        first, last = min(span["texts"]), max(span["texts"])
        lines = f"{first}" if first == last else f"{first}-{last}"
        yield f"    {span['file']}:{lines} in {span['function']}"
        for number, text in list(span["texts"].items())[:4]:
            if text is not None:
                yield source_line(number, text, "    ")


def warps_text(warps: Iterable[list[int]]) -> str:
    """Return some warps by core, ``core 0, warps 0-6``."""
    cores: dict[int, list[int]] = {}
    for core, warp in warps:
        cores.setdefault(core, []).append(warp)
    parts = []
    for core, numbers in cores.items():
        plural = "s" if len(numbers) > 1 else ""
        parts.append(f"core {core}, warp{plural} {numbers_text(numbers)}")
    more = [f"and {len(parts) - SHOWN} cores more"] if len(parts) > SHOWN else []
    return "; ".join(parts[:SHOWN] + more)


def numbers_text(numbers: Iterable[int]) -> str:
    """Return rising numbers with runs of them drawn together, ``0-3, 7``."""
    return lane_text(mask_of(numbers)).partition(" ")[2]


def mask_of(numbers: Iterable[int]) -> int:
    """Return a mask with the bits of some numbers set."""
    return sum(1 << number for number in numbers)
