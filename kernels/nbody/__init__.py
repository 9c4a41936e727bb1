"""N-body gravity: acceleration of each body by all bodies."""
