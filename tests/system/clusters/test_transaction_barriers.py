"""Tests of C programs with transaction barriers on the instruction-set model."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from support.runs import failure_of, run_program

FOLDER = Path(__file__).parents[2] / "support" / "c_programs" / "transaction_barriers"
TINY = PRESETS["tiny"]
BARRIERS = replace(TINY, cores=2, core=replace(TINY.core, transaction_barriers=True))
ONE_CORE = replace(BARRIERS, cores=1)


@pytest.mark.parametrize("seed", range(4))
def test_a_ring_of_stages_passes_its_numbers_on(seed):
    options = {"engine": "iss", "schedule": "random", "seed": seed, "check": "all"}
    result = run_program(FOLDER / "ring.c", BARRIERS, **options)
    assert (result["check"]["verdict"], result["check"]["exit_code"]) == ("pass", 0)


@pytest.mark.parametrize("call", ["empty[stage], parity ^ 1", "full[stage], parity"])
def test_a_ring_without_a_wait_is_a_race(call, tmp_path):
    text = (FOLDER / "ring.c").read_text()
    wait = f"        spica_mbarrier_wait(&ring->{call});\n"
    assert wait in text
    path = tmp_path / "ring.c"
    path.write_text(text.replace(wait, ""))
    report, text = failure_of(path, BARRIERS, engine="iss", schedule="random", check="all")
    assert report["stop"] == "fault"
    assert "race" in text


def test_a_deadlock_names_the_barrier_and_what_it_lacks():
    report, text = failure_of(FOLDER / "lacking.c", ONE_CORE, engine="iss")
    assert report["stop"] == "deadlock"
    what = "mbarrier 0xff000040, phase 0: 3 of 5 arrivals and 64 bytes missing"
    assert f"core 0, warp 0 waits for {what}" in text
    assert re.search(r"lacking\.c:10 in main", text)


def test_bytes_that_are_no_barrier_are_a_fault_with_its_line():
    report, text = failure_of(FOLDER / "no_barrier.c", ONE_CORE, engine="iss")
    assert report["stop"] == "fault"
    assert "the 8 bytes at 0xff000000 are no transaction barrier" in text
    assert re.search(r"no_barrier\.c:9 in main", text)


def test_a_machine_without_them_refuses_the_program():
    with pytest.raises(UserError, match=r"mbarrier\.init needs core\.transaction_barriers"):
        run_program(FOLDER / "ring.c", TINY, engine="iss")


def test_rtl_refuses_them():
    with pytest.raises(UserError, match=r"core\.transaction_barriers must be False in RTL"):
        run_program(FOLDER / "ring.c", BARRIERS, engine="verilator")
