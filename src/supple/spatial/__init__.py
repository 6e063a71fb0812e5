"""Six-dimensional algebra for compiled code, and the one place that configures the compiler."""
