"""Tests of emitted clusters in Icarus Verilog with third-party AXI models."""

import functools
import warnings
from pathlib import Path

import numpy as np
import pytest

from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.isa.memory_map import CONTROL, CONTROL_BASE, MATRIX_BASE
from spica.hw.presets import PRESETS
from spica.hw.styles.registry import matrix_style_of
from spica.kernels.gemm.data import operands
from spica.kernels.gemm.host.schedule import schedule
from spica.kernels.gemm.problem import GUARD_BYTES, GemmProblem
from spica.sim.engine.emission_cache import emit_cached
from spica.sim.golden.matrix.gemm import gemm
from support.need_tools import need_icarus

#: Limits that make every memory a macro: its initial contents are undefined.
EVERY = MacroLimits(bits=0, words=0)
MEMORIES = {"memories": None, "macros": EVERY}
BENCHES = Path(__file__).parents[2] / "support" / "cocotb_benches"


def wrapper(emission) -> str:
    """Return a module that drives all clock domains from one clock: separate ones would race."""
    clocks = {name for domain in emission.domains for name in clock_names(emission, domain)}
    ports, connections = ["input clk", "input rst"], []
    for port in emission.ports:
        if port.name in clocks:
            common = "rst" if port.name.endswith("rst") else "clk"
            connections.append(f".{port.name}({common})")
            continue
        ports.append(f"{port.direction} [{port.width - 1}:0] {port.name}")
        connections.append(f".{port.name}({port.name})")
    port_lines, pin_lines = ",\n  ".join(ports), ",\n    ".join(connections)
    instance = f"  {emission.name} cluster(\n    {pin_lines}\n  );"
    return f"module bench(\n  {port_lines}\n);\n{instance}\nendmodule\n"


def clock_names(emission, domain):
    """Return the ports of a clock domain."""
    prefix = "" if domain == "sync" else f"{domain}_"
    names = {port.name for port in emission.ports}
    assert {f"{prefix}clk", f"{prefix}rst"} <= names
    return f"{prefix}clk", f"{prefix}rst"


def task(problem, config, seed, pause_share):
    """Return the input of the bench: data, commands, and the expected memory around C."""
    a, b = operands(problem, "extreme", seed)
    (a_base, a_bytes), (b_base, b_bytes), (c_base, c_bytes) = problem.image(a, b)
    expected = c_bytes.copy()
    c = gemm(config.units[0], problem, a, b, config.units[0].tile[2])
    size, pitch = c.itemsize, problem.c_pitch
    for row, values in enumerate(c):
        start = GUARD_BYTES + row * pitch * size
        expected[start : start + values.nbytes] = values.view(np.uint8)
    return {
        "addresses": np.array([a_base, b_base, c_base], dtype=np.uint64),
        "a": a_bytes,
        "b": b_bytes,
        "c": c_bytes,
        "expected": expected,
        "commands": schedule(config, problem).commands.array(),
        # Addresses of the interrupt registers, and of one that takes command words.
        "interrupt": np.array([
            CONTROL_BASE + CONTROL["interrupt_enable"].offset,
            CONTROL_BASE + CONTROL["interrupt_pending"].offset,
            MATRIX_BASE + matrix_style_of(config.units[0]).registers["instruction"].offset,
        ]),
        "masters": config.axi.masters,
        "seed": seed,
        "pause_share": pause_share,
    }


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return a function that compiles an emitted cluster once."""
    need_icarus()
    return functools.cache(lambda *which: compiled_cluster(tmp_path_factory, *which))


def compiled_cluster(tmp_path_factory, preset, memories):
    """Return the runner of a simulation, and its directory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of cocotb's own modules
        from cocotb_tools.runner import get_runner
    directory = tmp_path_factory.mktemp("icarus")
    emission = emit_cached(PRESETS[preset], preset, limits=MEMORIES[memories])
    sources = {"cluster.v": emission.verilog, "bench.v": wrapper(emission)}
    if emission.srams is not None:
        sources["cluster_sram.v"] = emission.sram_models
    for name, text in sources.items():
        (directory / name).write_text(text)
    runner = get_runner("icarus")
    runner.build(
        sources=[directory / name for name in sources],
        hdl_toplevel="bench",
        build_dir=directory / "build",
        build_args=["-g2012"],
        timescale=("1ns", "1ps"),
        always=True,
    )
    return runner, directory


SHAPES = [((32, 32, 32), 0.3), ((19, 21, 37), 0.0)]  # whole tiles, back-pressure; ragged tiles


@pytest.mark.parametrize(
    ("preset", "memories", "shape", "pause_share"),
    [
        *(("tiny_matrix", "memories", *case) for case in SHAPES),
        ("tiny_matrix", "macros", *SHAPES[1]),
        pytest.param("tiny_matrix", "macros", *SHAPES[0], marks=pytest.mark.slow),
        *(pytest.param("matrix", "macros", *case, marks=pytest.mark.slow) for case in SHAPES),
    ],
)
@pytest.mark.full
def test_products_through_foreign_axi_models(
    compiled, tmp_path, monkeypatch, preset, memories, shape, pause_share
):
    from cocotb_tools.check_results import get_results

    runner, directory = compiled(preset, memories)
    config = PRESETS[preset]
    m, n, k = shape
    problem = GemmProblem.placed(m=m, n=n, k=k, c_pitch=n + n % 2)
    np.savez(tmp_path / "task.npz", **task(problem, config, seed=1, pause_share=pause_share))
    monkeypatch.syspath_prepend(BENCHES)  # the runner passes it to the simulation
    log = tmp_path / "log.txt"
    try:
        results = runner.test(
            hdl_toplevel="bench",
            test_module="gemm_bench",
            build_dir=directory / "build",
            test_dir=tmp_path,
            results_xml=str(tmp_path / "results.xml"),
            seed=1,
            log_file=log,
            extra_env={"SPICA_TASK": str(tmp_path / "task.npz")},
        )
    except SystemExit:
        pytest.fail(f"the simulator ended early:\n{log.read_text()[-3000:]}")
    ran, failed = get_results(Path(results))
    assert (ran, failed) == (1, 0), log.read_text()[-3000:]
