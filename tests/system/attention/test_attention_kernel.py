"""Tests of kernel `attention` around its programs: problem, check, command line and Python."""

import json

import ml_dtypes
import numpy as np
import pytest

from spica import Machine
from spica.base.errors import MachineError, UserError
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override
from spica.kernels.attention.cores import pose
from spica.kernels.attention.register_fed.plan import attention_plan
from spica.sim.report.result import result_schema
from spica.sim.run.exact_kernels import exact_attention_kernel
from support import fake_attention
from support.command_line import message_of, run_spica

RUN = "run attention --engine iss --preset virgo_fp32 --data zeros"


@pytest.fixture
def fake(monkeypatch):
    fake_attention.install(monkeypatch)


def machine():
    """Return a machine for FP32 on the instruction-set model."""
    return Machine("virgo_fp32", engine="iss", progress=False)


def test_the_problem_has_the_arguments_of_the_header():
    config, rng = PRESETS["ampere"], np.random.default_rng(1)
    sizes = {"queries": 3, "keys": 4, "depth": 128, "heads": 6, "kv_heads": 2, "batch": 2}
    problem, attention = pose(config, rng, causal=True, scale=0.5, **sizes)
    scale = float(np.float32(0.5 / np.log(2)))
    assert problem.arguments == ("q", "k", "v", "o", "lse", 12, 3, 3, 4, 1, scale)
    assert problem.defines == (
        "ATTENTION_DEPTH=128",
        *attention_plan(config, 128).defines,
        *("ATTENTION_BIAS=0x41000000", "ATTENTION_LAG=0x40a00000", "ATTENTION_LIMIT=0x3f000000"),
    )
    assert (problem.macs, problem.tensor_macs) == ((), attention.needed_macs)
    assert {name: buffer.data.dtype for name, buffer in problem.buffers.items()} == {
        **dict.fromkeys("qkvo", np.float16),
        "lse": np.float32,
    }
    # Results that a program does not write are NaN.
    for name in ("o", "lse"):
        assert np.isnan(problem.buffers[name].data).all()
        assert problem.buffers[name].data.shape == attention.shapes[name]
    on_matrix, attention = pose(PRESETS["virgo"], rng, causal=True, **sizes)
    assert (on_matrix.macs, on_matrix.tensor_macs) == ((attention.needed_macs,), 0)
    assert attention.needed_macs < attention.macs


def test_bf16_is_held_as_bits():
    config = override(PRESETS["virgo"], ["matrix.operand=bf16"])
    problem, _ = pose(config, np.random.default_rng(1), queries=3, depth=64)
    assert problem.buffers["o"].form == "bf16"
    assert problem.buffers["o"].data.dtype == np.uint16
    assert set(problem.formats.values()) == {"bf16", "fp32"}


@pytest.mark.parametrize("causal", [False, True])
def test_both_results_are_checked_to_the_bit(fake, tmp_path, causal):
    result = tmp_path / "result.json"
    sizes = "--size 3x64 --keys 1 --heads 4 --kv-heads 2 --batch 2"
    mask = "--causal" if causal else ""
    assert run_spica(f"{RUN} {sizes} {mask} --scale 0.25 --json {result}") == 0
    stored = json.loads(result.read_text())
    assert stored["sizes"] == {
        **{"queries": 3, "depth": 64, "keys": 1, "heads": 4, "kv_heads": 2, "batch": 2}
    }
    options = stored["options"]
    assert (options["causal"], options["scale"], options["data"]) == (causal, 0.25, "zeros")
    assert stored["operations"] == 4 * 64 * 8 * (1 if causal else 3)
    for name, count in (("o", 8 * 3 * 64), ("lse", 8 * 3)):
        check = stored["check"]["buffers"][name]
        assert (check["elements"], check["mismatches"], check["outside_bound"]) == (count, 0, 0)
    assert stored["check"]["buffers"]["q"]["mismatches"] == 0


def test_other_depths_are_other_programs(fake):
    for depth in (128, 64, 128):
        v = np.arange(depth, dtype=np.float32)[None]
        zero = np.zeros((1, depth))
        assert np.array_equal(machine().attention(zero, zero, v).o, v)


