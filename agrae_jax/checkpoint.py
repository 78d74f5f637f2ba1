"""The one door to orbax: save, find, check and restore the state of a run.

A checkpoint is a directory `<step>/` with the items `params`, `opt_state`,
`method_state` (the last two only if they hold arrays) and `meta` (JSON), and a
`checksums.json` over their files. Orbax writes it beside its final name and renames
it when it is whole, so a kill at any moment leaves either all of it or none.

`params` keeps its nested names, so stock orbax can read it. `opt_state` and
`method_state` are stored as flat `path -> array` and put back into the structure of
the target: any pytree works, and optax's named tuples come back as they were.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from agrae_jax import checksums
from agrae_jax.checksums import BrokenCheckpoint
from agrae_jax.errors import UserError
from agrae_jax.types import Params, TrainState

_TREES = ("params", "opt_state", "method_state")
_UNFINISHED = "*.orbax-checkpoint-tmp*"
_DISK_WORDS = (
    "No space left",
    "Read-only file system",
    "Permission denied",
    "quota",
    "File too large",
)


class Checkpoints:
    """The checkpoints of one run; `keep` newest ones stay, None = only read them.

    Of the older ones those stay whose step `keep_every` divides (0 = none does).
    Saving is asynchronous: `save` returns when the arrays are copied to the host, so
    the caller may donate them at once. Call `wait` before reading what was saved and
    `close` at the end. `say` receives one line whenever a broken one is passed over.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        keep: int | None,
        keep_every: int = 0,
        say: Callable[[str], None] = print,
    ):
        import orbax.checkpoint as ocp  # here: a quarter of a second of imports

        logging.getLogger("absl").addFilter(_not_of_orbax)
        self._ocp = ocp
        self._say = say
        self.directory = Path(directory).absolute()
        writes = keep is not None
        if writes and jax.process_index() == 0:
            # Left by a kill in the middle of a save.
            for path in self.directory.glob(_UNFINISHED):
                shutil.rmtree(path)
        elif not writes and not self.directory.is_dir():
            raise UserError(f"there is no checkpoint directory {self.directory}")
        handlers: dict[str, Any] = {
            name: ocp.StandardCheckpointHandler() for name in _TREES
        }
        handlers["meta"] = ocp.JsonCheckpointHandler()
        self._manager = ocp.CheckpointManager(
            self.directory,
            item_handlers=handlers,
            options=ocp.CheckpointManagerOptions(
                max_to_keep=keep,
                keep_period=keep_every or None,
                create=writes,
                async_options=ocp.AsyncOptions(
                    post_finalization_callback=self._write_checksums
                ),
            ),
        )

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except UserError:
            if kind is None:
                raise  # else it would hide what ended the run

    def save(self, step: int, state: TrainState, meta: dict[str, Any]) -> None:
        """Starts to save `state` as checkpoint `step`; `meta` must be JSON.

        Raises UserError if this save, or the one before it, hit a full or read-only
        disk.
        """
        save = self._ocp.args.StandardSave
        items: dict[str, Any] = {"params": save(state.params)}
        for name in _TREES[1:]:
            if flat := _flatten(getattr(state, name)):
                items[name] = save(flat)
        items["meta"] = self._ocp.args.JsonSave({"step": int(step), "meta": meta})
        with _disk_errors(self.directory):
            self._manager.save(step, args=self._ocp.args.Composite(**items), force=True)

    def steps(self) -> list[int]:
        """Steps of all whole checkpoints, in ascending order."""
        return sorted(int(step) for step in self._manager.all_steps())

    def latest(self) -> int | None:
        """The newest step, or None. It is not checked: see `restore_latest`."""
        steps = self.steps()
        return steps[-1] if steps else None

    def committed(self) -> int:
        """The newest step that is on disk, 0 for none; one in flight is not yet."""
        names = [path.name for path in self.directory.glob("*") if path.is_dir()]
        return max((int(name) for name in names if name.isdigit()), default=0)

    def restore(
        self, step: int, target: TrainState
    ) -> tuple[TrainState, dict[str, Any]]:
        """Returns the state and meta of one checkpoint.

        Args:
          step: which one.
          target: the wanted state as ShapeDtypeStructs (with shardings, if any).

        Raises:
          BrokenCheckpoint: its files are damaged; the message names the file.
          UserError: there is no such step, or it has other arrays than `target`.
        """
        flat = {name: _flatten(getattr(target, name)) for name in _TREES[1:]}
        wanted = {"params": target.params} | {k: v for k, v in flat.items() if v}
        items = self._restore(step, wanted, same_dtype=True)
        parts = {
            name: _unflatten(getattr(target, name), items.get(name, {}))
            for name in flat
        }
        number = jnp.asarray(items["meta"]["step"], target.step.dtype)
        if getattr(target.step, "sharding", None) is not None:
            number = jax.device_put(number, target.step.sharding)
        state = TrainState(step=number, params=items["params"], **parts)
        return state, items["meta"]["meta"]

    def restore_params(
        self, step: int, target: Params
    ) -> tuple[Params, dict[str, Any]]:
        """Returns params and meta only; no optimizer memory is touched.

        `target` is the nested dict of ShapeDtypeStructs; its dtypes and shardings
        may differ from those saved. Raises as `restore`.
        """
        items = self._restore(step, {"params": target}, same_dtype=False)
        return items["params"], items["meta"]["meta"]

    def meta(self, step: int) -> dict[str, Any]:
        """Returns the JSON saved with a checkpoint. Raises as `restore`."""
        return self._restore(step, {}, same_dtype=True)["meta"]["meta"]

    def restore_latest(
        self, target: TrainState
    ) -> tuple[int, TrainState, dict[str, Any]] | None:
        """Restores the newest whole checkpoint, or returns None if there is none.

        A broken one is said aloud, renamed to `broken-<step>` (so that its step can
        be saved again) and passed over for the one before.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                return step, *self.restore(step, target)
            except BrokenCheckpoint as error:
                then = "the one before" if step > steps[0] else "the beginning"
                self._say(f"warning: {error}; falling back to {then}")
                self._set_aside(step)
        return None

    def wait(self) -> None:
        """Blocks until what was saved is on disk. Raises as `save`."""
        with _disk_errors(self.directory):
            self._manager.wait_until_finished()

    def close(self) -> None:
        """Waits and frees orbax's threads; nothing may be called after it."""
        with _disk_errors(self.directory):
            self._manager.close()

    def _restore(
        self, step: int, wanted: dict[str, Any], *, same_dtype: bool
    ) -> dict[str, Any]:
        if step not in self.steps():
            have = ", ".join(map(str, self.steps())) or "none"
            raise UserError(
                f"no checkpoint of step {step} in {self.directory}; there are: {have}"
            )
        root = self.directory / str(step)
        checksums.verify(root, (*wanted, "meta"))
        args = self._ocp.args
        try:
            saved = self._manager.item_metadata(step)
            for name, tree in wanted.items():
                held = saved[name] if name in saved else None
                held = {} if held is None else held.tree
                _check_same(f"{root}: {name}", held, tree, same_dtype=same_dtype)
            items = {k: args.StandardRestore(v) for k, v in wanted.items()}
            restored = self._manager.restore(
                step, args=args.Composite(meta=args.JsonRestore(), **items)
            )
        except UserError:
            raise
        except (OSError, ValueError, KeyError, FileNotFoundError) as error:
            if "RESOURCE_EXHAUSTED" in str(error):
                raise  # the memory is short, the checkpoint is well
            first = str(error).partition(" [tensorstore_spec")[0].strip()
            first = first.splitlines()[0][:300] if first else ""
            raise BrokenCheckpoint(
                f"checkpoint {root} cannot be read ({type(error).__name__}: {first})"
            ) from error
        if restored["meta"]["step"] != step:
            raise BrokenCheckpoint(
                f"checkpoint {root} is that of step {restored['meta']['step']}"
            )
        return {name: restored[name] for name in (*wanted, "meta")}

    def _set_aside(self, step: int) -> None:
        if jax.process_index() == 0:
            aside = self.directory / f"broken-{step}"
            shutil.rmtree(aside, ignore_errors=True)
            (self.directory / str(step)).rename(aside)
        self._manager.reload()

    def _write_checksums(self) -> None:
        # Orbax calls this on its own thread when all files are written and before
        # the rename that commits them, so the checksums commit with the rest. One
        # save is in flight at a time, and leftovers went when the manager opened.
        if jax.process_index() != 0:
            return
        # Reading a pod's checkpoint back to sum it would cost more than it guards:
        # with several processes only names and sizes are kept.
        for root in self.directory.glob(_UNFINISHED):
            checksums.write(root, sums=jax.process_count() == 1)


