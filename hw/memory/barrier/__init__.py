"""Transaction barriers in shared memory."""
