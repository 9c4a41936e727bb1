"""Workers of sweeps: work in processes, and no warning about one that is replaced."""

import os
import signal
import subprocess
import threading
import time
import warnings

import pytest

from spica.explore.sweep.workers import workers
from support.killed_builds import start


def grow():
    """Warn as the executor does when it replaces a worker, from a thread of its own."""
    text = "A worker was restarted while some jobs were given to the executor"
    thread = threading.Thread(target=lambda: warnings.warn(text, UserWarning, stacklevel=1))
    thread.start()
    thread.join()


def test_work_is_done_in_other_processes():
    with workers(2, None) as executor:
        assert executor.submit(os.getpid).result() != os.getpid()


def test_a_replaced_worker_is_no_warning():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with workers(1, None) as executor:
            executor.submit(os.getpid).result()
            grow()
        assert seen == []
        grow()
        assert len(seen) == 1


#: A command that waits for workers of a sweep.
WAITING = """
import sys, time
from concurrent.futures import wait
from spica.cli import main
from spica.explore.sweep.workers import workers

def sweep(*arguments, **options):
    with workers(2, None) as executor:
        works = [executor.submit(time.sleep, 60) for _ in range(4)]
        while not all(each.running() for each in works[:2]):
            time.sleep(0.01)
        print("ready", flush=True)
        wait(works)

main.app = sweep
sys.exit(main.main(["sweep"]))
"""


@pytest.mark.parametrize("is_group", [False, True], ids=["process", "terminal"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("delay", [0.1, 2])
@pytest.mark.quick(4)
def test_a_signal_ends_workers_without_a_traceback(number, is_group, delay):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(WAITING, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)  # the workers start, or sleep
        (os.killpg if is_group else os.kill)(process.pid, number)
        _, errors = process.communicate(timeout=60)
    ends = {signal.SIGTERM: (143, "terminated"), signal.SIGINT: (130, "interrupted")}
    if is_group and number == signal.SIGTERM:
        assert "Traceback" not in errors
    else:
        assert (process.returncode, errors) == (ends[number][0], f"spica: {ends[number][1]}\n")
