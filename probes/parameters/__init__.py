"""Whether a request's parameters do what they are for: shown to act, refused by name, or silently ignored."""
