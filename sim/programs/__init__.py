"""Random programs for the cores, to run one implementation of them against another."""
