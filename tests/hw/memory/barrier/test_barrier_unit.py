"""Tests of `hw.memory.barrier.barrier_unit`: random operations with stalls, latency, throughput."""

import random

import numpy as np
import pytest

from spica.hw.config import SharedPortConfig
from spica.hw.emit.emitter import emit
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.isa.transaction_barrier import BarrierFault, BarrierOperation
from spica.hw.memory.barrier.barrier_unit import BarrierUnit
from spica.hw.memory.barrier.layouts import BarrierUnitConfig
from spica.sim.engine.block_bench import BlockBench
from spica.sim.engine.testbench import require_no_loop
from spica.synth.measure import measure
from support.memory.barrier_bench import BarrierBench, check, random_rows, simulated_rows
from support.verilog.lint import lint


def config_of(latency=2, entries=4, requesters=2, units=1, size=64):
    return BarrierUnitConfig(
        shared=SharedPortConfig(size=size, read_latency=latency),
        requesters=requesters,
        units=units,
        tag_width=4,
        entries=entries,
    )


#: A cluster of four cores with 128 KiB.
CLUSTER = BarrierUnitConfig(shared=SharedPortConfig(size=128 * 1024, read_latency=2))


def bench_of(config):
    return require_no_loop(BarrierBench(config))


@pytest.mark.parametrize(("load", "ready"), [(1.0, 1.0), (0.9, 0.3), (0.2, 0.6)])
@pytest.mark.parametrize(("latency", "entries"), [(1, 1), (1, 4), (2, 2), (2, 4), (3, 8)])
@pytest.mark.quick(2)
def test_random_operations_take_effect_one_after_the_other(latency, entries, load, ready):
    rng, config = random.Random(latency + entries), config_of(latency, entries)
    rows = random_rows(rng, config, 1500, load=load, ready=ready, places=(0, 1, 2, 7))
    faults, completed = check(config, rows, simulated_rows(bench_of(config), rows))
    assert len(faults) > 200
    assert completed > 10
    assert {BarrierFault.NONE, BarrierFault.ADDRESS, BarrierFault.NO_BARRIER} <= set(faults)


@pytest.mark.parametrize(("requesters", "units"), [(1, 0), (1, 2), (3, 0)])
def test_other_numbers_of_sources(requesters, units):
    rng, config = random.Random(7), config_of(requesters=requesters, units=units)
    rows = random_rows(rng, config, 800, ready=0.7)
    faults, completed = check(config, rows, simulated_rows(bench_of(config), rows))
    assert len(faults) > 200
    assert completed > 5


@pytest.mark.full
@pytest.mark.parametrize("ready", [1.0, 0.4])
def test_verilator_gives_the_same_outputs(ready):
    rng, config = random.Random(3), config_of()
    rows = random_rows(rng, config, 3000, ready=ready, places=(0, 1, 2, 7))
    with BlockBench(BarrierBench(config), optimize=0) as bench:
        bench.reset()
        columns = {name: np.array([row[name] for row in rows], np.uint64) for name in rows[0]}
        table = bench.run(**columns)
    outputs = [
        {name: int(values[cycle]) for name, values in table.items()} for cycle in range(len(rows))
    ]
    check(config, rows, outputs)
    short = 300
    simulated = simulated_rows(bench_of(config), rows[:short])
    assert [*map(valid_outputs, outputs[:short])] == [*map(valid_outputs, simulated)]


def valid_outputs(row):
    """Return the outputs of a cycle without payloads that are not valid."""
    return {
        name: value
        for name, value in row.items()
        if name.endswith("_valid") or row.get(f"{name.partition('_')[0]}_valid", 1)
    }


def arrivals(config, places, sources=1):
    """Return inputs that make barriers, then arrive at them in turn, an event in every cycle."""
    rows = []
    for cycle in range(120 + 60):
        place = places[cycle % len(places)]
        operation = BarrierOperation.ARRIVE if cycle >= 20 else BarrierOperation.INIT
        row = {"read_ready": 1, "write_ready": 1}
        for number in range(config.sources):
            row |= {
                f"valid_{number}": int(number < sources and cycle < 120),
                f"operation_{number}": int(operation),
                f"address_{number}": SHARED_BASE + 8 * place,
                f"operand_{number}": 1000 if operation == BarrierOperation.INIT else 1,
                f"tag_{number}": 0,
            }
        rows.append(row)
    return rows


@pytest.mark.parametrize("latency", [1, 2, 3])
def test_an_answer_has_its_latency(latency):
    config = config_of(latency)
    rows = arrivals(config, [0])
    for row in rows[1:]:
        row["valid_0"] = 0
    outputs = simulated_rows(bench_of(config), rows)
    check(config, rows, outputs)
    # One cycle in the queue of the bench.
    (cycle,) = [k for k, output in enumerate(outputs) if output["answer_valid"]]
    assert cycle == 1 + 2 + latency
    (cycle,) = [k for k, output in enumerate(outputs) if output["written_valid"]]
    assert cycle == 1 + 3 + latency


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize(("latency", "entries"), [(1, 1), (2, 4), (3, 2)])
def test_one_barrier_has_an_operation_in_every_cycle(latency, entries, sources):
    config = config_of(latency, entries)
    rows = arrivals(config, [3], sources)
    outputs = simulated_rows(bench_of(config), rows)
    check(config, rows, outputs)
    answered = [k for k, output in enumerate(outputs) if output["answer_valid"]]
    assert answered == list(range(answered[0], answered[0] + len(answered)))
    assert len(answered) >= 120


@pytest.mark.parametrize(("latency", "entries"), [(1, 1), (1, 4), (2, 4), (2, 5), (3, 2)])
def test_different_barriers_take_turns_in_the_entries(latency, entries):
    config = config_of(latency, entries, size=1024)
    rows = arrivals(config, range(128))
    for row in rows:  # every operation changes its barrier
        row["operation_0"] = int(BarrierOperation.INIT)
    outputs = simulated_rows(bench_of(config), rows)
    check(config, rows, outputs)
    answered = [k for k, output in enumerate(outputs) if output["answer_valid"]]
    period = 3 + latency
    middle = [k for k in answered if answered[0] + 4 * period <= k < answered[0] + 12 * period]
    assert len(middle) == 8 * min(entries, period)


def test_cells_and_depth():
    measured = measure(BarrierUnit(CLUSTER), "barrier_unit")
    assert measured.cells <= 350
    assert measured.nand2 <= 11_500
    assert measured.depth <= 48


def test_verilog_has_no_complaints():
    assert lint(emit(BarrierUnit(CLUSTER), "barrier_unit")) == []
