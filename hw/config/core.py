"""Config of a SIMT core."""

from dataclasses import dataclass

from amaranth.utils import ceil_log2

from .checks import require_choice, require_integer

__all__ = ["CoreConfig"]


@dataclass(frozen=True, kw_only=True)
class CoreConfig:
    """A SIMT core.

    Parameters
    ----------
    warps : int
        Warps it holds, 1 to 32.
    threads : int
        Threads of a warp, 1 to 32.
    divergent_branch : str
        What a plain branch or jump does whose active threads disagree: ``error`` stops with a
        report, ``vortex`` follows the last active thread.
    tensor : str or None
        Tensor instructions: ``hmma`` on registers, ``hgmma`` on shared memory, None for none.
        Fragments are laid out for warps of 8 threads.

    """

    warps: int = 8
    threads: int = 8
    divergent_branch: str = "error"
    tensor: str | None = None

    def __post_init__(self):
        require_integer("warps", self.warps, 1, 32)
        require_integer("threads", self.threads, 1, 32)
        require_choice("divergent_branch", self.divergent_branch, ("error", "vortex"))
        if self.tensor is not None:
            require_choice("tensor", self.tensor, ("hmma", "hgmma"))
            if self.threads != 8:
                raise ValueError(
                    f"threads must be 8 where there are tensor instructions, not {self.threads}"
                )

    @property
    def warp_width(self) -> int:
        """Bits of a warp's number."""
        return ceil_log2(self.warps)

    @property
    def thread_width(self) -> int:
        """Bits of a thread's number in its warp."""
        return ceil_log2(self.threads)

    @property
    def stack_depth(self) -> int:
        """Divergent splits that may be open at a time in one warp."""
        return self.threads - 1