@pytest.mark.parametrize("depth", [1, 40, 80])
def test_other_depths_are_padded_in_dram_only(fake, tmp_path, depth):
    v = np.arange(2.0, depth + 2, dtype=np.float32)[None]
    zero = np.zeros((3, depth))
    used = machine()
    o, lse = used.attention(zero, zero[:1], v)
    assert np.array_equal(o, np.repeat(v, 3, axis=0)) and not lse.any()
    assert used.last is not None
    assert used.last.result["sizes"]["depth"] == depth
    assert used.last.result["operations"] == 4 * depth * 3
    assert used.last.result["options"]["scale"] == 1 / np.sqrt(depth)
    assert used.last.result["check"]["buffers"]["o"]["elements"] == 3 * depth
    file = tmp_path / "o.npy"
    size = f"--size 2x{depth} --keys 1 --dump o={file}"
    assert run_spica(f"{RUN} {size}") == 0
    assert np.load(file).shape == (1, 2, depth)


def test_a_result_that_is_not_the_golden_one_fails(monkeypatch):
    def other(*arguments):
        o, lse = fake_attention.golden(*arguments)
        o = np.nextafter(o, np.float32(np.inf))
        return o, lse

    fake_attention.install(monkeypatch, other)
    assert run_spica(f"{RUN} --size 2x64 --keys 1") == 1
    zero = np.zeros((2, 64))
    with pytest.raises(MachineError, match="attention failed its check"):
        machine().attention(zero, zero[:1], zero[:1] + 1)


def test_a_program_that_fails_is_no_pass(fake):
    assert run_spica(f"{RUN} --size 2x64 --keys 2") == 1


def test_the_report_names_scale_and_mask(fake, capsys):
    assert run_spica(f"{RUN} --size 2x64 --keys 1 --causal") == 0
    report = " ".join(capsys.readouterr().out.split())
    assert "attention queries=2 depth=64 keys=1 on virgo_fp32" in report
    assert "zeros data; scale 0.125, causal mask" in report


def test_results_have_mask_and_scale():
    options = result_schema()["properties"]["options"]
    assert {"causal", "scale"} <= set(options["required"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--size 64x129", "attention 64 x 129: depth must be between 1 and 128, not 129"),
        ("--size 4x4x4", "--size must have one number or 2, queriesxdepth, not 4x4x4"),
        ("-m 4", "-m must be a dimension of the kernel, which has queries and depth"),
        ("--heads 0", "--heads must be at least 1, not 0"),
        ("--kv-heads -1", "--kv-heads must be at least 1, not -1"),
        ("--heads 4 --kv-heads 3", "kv_heads must divide heads, 4, not 3"),
        ("--scale 0", "scale must be above 0, not 0.0"),
        ("--data integers", "unknown --data 'integers'; choose one of random, large, zeros"),
        ("--c fp32", "--c does not apply to attention on engine iss; leave it out"),
        ("--driver host", "attention needs --driver cores: the host cannot compute a softmax"),
        ("--preset matrix", "attention needs cores and a matrix unit, and matrix has no cores"),
        ("--preset core", "attention needs cores and a matrix unit, and core has no matrix"),
        ("--preset hopper", "attention has no program for shared_fed units; choose a machine with"),
        ("--set matrix.operand=int8", "operands of attention must be fp16 or bf16 or fp32, no"),
    ],
)
def test_impossible_runs_are_refused(fake, capsys, arguments, sentence):
    own = RUN.removesuffix(" --data zeros")
    own = own.removesuffix(" --preset virgo_fp32") if "--preset" in arguments else own
    assert sentence in message_of(capsys, f"{own} {arguments}")


@pytest.mark.parametrize("kernel", ["gemm", "gemm_bias", "sgemm"])
def test_options_of_attention_apply_to_it_alone(capsys, kernel):
    for option in ("--heads 2", "--keys 3", "--causal", "--scale 2"):
        sentence = f"{option.split()[0]} does not apply to {kernel}"
        assert sentence in message_of(capsys, f"run {kernel} {option}")
    sentence = "--batch does not apply to gemm driven by a host"
    assert sentence in message_of(capsys, "run gemm --driver host --batch 2")


