"""Blocks of a cluster keep module name and text if a config field changes that is not their own."""

import dataclasses
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache

import pytest
from amaranth import Module
from amaranth.hdl import Fragment

from spica.hw.config import PipelineConfig
from spica.hw.emit.amaranth_patches import patched_amaranth
from spica.hw.emit.emitter import Emitter
from spica.hw.emit.shared_block import EmissionPlatform, SharedBlock, module_name
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS
from spica.hw.styles.register_fed.config import RegisterFedConfig
from support.cluster.config_changes import changed, field_paths

#: Fields that set the widths of the AXI ids of a core, and those of a slice's requesters.
CORE_IDS = {"core.l1?.mshrs"}
REQUESTER_IDS = CORE_IDS | {"cores", "dma"}
#: Fields of matrix units that set the sizes of their ports.
DRAINS = {"units", "*.columns"}
OPERANDS = {"*.rows", "*.operand"}
#: Fields that set the number of ports of shared memory, their sizes, and the number of lanes. With
#: several clusters each has a port for the others.
SHARED_PORTS = {
    *("axi.masters", "axi.data_width", "cores", "core.threads", "core.memory_lanes"),
    *("core.shared_ports", "core.row_port", "shared.narrow_ports", "dma", *DRAINS, *OPERANDS),
    "clusters",
}
PIPELINE = {
    *(
        f"core.{field.name}"
        for field in dataclasses.fields(PipelineConfig)
        # RTL has no atomics and no transaction barriers yet.
        if not field.name.startswith(("tensor", "atomics", "transaction_barriers"))
        and "bound" not in field.metadata
    ),
    "core.tensor*",
}

#: Fields that each block may depend on, by class, and by number if the class has several configs.
OWN = {
    "Dma": {
        *("dma.*", "axi.*", "shared.size", "shared.read_latency", "units.*.load_d", *DRAINS),
    },
    "SharedMemory": {"shared.*", *SHARED_PORTS},
    "SystolicUnit": {"units.0.*", "shared.size", "shared.read_latency"},
    "SystolicUnit 1": {"units.1.*", "shared.size", "shared.read_latency"},
    "MemoryUnit": {
        *("core.warps", "core.threads", "core.instruction_buffer", "core.memory_lanes"),
        *("core.accesses", "core.transactions", "core.shared_ports", "core.l1i.*", "core.l1d.*"),
        *("cores", "units", "axi.*", "shared.size", "shared.read_latency"),
        *("clusters", "core.row_port", "dma"),
    },
    # Addresses of the registers for which warps wait.
    "Core": {
        *(*PIPELINE, "clusters", "cores", "barriers", "barrier_scope"),
        *("dma", "units", "shared.size"),
    },
    "Control": SHARED_PORTS,
    "RunControl": {"clusters", "cores", "core.warps", "core.threads", "axi.masters"},
    "UnitRegisterBus": {"cores", "units"},
    "SleepCounter": {"cores"},
    "Arbiter": {"cores"},
    "AxiMux": {"axi.data_width", *REQUESTER_IDS},
    "L2Slice": {"clusters", "l2.*", "axi.masters", "axi.data_width", *REQUESTER_IDS},
}

#: Fields besides, in a machine whose tensor units read shared memory.
READERS = {
    "Core": {"shared.size", "shared.read_latency"},
}

#: Fields without another legal value, the others unchanged.
FIXED = {
    "clusters": "one without cores",
    "cores": "no cores without their config",
    "core": "no config of cores without cores",
    "units": "no matrix units without a DMA",
    "core.atomics": "only in the instruction-set model",
    "core.transaction_barriers": "only in the instruction-set model",
    "core.awaits_units": "set by the cluster",
    "shared.atomics": "set by the cluster",
    "core.tensor": "for warps of 8 or 32 threads only",
    "core.threads": "8 only for tensor units that read shared memory",
    "core.tensor.operand": "one format with the default numerics",
    "core.tensor.threads": "those of the core",
    "core.l1d.prefetch": "data is not prefetched",
    "axi.data_width": "largest that a line of shared memory holds, smallest that holds results",
    "axi.interleave_bytes": "equal to `l2.line_bytes` with cores",
    "l2.line_bytes": "equal to `axi.interleave_bytes` with cores",
}

