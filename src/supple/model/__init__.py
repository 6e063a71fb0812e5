"""Bodies, joints and how they hang together: a frozen Model and the builder that alone makes one."""
