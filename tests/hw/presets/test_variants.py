"""Tests of dotted names: those of all fields of all machines, and those of tensor units."""

import pytest

from spica.hw.machine.fields import field_names, plain_config
from spica.hw.machine.variants import tensor_of_result
from spica.hw.presets import PRESETS
from spica.hw.presets.ends import end_values, range_of, value_of
from spica.hw.presets.override import override
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.registry import TENSOR_STYLES
from spica.hw.styles.shared_fed.config import SharedFedConfig

CACHE = "size ways line_bytes mshrs prefetch"
UNIT = (
    "operand rows columns dataflow multiply_add_latency add_latency accumulator_bytes read_scale "
    "row_scale load_d tile cisc_map"
)
#: Names of users' scripts and of stored results, by part.
NAMES = {
    "": "clusters cores core barriers barrier_scope matrix dma",
    "shared": "size banks subbanks read_latency narrow_ports",
    "matrix": UNIT,
    "matrix1": UNIT,
    "dma": "queue contexts outstanding",
    "axi": "masters data_width id_width interleave_bytes",
    "l2": f"{CACHE} write_backs early_write_backs no_allocate_sources",
    "core": "warps threads divergent_branch tensor tensor_numerics tensor_operand tensor_layout "
    "tensor_queue scheduler issue_width instruction_buffer banks bank_mapping bank_arbiter "
    "collectors snoop writeback_buses integer_lanes fp32_lanes memory_lanes special_lanes "
    "divide_lanes warp_operations multiply_latency fma_latency accesses atomics "
    "transaction_barriers transactions shared_ports row_port",
    "core.l1i": CACHE,
    "core.l1d": CACHE,
}
#: Names of the tensor units.
KINDS = [kind.name for kind in TENSOR_STYLES]
CORE, AMPERE, HOPPER = (PRESETS[name] for name in ("core", "ampere", "hopper"))


def test_names_of_all_machines_stay_as_they_are():
    known = {f"{part}.{name}".strip(".") for part, names in NAMES.items() for name in names.split()}
    assert {name for config in PRESETS.values() for name in field_names(config)} == known


@pytest.mark.parametrize("preset", PRESETS)
def test_every_name_can_be_set_to_its_value(preset):
    config = PRESETS[preset]
    for name in field_names(config):
        value = value_of(config, name)
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        assert override(config, [f"{name}={text or 'none'}"]) == config, name


@pytest.mark.parametrize("kind", TENSOR_STYLES, ids=lambda kind: kind.name)
def test_a_kind_has_its_own_defaults(kind):
    assert override(CORE, [f"core.tensor={kind.name}"]).tensor == kind()


def test_a_tensor_unit_is_one_kind_with_its_fields():
    hopper = override(CORE, ["core.tensor=hgmma", "core.tensor_layout=swizzle128"])
    assert hopper.tensor == SharedFedConfig(layout="swizzle128")
    fields = ["core.tensor=hmma", "core.tensor_numerics=fp32_rne", "core.tensor_operand=fp32"]
    fp32 = override(CORE, fields)
    assert fp32.tensor == RegisterFedConfig(numerics="fp32_rne", operand="fp32")
    assert override(fp32, ["core.tensor=hgmma"]).tensor == SharedFedConfig(
        numerics="fp32_rne", operand="fp32"
    )
    assert override(hopper, ["core.tensor=none", "core.tensor_layout=dense"]) == CORE
    assert override(AMPERE, ["core.threads=32"]).tensor == RegisterFedConfig(threads=32)


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (CORE, "core.tensor_operand=bf16", f"applies to tensor {' or '.join(KINDS)}; "),
        (AMPERE, "core.tensor_queue=2", "core.tensor_queue applies to tensor hgmma; without it, "),
        (AMPERE, "core.tensor_layout=swizzle128", "tensor_layout must be dense, not 'swizzle128'"),
        (HOPPER, "core.tensor_queue=9", "core.tensor_queue must be between 1 and 8, not 9"),
        (HOPPER, "core.tensor_operand=fp32", "core.tensor_operand of tensor instructions with "),
        (HOPPER, "core.threads=16", "core.threads must be 8 with hgmma, not 16"),
        (CORE, "core.tensor=wgmma", f"core.tensor must be one of {', '.join(KINDS)}, not 'wgmma'"),
        (CORE, "core.tensor_numerics=fp", "core.tensor_numerics must be one of virgo_hmma, "),
        (CORE, "core.tensor_threads=8", "unknown field 'core.tensor_threads'"),
    ],
)
def test_errors_name_the_setting(config, settings, message):
    with pytest.raises(ValueError) as caught:
        override(config, settings.split())
    assert message in str(caught.value)


def test_ranges_are_those_of_the_kinds():
    assert range_of(HOPPER, "core.tensor_queue").values == (1, 2, 3, 4, 5, 6, 7, 8)
    assert end_values(HOPPER, "core.tensor_queue") == [1, 8]
    assert end_values(AMPERE, "core.tensor_queue") == [4]
    assert end_values(CORE, "core.tensor") == [None, *KINDS]


def test_results_hold_the_names_of_settings():
    for config in (AMPERE, HOPPER):
        core = plain_config(config)["core"]
        assert core["tensor"] == config.tensor.name
        assert core["tensor_operand"] == "fp16"
        assert tensor_of_result(core) == config.tensor