#: The presets, a cluster without a DMA, and one whose core has a tensor unit.
TINY = PRESETS["tiny"]
TENSOR = RegisterFedConfig(numerics="nvidia(ampere)")
MACHINES = PRESETS | {
    "tiny_without_dma": dataclasses.replace(TINY, units=(), dma=None),
    "tiny_tensor": dataclasses.replace(
        TINY,
        core=dataclasses.replace(TINY.core, threads=8, tensor=TENSOR),
        shared=dataclasses.replace(TINY.shared, subbanks=16),
    ),
}
LARGE = ("core", "virgo", "virgo_fp32", "virgo_hetero", "ampere", "ampere_fp32", "volta", "hopper")
WITH_SLOW_LARGE = [
    pytest.param(preset, marks=pytest.mark.slow) if preset in LARGE else preset
    for preset in MACHINES
]


class Recorder(EmissionPlatform):
    """Platform that records the blocks of a top, without building them."""

    simulated = False

    def __init__(self):
        self.blocks: dict[str, SharedBlock] = {}
        self.numbers: Counter[str] = Counter()

    def instance(self, block: SharedBlock):
        """Record `block`, numbered if its class has several configs."""
        if module_name(block) not in map(module_name, self.blocks.values()):
            kind = type(block).__name__
            self.blocks[f"{kind} {self.numbers[kind]}" if self.numbers[kind] else kind] = block
            self.numbers[kind] += 1
        return Module()

    def macro(self, shape):
        """Keep memories."""


def blocks_of(config) -> dict[str, SharedBlock]:
    """Return the blocks of a cluster."""
    recorder = Recorder()
    Fragment.get(Machine(config), recorder)
    return recorder.blocks


def owns(block: str, path: str) -> bool:
    """Return whether a block may depend on a field."""
    return any(fnmatchcase(path, pattern) for pattern in OWN[block])


def text_of(block: SharedBlock) -> dict[str, str]:
    """Return the text of each module of a block."""
    emitter = Emitter()
    with patched_amaranth():
        emitter.instance(block)
    return emitter.modules


def reads_shared_memory(preset: str) -> bool:
    """Return whether the tensor units of a preset read shared memory."""
    core = MACHINES[preset].core
    return core is not None and bool(core.tensor_reads)


@cache
def renamed_blocks(preset: str) -> dict[str, set[str]]:
    """Return the blocks whose module name changes with a field, for each field of a preset."""
    before, renamed = blocks_of(MACHINES[preset]), {}
    for path in field_paths(MACHINES[preset]):
        other = changed(MACHINES[preset], path)
        if other is None:
            assert path in FIXED
            continue
        after = blocks_of(other)
        renamed[path] = {
            name
            for name, block in before.items()
            if name not in after or module_name(after[name]) != module_name(block)
        }
    return renamed


def foreign_fields(block: str, preset: str) -> list[str]:
    """Return the fields of a preset that are not a block's own."""
    return [path for path in field_paths(MACHINES[preset]) if not owns(block, path)]


@pytest.mark.parametrize("preset", WITH_SLOW_LARGE)
@pytest.mark.full
def test_names_change_with_own_fields_only(preset):
    foreign = [
        (path, block)
        for path, blocks in renamed_blocks(preset).items()
        for block in blocks
        if not owns(block, path)
        and not (reads_shared_memory(preset) and path in READERS.get(block, ()))
    ]
    assert not foreign


@pytest.mark.full
def test_every_block_is_listed():
    assert set().union(*(blocks_of(config) for config in PRESETS.values())) == OWN.keys()


@pytest.mark.full
def test_every_own_field_matters():
    """No pattern of `OWN` is wider than the block: some field it matches renames the block."""
    presets = ("tiny", "tiny_hetero", "tiny_without_dma", "tiny_tensor")
    renamed_by_field = [item for preset in presets for item in renamed_blocks(preset).items()]
    idle = [
        (block, pattern)
        for block, patterns in OWN.items()
        for pattern in patterns
        if not any(
            fnmatchcase(path, pattern) and block in renamed for path, renamed in renamed_by_field
        )
    ]
    assert not idle


@pytest.mark.parametrize("block", OWN)
@pytest.mark.quick(1)
def test_text_is_independent_of_all_other_fields(block):
    preset = "tiny_hetero" if block[-1].isdigit() else "tiny"
    config, fields = PRESETS[preset], foreign_fields(block, preset)
    other = config
    for path in fields:
        other = changed(other, path) or other
    before, after = blocks_of(config)[block], blocks_of(other)[block]
    assert before is not after
    assert text_of(before) == text_of(after)
