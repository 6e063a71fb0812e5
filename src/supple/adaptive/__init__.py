"""Methods that compute only the joints that matter."""
