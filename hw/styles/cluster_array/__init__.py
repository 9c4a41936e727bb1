"""An array of a whole cluster, with its own accumulators, that reads shared memory."""
