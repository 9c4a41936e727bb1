"""Programs of attention, bit by bit against the golden models of their units."""

from dataclasses import replace

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.config.formats import FORMATS
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override
from spica.kernels.attention.problem import AttentionProblem
from spica.kernels.elements import nearest, values_of
from spica.kernels.gemm.target import product_unit
from spica.sim.analytic.attention import cluster_array, shared_fed
from spica.sim.run.exact_kernels import exact_attention_kernel
from support.gemm_runs import assert_right, run_product
from support.runs import is_found, planted

VIRGO, AMPERE, HOPPER = PRESETS["virgo"], PRESETS["ampere"], PRESETS["hopper"]
MACHINES = ("virgo_fp32", "virgo", "ampere_fp32", "ampere", "hopper")
#: Further machines.
OTHERS = {
    "virgo bf16": override(VIRGO, ["matrix.operand=bf16"]),
    "no DMA": PRESETS["volta"],
    "three cores": replace(AMPERE, cores=3, barrier_scope="core"),
    "four cores": replace(VIRGO, barrier_scope="core"),
    "ampere bf16": override(
        AMPERE, ["core.tensor_numerics=nvidia(ampere)", "core.tensor_operand=bf16"]
    ),
    "hopper bf16": override(
        HOPPER, ["core.tensor_numerics=nvidia(hopper)", "core.tensor_operand=bf16"]
    ),
    "hopper, five cores": replace(HOPPER, cores=5, barrier_scope="core"),
    "hopper, O in shared memory": override(HOPPER, ["core.warps=2"]),
}
CONFIGS = {name: PRESETS[name] for name in MACHINES} | OTHERS


def run(machine, queries, depth=64, **options):
    """Run attention on a machine by name and return its result."""
    return run_product(CONFIGS[machine], (queries, depth), name="attention", **options)


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("queries", [1, 63, 64, 65])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_lengths_around_a_block(machine, queries, depth):
    assert_right(run(machine, queries, depth))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("depth", [40, 80, 96])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick("*-40-False")
def test_depths_of_other_models(machine, depth, causal):
    """They are padded: sums get zeros, and the results of the padding are not compared."""
    result = run(machine, 70, depth, causal=causal, heads=2, kv_heads=1)
    assert_right(result)
    assert result["check"]["buffers"]["o"]["elements"] == 2 * 70 * depth


