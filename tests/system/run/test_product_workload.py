"""Tests of kernel runs, cycle accounting and report, on a machine without a clock."""

import json

import numpy as np
import pytest

from spica.base.errors import MachineError, UserError
from spica.hw.machine.counters import counter_table
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import ChannelStatistics, DramConfig
from spica.sim.iss.cluster_model import ClusterModel
from spica.sim.machine.command_machine import Execution
from spica.sim.report.run_report import report
from spica.sim.run import product_workload
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.workload import run_workload

ELAPSED = 1200


def execution(cycles, first_command, last_response, **more):
    """Return an execution of these cycles."""
    options = {"reads": np.zeros(0), "errors": (), "seconds": 0.1, "channels": ()} | more
    return Execution(
        cycles=cycles,
        first_command=first_command,
        last_response=last_response,
        clocked={"sync": 9},
        **options,
    )


class ModelMachine:
    """Replaces `CommandMachine`: the functional model, with a made-up clock and counters."""

    wrong = False
    access_cycles = 20
    verilated = None

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

    def begin(self, commands):
        self.commands = commands

    def advance(self, max_cycles):
        return True

    @property
    def is_paused(self):
        return False

    def execution(self):
        commands = self.commands
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
        return execution(1300, 20, 20 + ELAPSED, reads=reads, channels=(channel, channel))


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(product_workload, "CommandMachine", ModelMachine)


def run(**options):
    product = ProductWorkload(m=20, n=30, k=40)
    settings = RunOptions(engine="amaranth", **options)
    return run_workload(product, "tiny_matrix", PRESETS["tiny_matrix"], settings)


def test_a_result_has_the_figures_of_the_run(stand_in):
    result = run(memory=DramConfig(bytes_per_cycle=32), seed=5)
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(json.dumps(result))
    assert (result["preset"], result["kernel"], result["driver"]) == ("tiny_matrix", "gemm", "host")
    assert (result["engine"], result["seed"]) == ("amaranth", 5)
    assert result["sizes"] == {"m": 20, "n": 30, "k": 40}
    assert result["options"]["formats"] == {"a": "fp16", "b": "fp16", "c": "fp16"}
    assert result["options"]["data"] == "random"
    assert (result["cycles"], result["run_cycles"]) == (ELAPSED, 1300)
    assert (result["region"]["begin"], result["region"]["end"]) == (20, 20 + ELAPSED)
    assert result["mac_utilization"] == pytest.approx(20 * 30 * 40 / 16 / ELAPSED)
    assert result["matrix_units"]["matrix"]["mac_utilization"] == result["mac_utilization"]
    assert result["matrix_units"]["matrix"]["mac_active"] == 0.5
    assert result["memory"]["parameters"]["bytes_per_cycle"] == 32
    traffic = result["memory"]["traffic"]
    assert (traffic["run"]["read_bytes"], traffic["run"]["cycles"]) == (6000, 1300)
    assert (traffic["run"]["row_hits"], traffic["run"]["row_misses"]) == (120, 20)
    assert traffic["region"]["bytes_per_cycle"] == pytest.approx(8000 / ELAPSED)
    assert traffic["region"]["utilization"] == pytest.approx(8000 / ELAPSED / 32)
    assert list(result["counters"]) == [
        counter.name for counter in counter_table(PRESETS["tiny_matrix"])
    ]
    assert result["speed"]["cycles_per_second"] == pytest.approx(13_000)
    assert result["clocked_cycles"] == {"sync": 9}
    assert result["versions"]["spica"]
    assert result["check"]["verdict"] == "pass"
    c = result["check"]["buffers"]["c"]
    assert (c["elements"], c["mismatches"], c["outside_bound"]) == (600, 0, 0)
    assert 0 < c["max_abs_error"] < 1


