"""Records of the cores of runs that end their machines themselves."""

from spica.sim.machine.program_machine import NEVER, ProgramMachine
from spica.sim.run import rtl_executor

__all__ = ["record_runs"]


def record_runs(monkeypatch) -> list:
    """Return a list that gets the records of the cores at the end of each later run."""
    recorded = []

    class Recorded(ProgramMachine):
        def __init__(self, *args, **options):
            super().__init__(*args, record=(0, NEVER), **options)

        def close(self):
            recorded.extend(self.records())
            super().close()

    monkeypatch.setattr(rtl_executor, "ProgramMachine", Recorded)
    return recorded
