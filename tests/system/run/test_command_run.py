"""Tests of kernel runs, cycle accounting and report, on a machine without a clock."""

import json

import numpy as np
import pytest

from spica.hw.base.errors import UserError
from spica.hw.cluster.counters import counter_table
from spica.hw.config import PRESETS
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.harness.dram import ChannelStatistics
from spica.sim.iss.cluster_model import ClusterModel
from spica.sim.machine.command_machine import Execution
from spica.sim.report.cycle_account import account, report
from spica.sim.run import command_run as run_module
from spica.sim.run.command_run import RunOptions, run_kernel

ELAPSED = 1200


class ModelMachine:
    """Replaces `Machine`: the functional model, with a made-up clock and counters."""

    wrong = False

    def __init__(self, config, **_):
        self.config = config
        self.image = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, address, array):
        self.image.append((address, array))

    def read(self, address, nbytes):
        return self.model.region(address, nbytes)

    def execute(self, commands, max_cycles=0):
        self.model = ClusterModel(self.config, self.image, seed=1)
        reads = np.array(self.model.run(commands), dtype=np.uint32)
        if self.wrong:
            address, guarded = self.image[2]
            region = self.model.region(address, len(guarded))
            region[0] ^= 1
            region[64] ^= 1
        reads[:3] = 0xFFFF_FFF0, 290 - 16, 1000 - 16
        for index, counter in enumerate(counter_table(self.config)):
            reads[3 + 2 * index] = {"matrix_active": 600, "matrix_wait_a": 10}.get(counter.name, 0)
        channel = ChannelStatistics(3000, 1000, 50, 20, 60, 10, 100.0, 5)
        return Execution(1300, 20, 20 + ELAPSED, reads, (), 0.1, (channel, channel), {"sync": 9})


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(run_module, "Machine", ModelMachine)


def run(**options):
    preset = "tiny_matrix"
    return run_kernel(
        "gemm", preset, PRESETS[preset], 20, 30, 40, RunOptions(engine="amaranth", **options)
    )


def test_a_result_has_what_files_must_have(stand_in):
    result = run(dram_bandwidth=32, seed=5)
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(json.dumps(result))
    for name in (
        "preset",
        "kernel",
        "size",
        "engine",
        "cycles",
        "mac_utilization",
        "mac_active",
        "check",
        "memory",
        "counters",
        "simulated_cycles_per_second",
        "versions",
        "seed",
    ):
        assert name in result  # fmt: skip
    assert result["size"] == {"m": 20, "n": 30, "k": 40}
    assert result["cycles"] == ELAPSED
    assert result["mac_utilization"] == pytest.approx(20 * 30 * 40 / 16 / ELAPSED)
    assert result["mac_active"] == 0.5
    assert result["memory"]["bytes_per_cycle"] == 32
    assert result["memory"]["read_bytes"] == 6000
    assert {"verdict", "mismatches", "max_abs_error"} <= set(result["check"])
    assert result["check"]["verdict"] == "pass"


def test_every_cycle_is_accounted_for(stand_in):
    breakdown = run()["breakdown"]
    cycles = {name: share["cycles"] for name, share in breakdown.items()}
    assert sum(cycles.values()) == pytest.approx(ELAPSED)
    assert sum(share["percent"] for share in breakdown.values()) == pytest.approx(100)
    assert cycles["multiply_adds"] + cycles["ragged"] == 600
    assert cycles["first_load"] == 290 - 2 * 20
    assert cycles["last_store"] == ELAPSED - (1000 - 20)
    assert cycles["wait_a"] == 10
    assert cycles["idle"] == ELAPSED - 600 - 250 - 220 - 10


def test_the_clock_may_wrap():
    execution = Execution(900, 20, 820, np.zeros(0), (), 0.1, (), {})
    config = PRESETS["tiny_matrix"]
    counters = {row.name: 0 for row in counter_table(config)}
    problem = GemmProblem.placed(m=4, n=4, k=4)
    found = account(config, problem, execution, counters, [0xFFFF_FF00, 0, 500])
    assert found["breakdown"]["first_load"]["cycles"] == 256 - 40


def test_the_report_says_what_matters(stand_in):
    text = report(run())
    assert "gemm 20 x 30 x 40 on tiny_matrix (amaranth), fp16 -> fp16, random data" in text
    assert "PASS: 600 values bit-exact" in text
    assert "1,200 cycles, MAC utilisation 125.00 %, array active 50.00 %" in text
    assert "0.83 %" in text and "array waited for A" in text
    assert "array waited for weights" not in text
    assert "6,000 bytes read, 2,000 written" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_wrong_value_is_reported(stand_in, monkeypatch):
    monkeypatch.setattr(ModelMachine, "wrong", True)
    result = run()
    assert result["check"]["verdict"] == "fail"
    text = report(result)
    assert "1 of 600 values differ from the golden model" in text
    assert "1 bytes around C were changed" in text
    assert "C(0, 0): expected " in text


@pytest.mark.parametrize(
    ("kernel", "size", "options", "message"),
    [
        ("conv", 8, {}, "kernel must be gemm, not 'conv'"),
        ("gemm", 8, {"c_format": "int32"}, "c_format must be one of fp16, fp32, not 'int32'"),
        ("gemm", 1 << 28, {}, "gemm 268435456 x 8 x 8: A of 268435456 x 8 .* must lie"),
    ],
)
def test_what_cannot_run_is_refused(stand_in, kernel, size, options, message):
    preset = PRESETS["tiny_matrix"]
    with pytest.raises(UserError, match=message):
        run_kernel(kernel, "tiny_matrix", preset, size, 8, 8, RunOptions(**options))
