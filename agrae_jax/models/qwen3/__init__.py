"""The Qwen3 family, dense: 0.6B to 32B."""
