"""Runs of products and attention as programs of the cores, also of ones with a planted fault."""

from collections import Counter

from spica.sim.iss.devices import Devices
from spica.sim.run.exact_kernels import EXACT_KERNELS
from support.runs import is_found, planted, run_kernel

__all__ = ["assert_fault_is_detected", "assert_right", "count_accesses", "faults_of", "run_product"]

#: Options of a run; the others are those of the kernel's data.
RUN = ("engine", "schedule", "lockstep", "memory", "check", "max_cycles", "max_instructions")


def run_product(config, size, *, name="gemm", kernel=None, seed=1, **options):
    """Run a product, on the instruction-set model by default; return its result.

    Options are those of the run, and those of the data of the kernel `name`.
    """
    settings = {option: options.pop(option) for option in RUN if option in options}
    kernel = kernel or EXACT_KERNELS[name](config, **options)
    return run_kernel(kernel, size, config, seed=seed, **settings)


def assert_right(result):
    assert result["check"]["verdict"] == "pass", result["check"]
    assert result["check"]["code_warnings"] == []


def assert_fault_is_detected(config, kernel, size, fault, folder):
    """Run a kernel with a text of a file replaced, in a folder; its result must be wrong."""
    broken = planted(kernel, folder, fault)
    assert is_found(broken, size, config, schedule="random", seed=2)


def faults_of(table):
    """Return file, text and replacement of each fault of a table by file."""
    return [(name, *fault) for name, faults in table.items() for fault in faults]


def count_accesses(monkeypatch):
    """Return counters of register writes to devices, and of reads."""
    writes, reads = Counter(), Counter()
    write, read = Devices.write, Devices.read

    def counted_write(self, offset, data):
        writes[offset] += 1
        write(self, offset, data)

    def counted_read(self, offset):
        reads[offset] += 1
        return read(self, offset)

    monkeypatch.setattr(Devices, "write", counted_write)
    monkeypatch.setattr(Devices, "read", counted_read)
    return writes, reads
