"""Files by which the flows of other tools read a generated design, each from the same facts."""
