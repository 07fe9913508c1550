"""How an endpoint bears load: streams that leave when they are due, by the size of their prompts."""
