"""Mirror: the model's memory and registers follow those of a cluster in lockstep."""

from ...base.native_interface import NativeStructure
from ...hw.config import MachineConfig
from ...hw.isa.memory_map import (
    CLUSTER_WINDOWS,
    CONSOLE_BASE,
    CONSOLE_LANES,
    DMA_BASE,
    SHARED_BASE,
    WINDOW_BYTES,
)
from ..harness.interface import HARNESS
from ..iss.machine import Iss

__all__ = ["mirror_setup"]


def mirror_setup(config: MachineConfig, iss: Iss) -> NativeStructure:
    """Return the description of the model's memory and of the address map for C++."""
    library = iss.native.library
    window = SHARED_BASE + config.shared.size
    return HARNESS.structure("MirrorSetup")(
        machine=iss.native.handle,
        read=library.iss_read,
        write=library.iss_write,
        devices=library.iss_devices,
        placed=library.iss_placed,
        clusters=config.clusters,
        cluster_cores=config.cores,
        shared_base=SHARED_BASE,
        windows=CLUSTER_WINDOWS,
        device_first=window + DMA_BASE,
        device_last=window + WINDOW_BYTES - 1,
        console_first=CONSOLE_BASE,
        console_last=CONSOLE_BASE + CONSOLE_LANES - 1,
    )
