"""Workers of a sweep: processes on this machine, or the workers of a Dask cluster."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from loky.backend import resource_tracker
from loky.process_executor import ProcessPoolExecutor

from ...base.errors import UserError
from ...base.tools import SPARED
from ...sim.run.request.choices import require_at_least

__all__ = ["default_jobs", "require_workers", "workers"]

#: Seconds until a scheduler must answer.
PATIENCE = 10


def require_workers(jobs: int | None, scheduler: str | None):
    """Raise unless the number of processes is valid, and absent with a scheduler."""
    require_at_least(1, {"--jobs": jobs})
    if jobs is not None and scheduler is not None:
        raise UserError("--jobs does not apply to --scheduler, whose workers are running already")


def default_jobs() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(jobs: int, scheduler: str | None) -> Iterator[Executor]:
    """Provide an executor; work that has not begun at the end is dropped.

    Parameters
    ----------
    jobs : int
        Processes on this machine.
    scheduler : str or None
        Address of the scheduler of a Dask cluster, whose workers replace the processes.

    """
    if scheduler is not None:
        with dask_workers(scheduler) as executor:
            yield executor
        return
    resource_tracker.ensure_running()
    SPARED.add(resource_tracker._resource_tracker._pid)
    executor = ProcessPoolExecutor(
        max_workers=jobs, initializer=end_with_parent, initargs=(os.getpid(),)
    )
    with without_interrupts():
        executor.submit(int)  # starts all processes
    with warnings.catch_warnings():
        # loky replaces a worker that has grown by 300 MB, after its work: nothing is lost.
        warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
        try:
            yield executor
        finally:
            executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C away from processes that start meanwhile, until they can take it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_with_parent(parent: int):
    """End this process when its parent ends, so that a killed sweep leaves no workers.

    The parent also ends it on Ctrl-C, which a terminal sends to both.
    """
    signal.signal(signal.SIGINT, lambda *_: None)

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """Provide the workers of a Dask cluster as an executor."""
    try:
        from distributed import Client
    except ImportError:
        raise UserError(
            "--scheduler needs Dask, which is not installed: run `pip install 'spica[sweep]'`"
        ) from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"the scheduler {address} is not reachable ({said}); start it with `dask scheduler`, "
            "or leave out --scheduler"
        ) from None
    with client, client.get_executor(pure=False) as executor:
        yield executor
