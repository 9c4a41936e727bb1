"""Workers of sweeps: work in processes, and no warning about one that is replaced."""

import os
import threading
import warnings

from spica.explore.workers import workers


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
