"""Bodies, joints and their connections: an immutable Model, and the builder, which alone makes one."""
