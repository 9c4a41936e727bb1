"""Stand-in for simulations, to test the command line without them."""

from types import SimpleNamespace

from spica.sim.run.workload import run_workload

__all__ = ["FakeRun"]


class FakeRun:
    """Replaces runs of some kinds of workloads: records their arguments, has the given outcome."""

    def __init__(self, monkeypatch, kind: type | tuple[type, ...], report: str):
        self.kind = kind
        self.verdict = "pass"
        self.error = None
        self.calls = []
        monkeypatch.setattr("spica.cli.execution.run_workload", self)
        monkeypatch.setattr(
            "spica.cli.results.report", lambda result, width: report.format(**result)
        )

    def __call__(self, workload, preset, config, options, *, console, progress, results):
        shown = {"console": console, "progress": progress, "results": results}
        if not isinstance(workload, self.kind):
            return run_workload(workload, preset, config, options, **shown)
        call = SimpleNamespace(workload=workload, preset=preset, config=config, options=options)
        self.calls.append(call)
        progress("compiling the model", 1, 2)
        # A character comes in pieces.
        console("né".encode()[:2])
        console("né".encode()[2:] + b"\n")
        if options.trace is not None:
            options.trace.write_text("waveform")
        if self.error is not None:
            raise self.error
        kernel = getattr(workload.kernel, "name", workload.kernel)
        check = {"verdict": self.verdict}
        return {"status": "complete", "kernel": kernel, "cycles": 1234, "check": check}