def test_a_machine_without_a_unit_is_refused():
    with pytest.raises(UserError, match="attention needs a matrix unit; this machine has none"):
        exact_attention_kernel(PRESETS["core"])


# -- Python


@pytest.mark.parametrize("leading", [(), (4,), (3, 4)])
def test_arrays_keep_their_shape_and_heads_their_group(fake, leading):
    rng = np.random.default_rng(1)
    kv_leading = (*leading[:-1], 2) if leading else ()
    q = np.zeros((*leading, 5, 64))
    k = rng.standard_normal((*kv_leading, 1, 64))
    v = rng.standard_normal((*kv_leading, 1, 64)).astype(ml_dtypes.bfloat16)
    result = machine().attention(q, k, v)
    group = 2 if leading else 1
    expected = np.repeat(v, group, axis=-3) if leading else v
    assert result.o.dtype == result.lse.dtype == np.float32
    assert result.o.shape == q.shape and result.lse.shape == q.shape[:-1]
    assert np.array_equal(result.o, np.broadcast_to(expected.astype(np.float32), q.shape))
    assert not result.lse.any()


def test_a_causal_query_that_sees_no_key_is_zero(fake):
    zero = np.zeros((3, 64))
    o, lse = machine().attention(zero, zero[:1], zero[:1] + 2, causal=True)
    assert not o[:2].any() and (o[2] == 2).all()
    assert np.isneginf(lse[:2]).all() and lse[2] == 0


def test_measurements_of_attention_are_the_last_run(fake):
    used, zero = machine(), np.zeros((2, 64))
    used.attention(zero, zero[:1], zero[:1], scale=0.5)
    assert used.last is not None
    assert used.last.result["kernel"] == "attention"
    assert used.last.result["options"]["scale"] == 0.5
    assert used.last.result["options"]["data"] == "given"


def shaped(*shape):
    """Return zeros."""
    return np.zeros(shape)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ((shaped(64), shaped(2, 64), shaped(2, 64)), "q must be a matrix of numbers with at least"),
        ((shaped(2, 64), shaped(1, 2, 64), shaped(1, 2, 64)), "must all have 2, 3 or 4 dimensions"),
        ((shaped(1, 1, 1, 2, 64),) * 3, "q, k and v must all have 2, 3 or 4 dimensions, and q has"),
        ((shaped(2, 64), shaped(3, 64), shaped(2, 64)), "k and v must have one shape, not (3, 64)"),
        ((shaped(2, 64), shaped(2, 128), shaped(2, 128)), "as many columns, not 64 and 128"),
        ((shaped(2, 130),) * 3, "depth must be between 1 and 128, not 130"),
        (
            (shaped(4, 2, 64), shaped(3, 2, 64), shaped(3, 2, 64)),
            "the heads of k must divide those of q, 4, not 3",
        ),
        (
            (shaped(2, 1, 2, 64), shaped(1, 1, 2, 64), shaped(1, 1, 2, 64)),
            "q and k must have the same batch, not 2 and 1",
        ),
        ((np.array([["a"]]), shaped(2, 64), shaped(2, 64)), "q must be an array of numbers, not"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(fake, arrays, sentence):
    with pytest.raises(UserError) as refusal:
        machine().attention(*arrays)
    assert sentence in str(refusal.value)


def test_scale_and_driver_are_checked(fake):
    zero = np.zeros((1, 64))
    with pytest.raises(UserError, match="scale must be above 0, not -1"):
        machine().attention(zero, zero, zero, scale=-1)
    with pytest.raises(UserError, match="attention needs driver cores: cores compute the softmax"):
        Machine("virgo", driver="host", progress=False).attention(zero, zero, zero)
    with pytest.raises(UserError, match="attention needs a matrix unit; this machine has none"):
        Machine("core", engine="iss", progress=False).attention(zero, zero, zero)
