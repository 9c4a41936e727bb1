"""Course of a sweep: stored records, workers, one row per point."""
