"""Ends of control flow in a compiled program: jumps out of a function, calls that never return."""

from ..bodies import RETURN_ADDRESS, Body, Step, bodies_of
from ..program import Program

__all__ = ["ControlFlow", "jump_target"]

BRANCHES = ("beq", "bne", "blt", "bge", "bltu", "bgeu")


def jump_target(body: Body, step: Step) -> int | None:
    """Return the target of a jump or call, None if it is not constant or `step` is neither."""
    if step.name == "jal":
        return step.pc + step.immediate("j")
    before = body.steps.get(step.pc - 4)
    if step.name != "jalr" or before is None or before.name != "auipc":
        return None
    if before.field("rd") != step.field("rs1"):
        return None
    return before.pc + (before.immediate("u") << 12) + step.immediate("i") & 0xFFFF_FFFF


class ControlFlow:
    """Successors of instructions, with knowledge of the functions they call.

    Parameters
    ----------
    program : Program

    """

    def __init__(self, program: Program):
        self.program = program
        self.bodies = bodies_of(program, with_runtime=True)
        #: Whether a function may return, by its address.
        self.returning: dict[int, bool] = {}

    def successors(self, body: Body, step: Step) -> list[int]:
        """Return the addresses in the function that can execute after `step`."""
        if self.ends(body, step):
            return []
        if step.name in ("jal", "jalr") and step.field("rd") == RETURN_ADDRESS:
            target = jump_target(body, step)
            if target is not None and not self.may_return(target):
                return []
        return body.successors(step)

    def ends(self, body: Body, step: Step) -> bool:
        """Return whether a step masks all threads, which ends the warp."""
        if step.name != "vx_tmc" or not step.field("rs1"):
            return step.name == "vx_tmc"
        before = body.steps.get(step.pc - 4)
        return (
            before is not None
            and before.name == "addi"
            and before.field("rd") == step.field("rs1")
            and not before.field("rs1")
            and not before.immediate("i")
        )

    def exits(self, body: Body, step: Step) -> bool:
        """Return whether a step may leave the function, by a return or by a jump to another."""
        if step.leaves:
            return True
        if step.name == "jal" and not step.field("rd"):
            return step.pc + step.immediate("j") not in body.steps
        return step.name in BRANCHES and step.pc + step.immediate("b") not in body.steps

    def may_return(self, address: int) -> bool:
        """Return whether the function at an address may return; True if it is not known."""
        if address not in self.returning:
            self.returning[address] = True  # while it is examined, for recursion
            if address in self.bodies:
                self.returning[address] = self.has_return(self.bodies[address])
        return self.returning[address]

    def has_return(self, body: Body) -> bool:
        """Return whether a path through a function returns, or continues after its last step."""
        waiting = [body.function.start]
        visited = set(waiting)
        while waiting:
            step = body.steps[waiting.pop()]
            if self.exits(body, step) and self.returns_after(body, step):
                return True
            following = self.successors(body, step)
            if not following and step.pc + 4 == body.function.end and self.runs_on(body, step):
                return True
            waiting += [pc for pc in following if pc not in visited]
            visited.update(following)
        return False

    def runs_on(self, body: Body, step: Step) -> bool:
        """Return whether the last step of a function may execute the first one after it."""
        is_jump = step.name == "jal" and not step.field("rd")
        if self.ends(body, step) or step.leaves or is_jump:
            return False
        target = jump_target(body, step)
        return target is None or self.may_return(target)

    def returns_after(self, body: Body, step: Step) -> bool:
        """Return whether the function may return after a step that leaves it."""
        target = jump_target(body, step)
        if step.name in BRANCHES:
            target = step.pc + step.immediate("b")
        return target is None or self.may_return(target)
