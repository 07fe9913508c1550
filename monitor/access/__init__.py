"""Who asks, and what they may: tokens, users, sessions, and the rules before the first user exists."""
