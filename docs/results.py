"""Write the tables of results.md from the schema of results; ``make docs`` runs it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages
from pages import table

from spica.sim.report.result import ISSUE_SLOTS, result_schema
from spica.sim.report.utilization import ACTIVITIES

PAGE = Path(__file__).with_name("results.md")
#: Keys of a result by section of the page; the section has the name of a function below.
SECTIONS = {
    "verdict": ("schema", "schema_version", "status", "check", "failure"),
    "workload": (
        *("preset", "kernel", "program", "sizes", "engine", "driver", "seed", "options"),
        *("versions", "config"),
    ),
    "time": (
        *("cycles", "run_cycles", "flush_cycles", "region", "mac_utilization", "matrix_units"),
        *("issue_utilization", "lane_utilization", "instructions_per_cycle"),
        *("operations", "operations_per_instruction", "polling_share", "clocked_cycles", "speed"),
        *("prediction",),
    ),
    "cores": ("instructions", "cores", "profile", "source_profile", "console", "notes"),
    "energy": ("energy",),
    "memory": (
        *("memory", "counters", "shared_read_bytes", "load_latency", "cache_latency", "tiling"),
    ),
}


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the schema with its reference followed."""
    if "$ref" not in part:
        return part
    return result_schema()["$defs"][part["$ref"].rpartition("/")[2]] | part


def rows(path: str, part: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a key and of everything below it, up to shared definitions."""
    yield [f"`{path}`", kind(part), part.get("unit", ""), part["description"]]
    if isinstance(part.get("items"), dict):
        part, path = part["items"], f"{path}[]"
    elif isinstance(part.get("additionalProperties"), dict):
        part, path = part["additionalProperties"], f"{path}.<{part['names']}>"
    for name, value in part.get("properties", {}).items():
        yield from rows(f"{path}.{name}", value)


def kind(part: dict[str, Any]) -> str:
    """Return the type of a value in words."""
    for choice in part.get("anyOf", []):
        if "$ref" in choice:
            return f"{kind(choice)} or null"
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2].partition("_")[0]
        return f"[{name}](#{name})"
    types = [part["type"]] if isinstance(part["type"], str) else list(part["type"])
    if "enum" in part:
        choices = " or ".join(f"`{choice}`" for choice in part["enum"] if choice is not None)
        types = [choices, *(name for name in types if name == "null")]
    if "const" in part:
        types = [f"`{part['const']}`"]
    if "items" in part and "type" in part["items"]:
        types[0] = f"array of {part['items']['type']}s"
    elif "items" in part:
        types[0] = f"array of {kind(part['items'])}"
    if "names" in part:
        types[0] = f"{values_of(part)} by {part['names']}"
    return " or ".join(types)


def values_of(part: dict[str, Any]) -> str:
    """Return the type of the values of an object with any keys."""
    if part["additionalProperties"] is True:
        return "values"
    types = resolved(part["additionalProperties"])["type"]
    return f"{types}s" if isinstance(types, str) else " or ".join(types)


def section(name: str) -> str:
    """Return the table of a section."""
    properties = result_schema()["properties"]
    lines = (row for key in SECTIONS[name] for row in rows(key, properties[key]))
    return table(["key", "type", "unit", "meaning"], lines)


def verdict() -> str:
    """Return the table of verdict and failure."""
    return section("verdict")


def workload() -> str:
    """Return the table of what ran."""
    return section("workload")


def time() -> str:
    """Return the table of cycles and utilisation."""
    return section("time")


def cores() -> str:
    """Return the table of cores and instructions."""
    return section("cores")


def energy() -> str:
    """Return the table of energy."""
    return section("energy")


def memory() -> str:
    """Return the table of memory and units."""
    return section("memory")


def traffic() -> str:
    """Return the table of traffic in one period."""
    return definition("traffic")


def latency() -> str:
    """Return the table of latencies of one kind of access."""
    return definition("latency_by_core")


def definition(name: str) -> str:
    """Return the table of a shared definition."""
    properties = result_schema()["$defs"][name]["properties"]
    lines = (row for key, part in properties.items() for row in rows(key, part))
    return table(["key", "type", "unit", "meaning"], lines)


def outcomes() -> str:
    """Return the table of outcomes of an issue slot."""
    return table(["outcome", "meaning"], ([f"`{k}`", text] for k, text in ISSUE_SLOTS.items()))


def activities() -> str:
    """Return the table of activities of a matrix unit."""
    return table(["activity", "meaning"], ([f"`{k}`", m] for k, (_, m) in ACTIVITIES.items()))


def updated(text: str) -> str:
    """Return the page with the tables of now."""
    makers = (verdict, workload, time, cores, outcomes, activities)
    makers += (energy, memory, traffic, latency)
    return pages.updated(text, makers)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
