"""How an endpoint writes its answers, whatever they say: the habits by which serving stacks are told apart."""
