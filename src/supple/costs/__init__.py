"""What algorithms cost, counted in operations."""
