"""Decision about a run: what a user states, and the one function that decides and validates."""
