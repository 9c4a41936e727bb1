"""Checkpoints of machines on Verilator: save and restore."""

from typing import Any

from ...hw.base.build_cache import digest
from ...hw.base.errors import UserError
from ..engine.engines import Engine
from ..engine.verilator_engine import VerilatorEngine
from ..harness.harness import Harness
from ..iss.library import model_identity
from ..iss.machine import Iss
from .snapshot import Snapshot, plain, require_like

__all__ = ["CheckpointableMachine", "require_checkpointable"]


class CheckpointableMachine:
    """Machine whose run can be saved between two cycles and resumed on another one.

    A subclass creates `engine` and `harness`, and provides the state that they do not hold.

    Attributes
    ----------
    engine : VerilatorEngine or AmaranthEngine

    """

    engine: Engine

    @property
    def iss(self) -> Iss | None:
        """Instruction-set model in lockstep, or None."""
        return None

    @property
    def harness(self) -> Harness:
        """C++ harness around the design."""
        raise NotImplementedError

    @property
    def is_paused(self) -> bool:
        """Whether a run has begun and has stopped at its limit only."""
        raise NotImplementedError

    @property
    def cycles(self) -> int:
        """Cycles since the start of the run."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return the machine's parameters that affect a run."""
        raise NotImplementedError

    def run_facts(self) -> dict[str, Any]:
        """Return the state of the run that only this object holds."""
        raise NotImplementedError

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Restore the state that `run_facts` returned; the run continues."""
        raise NotImplementedError

    def prepare_restore(self) -> None:
        """Attach the observers that the saved run had."""

    def save(self) -> Snapshot:
        """Return the state of a run that is paused, memory included."""
        engine = require_checkpointable(self.engine)
        if not self.is_paused:
            raise UserError("a run can be saved only after its start and before its end")
        return Snapshot(
            identity=self.identity,
            machine=plain(self.parameters()),
            cycle=self.cycles,
            facts=plain(self.run_facts()),
            state=engine.save(self.harness),
            model=b"" if self.iss is None else self.iss.native.save(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state, including memory, of a machine with the same parameters."""
        engine = require_checkpointable(self.engine)
        if snapshot.identity != self.identity:
            raise UserError(
                "a checkpoint must be of this design and this version of Spica: save it again"
            )
        require_like("the machine", snapshot.machine, self.parameters())
        self.prepare_restore()
        is_taken = engine.restore(self.harness, snapshot.state)
        if self.iss is not None:
            is_taken &= self.iss.native.restore(snapshot.model)
        assert is_taken, "a state of this identity has the members of this machine"
        self.take_facts(snapshot.facts)

    @property
    def identity(self) -> str:
        """Hash of the state's format: design, harness, and model in lockstep."""
        engine = require_checkpointable(self.engine)
        return digest([engine.identity, "" if self.iss is None else model_identity()])


def require_checkpointable(engine: Engine) -> VerilatorEngine:
    """Return the engine if its state can be saved; raise `UserError` otherwise."""
    if not isinstance(engine, VerilatorEngine):
        raise UserError("checkpoints need engine verilator, not amaranth")
    return engine
