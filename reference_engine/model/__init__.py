"""The decoder: configuration, tensor layout, rotary embedding and the forward pass of the Llama family."""
