"""Configs of the parts of a core: each holds only the parameters that its part depends on."""

from collections.abc import Mapping

from ..config import PipelineConfig

__all__ = ["PART_FIELDS", "part_config"]

#: Fields that each part depends on, by class. A part that is not listed depends on all.
PART_FIELDS: Mapping[str, tuple[str, ...]] = {
    "FrontEnd": (
        *("warps", "issue_width", "instruction_buffer"),
        *("warp_operations", "awaits_units", "atomics", "transaction_barriers"),
    ),
    "Issue": (
        *("warps", "threads", "scheduler", "issue_width", "snoop", "writeback_buses"),
        *("integer_lanes", "fp32_lanes", "fma_latency", "atomics"),
    ),
    "Collectors": (
        *("warps", "threads", "issue_width", "bank_mapping", "collectors", "snoop"),
        *("writeback_buses", "atomics"),
    ),
    "Collector": ("warps", "threads", "bank_mapping", "snoop", "writeback_buses", "atomics"),
    "RegisterFile": (
        *("warps", "threads", "banks", "bank_mapping", "bank_arbiter", "collectors"),
        "writeback_buses",
    ),
    "Writeback": ("warps", "threads", "writeback_buses"),
    "WarpControl": (
        *("warps", "threads", "divergent_branch", "writeback_buses", "awaits_units"),
        "atomics",
    ),
    "CoreCounters": ("threads", "issue_width", "banks", "collectors", "writeback_buses"),
    "IntegerUnit": ("warps", "threads", "integer_lanes", "warp_operations", "multiply_latency"),
    "Fp32Unit": ("warps", "threads", "fp32_lanes", "fma_latency"),
    "DivideUnit": ("warps", "threads", "divide_lanes"),
    "SpecialUnit": ("warps", "threads", "special_lanes"),
    "LoadStoreUnit": ("warps", "threads", "memory_lanes", "accesses", "atomics"),
}

#: Fields that each part of a core with tensor instructions depends on: they decide its ports and
#: the fields of its instructions. The threads of a warp decide the registers of a fragment.
TENSOR_FIELDS = ("tensor", "threads")


def part_config(part: type, config: PipelineConfig) -> PipelineConfig:
    """Return the config of a part of a core: the defaults of all fields that are not its own.

    So the part is one shared block for all cores that differ in other fields only.
    """
    fields = PART_FIELDS.get(part.__name__)
    if fields is None:
        return config
    if config.tensor is not None:
        fields += TENSOR_FIELDS
    return PipelineConfig(**{name: getattr(config, name) for name in fields})
