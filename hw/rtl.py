"""What has RTL, known without any gateware."""

from .config import ClusterConfig
from .errors import UserError

__all__ = ["require_rtl"]


def require_rtl(config: ClusterConfig) -> None:
    """Raise if a cluster has parts that exist as models only."""
    if config.cores:
        raise UserError(
            f"a cluster in RTL must have no cores yet, not {config.cores}; programs for cores run "
            "on the instruction-set model, --engine iss"
        )
