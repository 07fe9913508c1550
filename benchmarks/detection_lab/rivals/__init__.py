"""Published methods, written from their papers as pure functions on arrays."""
