"""Golden model of the dispatch of a core's lanes to shared memory."""

__all__ = ["is_row"]


def is_row(row_bytes: int | None, addresses: list[int]) -> bool:
    """Return whether the row port serves these lanes: all are in one aligned row."""
    return row_bytes is not None and len({address // row_bytes for address in addresses}) == 1
