"""`python -m agrae_jax.methods`: lists every method with its paper and its status."""

from __future__ import annotations

from agrae_jax import methods


def main() -> None:
    """Prints one line a method: name, status, paper."""
    for name in methods.names():
        method = methods.resolve(name)
        print(f"{name:24} {method.status:14} {method.paper}")


if __name__ == "__main__":
    main()
