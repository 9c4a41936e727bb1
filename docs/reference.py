"""Writer of the tables in machine.md, from the definitions in `spica.hw`; run by ``make docs``."""

from pathlib import Path

import pages
from pages import table

from spica.hw.isa import memory_map as address_map
from spica.hw.machine.counters import counter_table
from spica.hw.machine.fields import field_names
from spica.hw.machine.register_blocks import register_blocks
from spica.hw.presets import PRESETS
from spica.hw.presets.ends import range_of, value_of
from spica.sim.golden.memory.shared.conflict_rules import RULES, SUBBANKS, described
from spica.sim.golden.memory.shared.request_patterns import PATTERNS, PORTS

PAGE = Path(__file__).with_name("machine.md")
CONFIG = PRESETS["matrix"]


def value_text(config, name: str) -> str:
    """Return the value of a dotted config field as text."""
    value = value_of(config, name)
    return "none" if value is None else str(value)


def range_text(name: str) -> str:
    """Return the range of a dotted field of a machine with all parts; "" for own rules."""
    values = range_of(PRESETS["virgo_hetero"], name)
    return "" if values is None else values.text


def presets() -> str:
    """Return the table of presets."""
    configs = [config.resolved for config in PRESETS.values()]
    rows = (
        [f"`{name}`", range_text(name), *(value_text(config, name) for config in configs)]
        for name in field_names(PRESETS["virgo_hetero"])
    )
    return table(["field", "range", *(f"`{preset}`" for preset in PRESETS)], rows)


def memory() -> str:
    """Return the table of address ranges."""
    shared_end = address_map.SHARED_BASE + CONFIG.shared.size
    rows = (
        ("DRAM", address_map.DRAM_BASE, address_map.DRAM_END),
        ("shared memory", address_map.SHARED_BASE, shared_end),
    )
    return table(
        ["range", "first address", "end (exclusive)"],
        ([name, f"`{first:#010x}`", f"`{end:#010x}`"] for name, first, end in rows),
    )


def core_memory() -> str:
    """Return the table of the address map of cores, for `virgo`."""
    config = PRESETS["virgo"]
    window = address_map.SHARED_BASE + config.shared.size
    dump = f"{address_map.COUNTER_DUMP_BYTES:#x}"
    rows = (
        (address_map.ENTRY, "entry point of every core"),
        (address_map.ARGUMENTS, "kernel arguments"),
        (
            address_map.STACK_TOP,
            f"top of the stacks, which grow down; {address_map.STACK_BYTES} bytes per thread "
            "unless `--stack-bytes` changes it",
        ),
        (address_map.SHARED_BASE, "shared memory"),
        (window, f"print buffers, {address_map.PRINT_BYTES:#x} bytes per core"),
        (window + address_map.DMA_BASE, "DMA registers"),
        (window + address_map.MATRIX_BASE, "matrix unit registers"),
        (
            address_map.CONSOLE_BASE,
            f"console, {address_map.CONSOLE_LANES} addresses: prints each byte stored here",
        ),
        (address_map.COUNTER_DUMP, f"counters at the end of a program, {dump} bytes per core"),
    )
    return table(["address", "contents"], ([f"`{address:#010x}`", what] for address, what in rows))


def registers() -> str:
    """Return the table of registers of `virgo`."""
    rows = (
        [f"`{base + register.offset:#06x}`", f"{block}.{name}", register.access, register.meaning]
        for block, base, block_registers in register_blocks(PRESETS["virgo"])
        for name, register in block_registers.items()
    )
    return table(["address", "register", "access", "meaning"], rows)


def counters() -> str:
    """Return the table of counters of `matrix`."""
    rows = ([f"`{row.address:#06x}`", row.name, row.meaning] for row in counter_table(CONFIG))
    return table(["address", "counter", "meaning"], rows)


def cache_counters() -> str:
    """Return the table of cache counters of `virgo`."""
    rows = (row for row in counter_table(PRESETS["virgo"]) if row.unit in ("l1i", "l1d", "l2"))
    return table(
        ["address", "counter", "meaning"],
        ([f"`{row.address:#06x}`", row.name, row.meaning] for row in rows),
    )


def conflict_rules() -> str:
    """Return the table of the conflict rules of shared memory."""
    rows = ([rule.name, *map(described, rule.expected)] for rule in RULES)
    return table(["requests", *(f"{count} subbanks" for count in SUBBANKS)], rows)


def request_patterns() -> str:
    """Return the table of a request's cycles by pattern."""
    rows = (
        [pattern.name, "row" if pattern.is_row else "narrow", *map(str, pattern.cycles)]
        for pattern in PATTERNS
    )
    return table(["eight lanes access", "port", *(f"{n} narrow ports" for n in PORTS)], rows)


def updated(text: str) -> str:
    """Return the page with every table rebuilt from the definitions."""
    sections = (presets, memory, core_memory, registers, counters, cache_counters)
    sections += (conflict_rules, request_patterns)
    return pages.updated(text, sections)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
