"""Save and restore, of whatever machine is on Verilator."""

from typing import Any

from ...hw.base.build_cache import digest
from ...hw.base.errors import UserError
from ..engine.engines import Engine
from ..engine.verilator_engine import VerilatorEngine
from ..harness.harness import Harness
from ..iss.library import model_identity
from ..iss.machine import Iss
from .snapshot import Snapshot, plain, require_like

__all__ = ["SavableMachine", "require_savable"]


class SavableMachine:
    """A machine whose run can be saved between two cycles, and go on elsewhere.

    A subclass makes `engine` and `harness`, and says what it knows beside them.

    Attributes
    ----------
    engine : VerilatorEngine or AmaranthEngine

    """

    engine: Engine

    @property
    def iss(self) -> Iss | None:
        """The model in lockstep, where there is one."""
        return None

    @property
    def harness(self) -> Harness:
        """What surrounds the design."""
        raise NotImplementedError

    @property
    def is_paused(self) -> bool:
        """Whether a run has begun, and nothing but its limit has stopped it."""
        raise NotImplementedError

    @property
    def cycles(self) -> int:
        """Cycles since the run began."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return how the machine was made, as far as it tells on a run."""
        raise NotImplementedError

    def run_facts(self) -> dict[str, Any]:
        """Return what is known of the run in Python alone."""
        raise NotImplementedError

    def take_facts(self, facts: dict[str, Any]) -> None:
        """Take over what `run_facts` returned; the run goes on."""
        raise NotImplementedError

    def prepare_restore(self) -> None:
        """Let all look at the design who did in the run that was saved."""

    def save(self) -> Snapshot:
        """Return the state of a run that is paused, memory included."""
        engine = require_savable(self.engine)
        if not self.is_paused:
            raise UserError("a run must have begun, and not have ended, to be saved")
        return Snapshot(
            identity=self.identity,
            machine=plain(self.parameters()),
            cycle=self.cycles,
            facts=plain(self.run_facts()),
            state=engine.save(self.harness),
            model=b"" if self.iss is None else self.iss.native.save(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Take the state of a machine that was made like this one, memory included."""
        engine = require_savable(self.engine)
        if snapshot.identity != self.identity:
            raise UserError(
                "a saved run must be of this design and this version of Spica: save it again"
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
        """Hash of what a state means: of design and harness, and of the model in lockstep."""
        engine = require_savable(self.engine)
        return digest([engine.identity, "" if self.iss is None else model_identity()])


def require_savable(engine: Engine) -> VerilatorEngine:
    """Return an engine whose state can be saved, or say that it cannot."""
    if not isinstance(engine, VerilatorEngine):
        raise UserError("a run is saved and restored on engine verilator, not on amaranth")
    return engine
