"""Speed of the update: log-probs, backward pass and AdamW, as one JSON line.

python -m experiments.benchmarks.update [--prompts=4 --samples=8 ..] [--peer=trl]

The completions are random tokens of full length; half of each group is right, so that
every group has a gradient. `tokens_per_second` counts prompt and completion of each of
the B x G sequences, which is the work as others compute it; `computed_tokens` are those
that go through the layers, each prompt once. `of_peak` is 6 FLOPs a parameter and
computed token over the square-matmul peak of the same run: recomputation counts
against it.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agrae_jax import build, methods, step
from agrae_jax.types import STOP_LENGTH, Graded, Rollout
from experiments.benchmarks import peers, work


def random_rollout(loaded: work.Work, args: Any) -> tuple[Rollout, Graded]:
    """Completions of random tokens, of full length; every second one is right."""
    shape = (args.prompts, args.samples)
    rng = np.random.default_rng(1)
    vocab = loaded.model.policy.vocab_size
    tokens = rng.integers(3, vocab, (*shape, args.new_tokens), dtype=np.int32)
    rollout = Rollout(
        prompts=loaded.prompts,
        completion_BGT=jnp.asarray(tokens),
        length_BG=jnp.full(shape, args.new_tokens, jnp.int32),
        stop_BG=jnp.full(shape, STOP_LENGTH, jnp.int32),
        logprob_BGT=jnp.zeros(tokens.shape),
        entropy_BGT=jnp.zeros(tokens.shape),
    )
    right = jnp.broadcast_to(jnp.arange(args.samples) % 2, shape).astype(jnp.float32)
    return rollout, Graded(right, jnp.ones(shape), jnp.ones(shape))


def fields(args: Any) -> dict[str, Any]:
    """The config fields of the update."""
    return {
        "updates.micro_batches": args.micro_batches,
        "updates.logprob_chunk": args.chunk,
        "model.remat": bool(args.remat),
    }


def measure(args: Any) -> dict[str, Any]:
    """Times `prepare` and `update` together on the work of `args`."""
    loaded = work.load(args, **fields(args))
    config, model = loaded.config, loaded.model
    method = methods.resolve(args.method)
    tx = build.build_optimizer(config, method)
    with jax.set_mesh(model.mesh):
        state, shardings = build.build_state(model, method, tx)
        bound = {
            "policy": model.policy,
            "method": method,
            "spec": build.update_spec(config, method),
        }
        prepare = jax.jit(functools.partial(step.prepare, **bound))
        update = jax.jit(
            functools.partial(step.update, tx=tx, **bound),
            donate_argnums=0,
            out_shardings=(shardings, None),
        )
        rollout, graded = random_rollout(loaded, args)
        held = {"state": state}

        def run() -> Any:
            prepared = prepare(held["state"], None, rollout, graded)
            for batch in prepared.batches:
                held["state"], metrics = update(held["state"], batch)
            return metrics

        del state
        times = work.timed(run, args.repeats)
        peak = work.matmul_peak(args.dtype)
    sequences = args.prompts * args.samples * (args.prompt_tokens + args.new_tokens)
    computed = args.prompts * (args.prompt_tokens + args.samples * args.new_tokens)
    seconds = times["seconds"]["median"]
    flops = 6 * loaded.parameters * computed / seconds
    return times | {
        "tokens": sequences,
        "computed_tokens": computed,
        "tokens_per_second": round(sequences / seconds, 1),
        "of_peak": round(flops / peak, 3),
        "matmul_gflops": round(peak / 1e9, 1),
        "parameters": loaded.parameters,
        "peak_memory_gib": work.peak_memory_gib(),
    }


def add_flags(parser: Any) -> None:
    """The flags of the update."""
    add = parser.add_argument
    add("--method", default="grpo")
    add("--micro_batches", type=int, default=1)
    add("--chunk", type=int, default=1024, help="as updates.logprob_chunk")
    add("--remat", type=int, default=1, help="as model.remat")


def main() -> None:
    """Prints one JSON line."""
    parser = work.parser(__doc__ or "", prompts=4, samples=8)
    add_flags(parser)
    peers.add_flags(parser, ("trl", "tunix"))
    args = parser.parse_args()
    figures = measure(args)
    if args.peer:
        figures["peer"] = theirs = peers.step(args)
        figures["times_faster"] = round(
            theirs["train_seconds"]["median"] / figures["seconds"]["median"], 2
        )
    work.emit("update", args, **figures)


if __name__ == "__main__":
    main()
