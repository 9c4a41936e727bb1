"""Tests of sweeps on a Dask cluster with two local workers."""

import shutil
import subprocess
import sys

import pytest

from spica.base.errors import UserError
from spica.cli.main import main
from spica.explore.sweep import workers

pytest.importorskip("distributed")

SWEEP = ("sweep", "vecadd", "--engine", "iss", "--size", "50", "--preset", "tiny", "matrix")
POINTS = ("--over", "core.l1d.mshrs=4,5", "--over", "core.l1d.size=1000,1024,2048")
#: A cluster until the end of its standard input.
CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.full
def test_the_table_is_the_same(cache, tmp_path):
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    tables = [tmp_path / name for name in ("dask.csv", "local.csv")]
    command = (sys.executable, "-m", "spica.cli", *SWEEP, *POINTS)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen((sys.executable, script), **pipes) as cluster:
        address = cluster.stdout.readline().strip()
        by_dask = (*command, "--scheduler", address, "--csv", tables[0])
        done = subprocess.run(by_dask, capture_output=True, text=True, check=False)
        cluster.stdin.close()
    assert done.returncode == 0, done.stderr
    records = [*cache.glob("sweep-*/record.json")]
    assert len(records) == 4
    for record in records:
        shutil.rmtree(record.parent)
    assert main((*SWEEP, *POINTS, "--csv", str(tables[1]))) == 0
    dask, local = (table.read_bytes() for table in tables)
    assert dask == local


@pytest.mark.full
def test_an_unreachable_scheduler_is_named(cache):
    command = (sys.executable, "-c", UNREACHABLE, *SWEEP, "--scheduler", "tcp://127.0.0.1:9")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    said = done.stderr.splitlines()
    assert said[-1].startswith("spica: the scheduler tcp://127.0.0.1:9 is not reachable (")
    assert "Traceback" not in done.stderr


#: The command line with a short patience.
UNREACHABLE = """
import sys
from spica.cli.main import main
from spica.explore.sweep import workers

workers.PATIENCE = 0.5
sys.exit(main(sys.argv[1:]))
"""


def test_a_missing_dask_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"pip install 'spica\[sweep\]'"), workers.workers(1, "a:1"):
        pass
