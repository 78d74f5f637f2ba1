"""agrae_jax: reinforcement learning with verifiable rewards in JAX."""

__version__ = "0.1.0"