def test_every_cycle_is_accounted_for(stand_in):
    breakdown = run()["matrix_units"]["matrix"]["breakdown"]
    cycles = {name: part["cycles"] for name, part in breakdown.items()}
    assert sum(cycles.values()) == pytest.approx(ELAPSED)
    assert sum(part["share"] for part in breakdown.values()) == pytest.approx(1)
    assert cycles["multiply_adds"] + cycles["ragged"] == 600
    assert cycles["first_load"] == 290 - 2 * 20
    assert cycles["last_store"] == ELAPSED - (1000 - 20)
    assert cycles["wait_a"] == 10
    assert cycles["idle"] == ELAPSED - 600 - 250 - 220 - 10


def test_the_clock_may_wrap():
    phases = product_workload.first_and_last([0xFFFF_FF00, 0, 500], 800, 20)
    assert phases == {"first_load": 256 - 40, "last_store": 800 - (756 - 20)}


def test_the_report_begins_with_the_verdict(stand_in):
    text = report(run())
    assert text.splitlines()[:4] == [
        "PASS: gemm m=20 n=30 k=40 on tiny_matrix",
        "Cycles: 1,200, first command to last write response",
        "MAC utilisation: 125.00 %",
        "Largest losses: first load 20.83 %, last store 18.33 %, no compute 10.00 %",
    ]
    assert "Check: c 600 values, bit-exact, largest error" in text
    assert "Array active: 50.00 %" in text
    assert "0.83 %" in text and "array waits for A" in text
    assert "array waits for weights" not in text
    assert "DRAM traffic: 6,000 bytes read, 2,000 written" in text
    assert "Settings: engine amaranth; driver host; a fp16, b fp16, c fp16; random data" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "\n\n\n" not in text and not any(line != line.rstrip() for line in text.splitlines())
    assert max(map(len, report(run(), 60).splitlines())) <= 60


def test_a_wrong_value_is_reported(stand_in, monkeypatch):
    monkeypatch.setattr(ModelMachine, "wrong", True)
    result = run()
    assert result["check"]["verdict"] == "fail"
    text = report(result)
    assert text.startswith("FAIL: gemm m=20 n=30 k=40 on tiny_matrix\nCycles: 1,200, ")
    assert "1 of 600 values of c differ from the golden model" in text
    assert "1 bytes around c were changed" in text
    assert "c[0, 0]: expected " in text


def test_a_hang_leaves_a_result(stand_in, monkeypatch):
    def hang(*_, **__):
        raise MachineError("the machine hangs: nothing moved for 9 cycles")

    monkeypatch.setattr(ModelMachine, "execution", hang)
    with pytest.raises(MachineError) as caught:
        run(seed=7)
    result = caught.value.result
    assert result is not None
    assert (result["status"], result["check"]["verdict"]) == ("stopped", "fail")
    assert result["failure"]["message"] == "the machine hangs: nothing moved for 9 cycles"
    assert (result["seed"], result["cycles"]) == (7, None)


@pytest.mark.parametrize(
    ("size", "options", "message"),
    [
        (8, {"c_format": "int32"}, "c_format must be one of fp16, fp32, not 'int32'"),
        (1 << 28, {}, "gemm 268435456 x 8 x 8: A of 268435456 x 8 .* must lie"),
    ],
)
def test_what_cannot_run_is_refused(stand_in, size, options, message):
    product = ProductWorkload(m=size, n=8, k=8, **options)
    with pytest.raises(UserError, match=message):
        run_workload(product, "tiny_matrix", PRESETS["tiny_matrix"], RunOptions())


def test_a_machine_with_settings_in_its_name_runs():
    """Machines of a comparison have names such as this; a module of Verilog must not."""
    workload, memory = ProductWorkload(m=8, n=8, k=8), DramConfig()
    options = RunOptions(engine="verilator", memory=memory)
    result = run_workload(workload, "tiny_matrix,dma.queue=4", PRESETS["tiny_matrix"], options)
    assert result["check"]["verdict"] == "pass"
