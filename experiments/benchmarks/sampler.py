"""Sampling speed: B prompts, G completions each, as one JSON line.

python -m experiments.benchmarks.sampler [--prompts=8 --samples=32 ..] [--peer=tunix]

`tokens_per_second` counts completion tokens up to the end token. `of_peak` is 2 FLOPs a
parameter and token, prefill left out, over the square-matmul peak measured in the same
run. With `--lengths=skewed` a completion ends at each token with probability
4 / new_tokens; a peer is then charged for its full-length run, since its cost does not
fall where rows end at different times, while the tokens are the same.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agrae_jax import sampling
from agrae_jax.segments import SegmentSampler
from experiments.benchmarks import peers, work


def measure(args: Any) -> dict[str, Any]:
    """Times the sampler on the work of `args`."""
    loaded = work.load(args)
    policy, ends = loaded.model.policy, work.NO_END
    if args.lengths == "skewed":
        policy, ends = work.with_hazard(policy, args.new_tokens / 4), (0,)
    spec = sampling.SampleSpec(
        samples=args.samples,
        max_new_tokens=args.new_tokens,
        eos_ids=ends,
        top_k=args.top_k,
        top_p=args.top_p,
        segment=args.segment,
    )
    make = SegmentSampler if args.segment else sampling.make_sampler
    sampler = make(policy, spec)
    prompts = jax.tree.map(jnp.asarray, loaded.prompts)
    params = jax.tree.map(lambda x: x.astype(args.dtype), loaded.model.params)
    lengths: list[Any] = []

    def run() -> Any:
        rollout = sampling.sample(
            params, prompts, jnp.int32(0), wave=args.wave, sampler=sampler
        )
        lengths.append(rollout.length_BG)
        return rollout

    with jax.set_mesh(loaded.model.mesh):
        times = work.timed(run, args.repeats)
        peak = work.matmul_peak(args.dtype)
    tokens = int(np.asarray(lengths[-1]).sum())
    rate = tokens / times["seconds"]["median"]
    return times | {
        "tokens": tokens,
        "longest": int(np.asarray(lengths[-1]).max()),
        "tokens_per_second": round(rate, 1),
        "of_peak": round(2 * loaded.parameters * rate / peak, 3),
        "matmul_gflops": round(peak / 1e9, 1),
        "parameters": loaded.parameters,
        "peak_memory_gib": work.peak_memory_gib(),
    }


def main() -> None:
    """Prints one JSON line."""
    parser = work.parser(__doc__ or "", prompts=8, samples=32)
    parser.add_argument("--lengths", default="fixed", choices=("fixed", "skewed"))
    parser.add_argument("--segment", type=int, default=0, help="as rollout.segment")
    parser.add_argument("--wave", type=int, default=0, help="as rollout.wave")
    parser.add_argument("--top_k", type=int, default=0)
    parser.add_argument("--top_p", type=float, default=1.0)
    peers.add_flags(parser, ("hf", "tunix"))
    args = parser.parse_args()
    figures = measure(args)
    if args.peer:
        figures["peer"] = theirs = peers.generate(args)
        figures["times_faster"] = round(
            theirs["seconds"]["median"] / figures["seconds"]["median"], 2
        )
    work.emit("sampler", args, **figures)


if __name__ == "__main__":
    main()
