"""The Qwen2 family: Qwen2, Qwen2.5 and Qwen2.5-Math, dense."""
