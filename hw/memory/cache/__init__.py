"""Parts that the L1 and L2 caches share."""
