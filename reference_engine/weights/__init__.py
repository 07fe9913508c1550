"""Where weights come from (GGUF file, safetensors folder) and how a profile alters them."""
