"""Each program of a step compiles once; a second time is an error with a name.

A recompile takes minutes on a pod and may come again every step; what it comes from,
one shape, dtype or sharding among hundreds of arrays, is hard to find by hand. Of
several processes each compiles for itself: that all got one program is checked first.
"""

from __future__ import annotations

from typing import Any

import jax

from agrae_jax import distributed


class UnexpectedRecompile(RuntimeError):
    """A bug: a jitted function met arguments unlike those it was compiled for."""


class CompiledOnce:
    """A jitted function that raises `UnexpectedRecompile` if it compiles again.

    Costs a microsecond a call after the first: arguments are compared only where the
    function's cache has grown.
    """

    def __init__(self, name: str, function: Any):
        self.name, self._function = name, function
        self._first: dict[str, str] | None = None

    def __call__(self, *args: Any) -> Any:
        """Calls the function."""
        if self._first is None:
            self._first = signature(args)
            self._check_alike(args)
        compiled = self.compiles()
        result = self._function(*args)
        if compiled and self.compiles() > compiled:
            raise UnexpectedRecompile(
                f"{self.name} was compiled a second time: {self._difference(args)}"
            )
        return result

    def _check_alike(self, args: Any) -> None:
        """Raises UserError where another process would run another program: each would
        wait for the other's collectives for ever."""
        if jax.process_count() > 1:
            text = self._function.lower(*args).as_text()
            distributed.check_alike({f"program {self.name}": text})

    def compiles(self) -> int:
        """How often it has been compiled."""
        return self._function._cache_size()

    def _difference(self, args: Any) -> str:
        now, first = signature(args), self._first or {}
        for path in first | now:
            if first.get(path) != now.get(path):
                return f"argument{path} was {first.get(path)}, is {now.get(path)} now"
        return "its arguments are alike, so the context differs (mesh, jax.config)"


def signature(args: Any) -> dict[str, str]:
    """Path -> dtype, shape and sharding of every leaf; weak types are marked."""
    return {
        jax.tree_util.keystr(path): _describe(leaf)
        for path, leaf in jax.tree_util.tree_flatten_with_path(args)[0]
    }


def _describe(leaf: Any) -> str:
    aval = jax.typeof(leaf)
    weak = "weak " if getattr(aval, "weak_type", False) else ""
    where = getattr(leaf, "sharding", None) or type(leaf).__name__
    shape = ",".join(map(str, aval.shape))
    return f"{weak}{aval.dtype}[{shape}] on {where}"
