"""Sort of 32-bit unsigned integers by a bitonic network, in place."""