@pytest.mark.parametrize("data", ["large", "extreme"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.full
def test_special_values_with_padding(machine, data):
    result = run(machine, 20, 40, data=data)
    assert [result["check"]["buffers"][name]["mismatches"] for name in ("o", "lse")] == [0, 0]


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("queries, keys", [(9, 200), (150, 40)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_queries_and_keys_differ(machine, causal, queries, keys, depth):
    """With fewer keys than queries, the first rows of a causal mask see none."""
    result = run(machine, queries, depth, keys=keys, causal=causal)
    assert_right(result)


@pytest.mark.parametrize("data", ["large", "zeros"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_special_values(machine, data):
    """Large scores change the maxima often; FP16 keeps those that change little."""
    assert_right(run(machine, 70, keys=300, data=data))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_extreme_values_to_the_bit(machine):
    """Rounding errors of FP32 scores of 1e25 exceed the range of a power, also in the model."""
    result = run(machine, 70, keys=300, data="extreme")
    assert [result["check"]["buffers"][name]["mismatches"] for name in ("o", "lse")] == [0, 0]


def steps(form, *, value, score):
    """Return Q, K and V: scores of 0 in the first half of the keys, and higher ones in the other.

    V is `value` in the first column, and alternates in sign in the others.
    """
    q, k, v = np.zeros((1, 9, 64)), np.zeros((1, 192, 64)), np.full((1, 192, 64), value)
    q[..., 0], k[:, 96:, 0] = 8, score
    v[:, 1::2, 1:] *= -1
    return tuple(nearest(x, form) for x in (q, k, v))


@pytest.mark.parametrize(
    "value, score", [(200.0, 5.0), (6e4, 0.0), (6e4, 5.0), (65504.0, 3.4), (65504.0, 30.0)]
)
@pytest.mark.parametrize("machine", ["ampere", "no DMA", "hopper", "virgo"])
@pytest.mark.quick(1)
def test_weights_times_v_stay_in_range(machine, value, score):
    """Also of a block whose scores exceed the maximum of the block before by less than 2^8."""
    given = steps("fp16", value=value, score=score)
    result = run(machine, 9, keys=192, given=given)
    assert_right(result)
    o = result["check"]["buffers"]["o"]
    assert (o["left_range"], o["rounded_to_infinity"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["ampere", "hopper"])
def test_weights_times_v_stay_in_range_on_rtl(machine):
    given = steps("fp16", value=6e4, score=5.0)
    assert_right(run(machine, 9, keys=192, given=given, engine="verilator"))


@pytest.mark.parametrize("machine", ["ampere", "hopper"])
def test_scores_that_leave_the_range_fail(machine):
    """FP16 products of 300 and 300 are infinite; those of Q and K have no scale."""
    q, k, v = steps("fp16", value=1.0, score=300.0)
    q[..., 0] = 300
    verdict = run(machine, 9, keys=192, given=(q, k, v), scale=1e-3)["check"]
    assert verdict["verdict"] == "fail"
    assert verdict["buffers"]["o"]["mismatches"] == 0
    assert verdict["buffers"]["o"]["left_range"] == verdict["buffers"]["o"]["wrong"] == 9 * 64
    assert verdict["buffers"]["lse"]["left_range"] == 9


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.full
def test_grouped_heads(machine):
    assert_right(run(machine, 20, keys=70, batch=2, heads=4, kv_heads=2, causal=True))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.full
def test_several_tiles_of_queries(machine):
    """All warps together have 256 queries of `ampere_fp32`, and 384 of `ampere`."""
    assert_right(run(machine, 400, keys=33, causal=True))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_rows_without_keys(machine):
    """Queries that see no key have O = 0 and LSE = -infinity."""
    queries, keys, depth = 100, 30, 64
    config = CONFIGS[machine]
    kernel = exact_attention_kernel(config, keys=keys, causal=True)
    problem = kernel.problem({"queries": queries, "depth": depth}, seed=1)
    o, lse = (problem.buffers[name].bits for name in ("o", "lse"))
    blind = queries - keys
    assert not o[0, :blind].any()
    assert np.all(lse[0, :blind] == -np.inf)
    assert np.all(np.isfinite(lse[0, blind:]))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.full
def test_nan_stays_in_its_row(machine):
    config = CONFIGS[machine]
    rng = np.random.default_rng(5)
    form = product_unit(config).operand
    q, k, v = (nearest(rng.standard_normal((1, 40, 64)), form) for _ in range(3))
    q.view(f"u{q.itemsize}")[0, 13, 5] = FORMATS[form].nan
    result = run(machine, 40, given=(q, k, v))
    assert_right(result)
    problem = exact_attention_kernel(config, given=(q, k, v)).problem(
        {"queries": 40, "depth": 64}, seed=1
    )
    is_nan = np.isnan(values_of(problem.buffers["o"].bits[0], form))
    assert is_nan[13].all()
    assert is_nan.sum() == 64


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_maximum_of_rows_whose_first_scores_are_minus_infinity(machine):
    """Further scores, all far below 0, replace a maximum of -infinity."""
    rng = np.random.default_rng(6)
    form = product_unit(CONFIGS[machine]).operand
    q, k, v = (rng.standard_normal((1, length, 64)) for length in (20, 80, 80))
    q[..., 0], k[..., 0] = 1, -3000
    q, k, v = (nearest(x, form) for x in (q, k, v))
    k[:, :16, 0] = -np.inf
    assert_right(run(machine, 20, keys=80, given=(q, k, v)))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.full
def test_no_order_of_warps_does_harm(machine, seed):
    assert_right(run(machine, 300, keys=200, schedule="random", seed=seed))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.quick(1)
def test_no_races(machine):
    assert_right(run(machine, 80, keys=200, causal=True, check="races"))


@pytest.mark.parametrize("machine", ["virgo", "virgo_fp32"])
@pytest.mark.full
def test_overwriting_changes_only_the_output(machine):
    """The program that overwrites O has the golden model's O, and the LSE of the other."""
    results = [run(machine, 70, keys=200, overwrites=overwrites) for overwrites in (True, False)]
    for result in results:
        assert_right(result)
    config = CONFIGS[machine]
    bits = [
        exact_attention_kernel(config, keys=200, overwrites=overwrites)
        .problem({"queries": 70, "depth": 64}, seed=1)
        .buffers
        for overwrites in (True, False)
    ]
    assert (bits[0]["o"].bits != bits[1]["o"].bits).any()
    assert (bits[0]["lse"].bits == bits[1]["lse"].bits).all()


def test_only_matrix_units_overwrite():
    with pytest.raises(UserError, match="attention overwrites O only on a matrix unit"):
        run("ampere", 20, overwrites=True)


@pytest.mark.parametrize("machine", [pytest.param("virgo", marks=pytest.mark.slow), "virgo_fp32"])
@pytest.mark.full
def test_a_single_block_on_rtl(machine):
    """The first scores are the only ones: no later store may take their place in the wait."""
    assert_right(run(machine, 64, engine="verilator"))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "machine, queries, keys",
    [
        pytest.param("virgo", 130, 200, marks=pytest.mark.slow),
        ("virgo_fp32", 70, 40),
        pytest.param("hopper", 500, 700, marks=pytest.mark.slow),
    ],
)
@pytest.mark.full
def test_dram_traffic_is_that_in_closed_form(machine, queries, keys, causal):
    """Beats are those of the closed form; on a matrix unit LSE and the program are the rest."""
    config = CONFIGS[machine]
    result = run(
        machine, queries, keys=keys, causal=causal, heads=2, kv_heads=2, engine="verilator"
    )
    assert_right(result)
    problem = AttentionProblem(
        heads=2,
        kv_heads=2,
        queries=queries,
        keys=keys,
        depth=64,
        causal=causal,
        operand=product_unit(config).operand,
    )
    beat, counters = config.axi.beat_bytes, result["counters"]

    def total(name):
        return beat * sum(counters[f"{name}_{master}"] for master in range(config.axi.masters))

    style = shared_fed if machine == "hopper" else cluster_array
    expected = style.dma_traffic(config, problem)
    assert total("dma_read_beats") == expected.read
    assert total("dma_write_beats") == expected.written
    if machine == "hopper":
        return
    traffic = result["memory"]["traffic"]["run"]
    assert 0 < traffic["read_bytes"] - expected.read < 64 * 1024
    assert 0 <= traffic["written_bytes"] - expected.written < 16 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_long_sequence(machine, causal):
    assert_right(run(machine, 1000, causal=causal))


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_rtl_in_lockstep(machine):
    result = run(machine, 20, keys=100, causal=True, engine="verilator")
    assert_right(result)


@pytest.mark.slow
def test_a_core_that_is_busy_after_its_warps_is_no_deadlock():
    """All warps have ended, and a core is busy for more than 48 cycles without an instruction."""
    assert_right(run("hopper", 128, keys=320, engine="verilator"))


@pytest.mark.parametrize("machine", OTHERS)
@pytest.mark.quick(2)
def test_other_machines(machine):
    assert_right(run(machine, 70, keys=100, causal=True))


#: Machines, and statements of their programs, each with a fault that a result must show.
FAULTS = [
    ("virgo_fp32", "attention_softmax.h", "seen > 0", "seen >= 0"),
    ("virgo", "attention_softmax.h", "rest + i : rest", "rest : rest"),
    ("virgo", "attention_softmax.h", "attention_flags()[number & 1] = 1;", ""),
    ("virgo", "attention_softmax.h", "(raised[i] - 1) & 0xFF800000u", "0"),
    (
        "virgo_fp32",
        "attention_words.h",
        "ADD_(third, VIRGO_ACCUMULATE | VIRGO_SCALE_ROWS)",
        "ADD_(third, VIRGO_ACCUMULATE)",
    ),
    ("virgo_fp32", "attention_words.h", "ATTENTION_V##third##_PLACE", "ATTENTION_V0_PLACE"),
    (
        "virgo_fp32",
        "attention_softmax.h",
        "(phase >> 1) * POWER_BYTES",
        "(phase & 1) * POWER_BYTES",
    ),
    ("virgo", "kernel.c", "if (PER_LANE > 1 && state->key == 0)", "if (0)"),
    ("virgo_fp32", "kernel.c", "attention_await_loads();\n    spica", "spica"),
    ("virgo_fp32", "kernel.c", "spica_meet(0, SPICA_WARPS);\n    if (PER_LANE", "if (PER_LANE"),
    ("virgo_fp32", "kernel.c", "attention_await_scores(attention_warm(state->computes), 0);", ""),
    ("virgo", "attention_loads.h", "from += ROW_BYTES;", ""),
    ("virgo", "attention_loads.h", "ATTENTION_PLACE(next, K)", "ATTENTION_PLACE(phase, K)"),
    ("ampere_fp32", "attention_softmax.h", "is_hidden = q & 2 ?", "is_hidden = q & 4 ?"),
    ("ampere_fp32", "attention_softmax.h", "(uint32_t)room ^ 8", "(uint32_t)room ^ 4"),
    ("ampere_fp32", "attention_softmax.h", "fmul.s f4, f4, f6", "fmul.s f4, f4, f5"),
    ("ampere_fp32", "attention_tensor.h", "spica_meet(0, ATTENTION_WARPS);", ""),
    ("ampere_fp32", "attention_tensor.h", "at += group;", ""),
    ("ampere_fp32", "attention_copy.h", "if (key + i < keys)", "if (key + i <= keys)"),
    ("ampere", "attention_tensor.h", " | (factor.second != one)", ""),
    ("hopper", "attention_hgmma.h", "attention_seen(own + 1) - key", "attention_seen(own) - key"),
    ("hopper", "attention_hgmma.h", "sum.first = sum.second = 0;", ""),
    ("hopper", "attention_hgmma.h", "if (has_output) {", "if (0) {"),
    (
        "hopper",
        "attention_hgmma.h",
        "new.second) & -is_above.second",
        "new.second) & -is_above.first",
    ),
    ("hopper", "attention_hgmma.h", "spica_tile_await(loads);", ""),
    ("hopper", "attention_loads.h", "spica_meet(number, 2);", ""),
    ("hopper", "attention_loads.h", "number < WARPS; number++", "number < 1; number++"),
    ("hopper", "attention_tiles.h", "spica_hgmma_wait();", ""),
    ("hopper", "attention_softmax.h", "ATTENTION_LOADED(ATTENTION_LIMIT)", "0x43800000"),
    ("hopper", "attention_softmax.h", '"i"(ATTENTION_BIAS)', '"i"(0)'),
    ("ampere", "attention_softmax.h", '"i"(ATTENTION_BIAS)', '"i"(0)'),
    ("ampere", "attention_softmax.h", '"r"(ATTENTION_LAG)', '"r"(0x41000000)'),
    ("ampere", "attention_finish.h", "if (ATTENTION_BIAS)", "if (0)"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[2])
@pytest.mark.quick(1)
def test_faults_are_detected(fault, tmp_path):
    machine, name, old, new = fault
    config = CONFIGS[machine]
    kernel = exact_attention_kernel(config, keys=164, causal=True, data="large")
    broken = planted(kernel, tmp_path, (name, old, new))
    options = {"schedule": "random", "check": "races", "seed": 2}
    assert is_found(broken, (120, 64), config, max_instructions=50_000_000, **options)
