"""Agent loops of several turns: a task, a simulated world to do it in, and what a model makes of both."""
