"""Keys and values of the tokens that were computed: where they lie and who may use them."""
