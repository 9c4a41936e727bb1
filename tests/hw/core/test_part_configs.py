"""Parts of a core are equal with their own fields and with all fields of the core."""

import dataclasses
import re

import pytest

from spica.hw.config import CoreBlockConfig, CoreConfig, PipelineConfig, ProgressConfig
from spica.hw.core.control.warp_control import WarpControl
from spica.hw.core.counters import CoreCounters
from spica.hw.core.front_end.front_end import FrontEnd
from spica.hw.core.issue.issue import Issue
from spica.hw.core.operands.collector import Collector
from spica.hw.core.operands.collector_pool import Collectors
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.core.operands.writeback import Writeback
from spica.hw.core.part_configs import PART_FIELDS, part_config
from spica.hw.core.units.execution_units import UNITS
from spica.hw.emit.amaranth_patches import patched_amaranth
from spica.hw.emit.emitter import Emitter
from spica.hw.emit.module_ports import signature_ports
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.register_fed.register_fed_unit import RegisterFedUnit

#: Cores in which no field has its default, but those of tensor instructions.
DISTINCT = {
    "warps": 4,
    "threads": 4,
    "divergent_branch": "vortex",
    "scheduler": "two_level",
    "issue_width": 2,
    "instruction_buffer": 2,
    "banks": 4,
    "bank_mapping": "thread",
    "bank_arbiter": "age",
    "collectors": 3,
    "snoop": False,
    "writeback_buses": 3,
    "integer_lanes": 2,
    "fp32_lanes": 1,
    "memory_lanes": 2,
    "special_lanes": 4,
    "divide_lanes": 2,
    "warp_operations": False,
    "multiply_latency": 2,
    "fma_latency": 3,
    "accesses": 8,
    "awaits_units": True,
    "atomics": True,
    "transaction_barriers": True,
}
#: A register of each kind for which warps wait.
PROGRESS = tuple(ProgressConfig(address=64 * k, is_counter=k > 0) for k in range(2))
CORES = {
    "distinct": CoreConfig(**DISTINCT),
    "snooping": CoreConfig(
        **DISTINCT
        | {
            "snoop": True,
            "bank_mapping": "warp",
            "threads": 2,
            "integer_lanes": 1,
            "memory_lanes": 1,
            "special_lanes": 1,
            "divide_lanes": 2,
            "warp_operations": True,
        }
    ),
    "tensor": CoreConfig(
        **DISTINCT
        | {"threads": 8}
        | {"tensor": RegisterFedConfig(numerics="nvidia(ampere)", operand="bf16")}
    ),
}


def whole_config(config: PipelineConfig) -> CoreBlockConfig:
    """Return the config of a core in a cluster."""
    return CoreBlockConfig(
        core=config, cores=2, barriers=4, barrier_scope="cluster", progress=PROGRESS
    )


PARTS = {
    "WarpControl": lambda config: WarpControl(whole_config(config)),
    "Writeback": lambda config: Writeback(config, len(config.ports)),
    **{kind.__name__: kind for kind in (CoreCounters, FrontEnd, Issue, Collector, Collectors)},
    **{
        kind.__name__: kind
        for kind in (RegisterFile, *UNITS.values())
        if kind is not RegisterFedUnit
    },
}


class Part:
    """Stands for a class that has only a name."""


def narrowed(name: str, config: PipelineConfig) -> PipelineConfig:
    """Return the config of the part of that name."""
    return part_config(type(name, (Part,), {}), config)


def text_of(name: str, config: PipelineConfig) -> list[str]:
    """Return the sorted texts of all modules of a part, without the hashes of their configs."""
    emitter, part = Emitter(), PARTS[name](config)
    with patched_amaranth():
        emitter.top = part
        top = emitter.convert(part, list(signature_ports(part, "_")), "top")
    texts = [top.text, *emitter.modules.values()]
    return sorted(re.sub(r"_[0-9a-f]{8}\b", "", text) for text in texts)


def test_every_listed_part_is_tested():
    assert PARTS.keys() == PART_FIELDS.keys()


def test_fields_differ_from_their_defaults():
    default = PipelineConfig()
    same = [
        field.name
        for field in dataclasses.fields(PipelineConfig)
        if getattr(CORES["distinct"], field.name) == getattr(default, field.name)
    ]
    assert same == ["tensor"]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.quick(1)
def test_part_is_the_same_with_its_own_fields(name, core):
    config = CORES[core]
    assert text_of(name, narrowed(name, config)) == text_of(name, config)


def test_the_front_end_depends_on_the_threads_of_tensor_instructions():
    """They decide the registers of a fragment."""
    assert "threads" not in PART_FIELDS["FrontEnd"]
    config = CoreConfig(**DISTINCT | {"threads": 32, "tensor": RegisterFedConfig()})
    assert text_of("FrontEnd", narrowed("FrontEnd", config)) == text_of("FrontEnd", config)


def test_other_parts_depend_on_all_fields():
    config = CORES["distinct"]
    assert narrowed("Unknown", config) is config
