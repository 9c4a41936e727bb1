"""MSHRs of an L2 slice."""
