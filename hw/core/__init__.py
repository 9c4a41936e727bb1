"""SIMT core, from fetch to writeback: one block of the block diagram per file."""
