"""The models: the only package that imports flax, safetensors and gguf."""
