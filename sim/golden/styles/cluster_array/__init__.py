"""Golden models of the array of a cluster."""