def _not_of_orbax(record: logging.LogRecord) -> bool:
    """Orbax logs the traceback of every error that it raises as well: one is enough."""
    return "orbax" not in record.pathname


class _disk_errors:
    """Turns a full or read-only disk into one line; lets everything else through."""

    def __init__(self, directory: Path):
        self._directory = directory

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        words = [word for word in _DISK_WORDS if word in str(error)]
        if error is not None and words:
            raise UserError(
                f"could not save a checkpoint in {self._directory}: {words[0]}; make "
                "room or mend the rights, then run the same command again to resume"
            ) from error


def _flatten(tree: Any) -> dict[str, Any]:
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf
        for path, leaf in leaves
    }


def _unflatten(target: Any, flat: dict[str, Any]) -> Any:
    names = list(_flatten(target))
    return jax.tree.unflatten(jax.tree.structure(target), [flat[n] for n in names])


def _check_same(where: str, saved: Any, target: Any, *, same_dtype: bool) -> None:
    have, want = _flatten(saved), _flatten(target)
    mend = "use the config that the run was started with"
    for name in want.keys() ^ have.keys():
        side = "lacks" if name in want else "has a surplus"
        raise UserError(f"checkpoint {where} {side} array {name}: {mend}")
    for name, leaf in want.items():
        held = have[name]
        if tuple(held.shape) != tuple(leaf.shape):
            raise UserError(
                f"checkpoint {where}/{name} has shape {tuple(held.shape)}, this run "
                f"wants {tuple(leaf.shape)}: {mend}"
            )
        if same_dtype and jnp.dtype(held.dtype) != jnp.dtype(leaf.dtype):
            raise UserError(
                f"checkpoint {where}/{name} has dtype {held.dtype}, this run wants "
                f"{leaf.dtype}: {mend}"
            )
