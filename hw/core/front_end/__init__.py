"""Front end: fetch, decode, instruction buffers."""
