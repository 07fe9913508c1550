"""Private eval sets: the formats they come in, how answers to them are graded, and the sandbox that code runs in."""
