"""Sampling and a GRPO step by Tunix. Run by `peers.py`.

Tunix takes a model by the names that it knows; its config for a folder is filled in by
hand here. Its Llama class leaves rope_theta out of the call (0.1.7): put back, since a
wrong model is no comparison, though the speed is the same.
"""

import functools
import importlib.metadata
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import peer_work
from transformers import AutoTokenizer
from tunix.generate import sampler as tunix_sampler
from tunix.rl import rl_cluster
from tunix.rl.grpo import grpo_learner
from tunix.rl.rollout import base_rollout

WARM_UP = 2  # steps that are not counted


def one_device():
    """A mesh with the axes that Tunix's models name."""
    return jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("fsdp", "tp"))


def load(folder, mesh, dtype):
    """The model of a Hugging Face folder, Llama or Qwen2."""
    fields = json.loads((Path(folder) / "config.json").read_text())
    rope = fields.get("rope_parameters") or {}
    theta = int(fields.get("rope_theta") or rope.get("rope_theta"))
    heads = fields["num_attention_heads"]
    sizes = {
        "num_layers": fields["num_hidden_layers"],
        "vocab_size": fields["vocab_size"],
        "embed_dim": fields["hidden_size"],
        "hidden_dim": fields["intermediate_size"],
        "num_heads": heads,
        "head_dim": fields.get("head_dim") or fields["hidden_size"] // heads,
        "num_kv_heads": fields["num_key_value_heads"],
        "norm_eps": fields["rms_norm_eps"],
        "rope_theta": theta,
    }
    tied = fields.get("tie_word_embeddings", False)
    if fields["model_type"] == "qwen2":
        from tunix.models.qwen2 import model as family
        from tunix.models.qwen2 import params

        config = family.ModelConfig(**sizes, use_tied_embedding=tied)
    else:
        from tunix.models.llama3 import model as family
        from tunix.models.llama3 import params

        config = family.ModelConfig(**sizes, weight_tying=tied)
        family.apply_rope = functools.partial(family.apply_rope, rope_theta=theta)
    with mesh:
        return params.create_model_from_safe_tensors(folder, config, mesh, dtype=dtype)


def generate(args, model, mesh, tokenizer):
    """Times its sampler."""
    config = model.config
    length = args.prompt_tokens + args.new_tokens
    sampler = tunix_sampler.Sampler(
        model,
        tokenizer,
        tunix_sampler.CacheConfig(
            cache_size=length,
            num_layers=config.num_layers,
            num_kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
        ),
    )
    texts = peer_work.prompts(tokenizer, args.prompts, args.prompt_tokens)
    texts = [text for text in texts for _ in range(args.samples)]
    seconds = []
    for seed in range(args.repeats + 1):
        start = time.perf_counter()
        with mesh:
            out = sampler(
                texts,
                max_generation_steps=args.new_tokens,
                max_prompt_length=args.prompt_tokens,
                temperature=1.0,
                top_p=1.0,
                eos_tokens=[-1],
                seed=seed,
            )
        seconds.append(time.perf_counter() - start)
        assert {len(tokens) for tokens in out.tokens} == {args.new_tokens}
    return {
        "first_seconds": round(seconds[0], 2),
        "seconds": peer_work.spread(seconds[1:]),
    }


def step(args, model, mesh, tokenizer):
    """Times its GRPO learner."""
    steps = args.repeats + WARM_UP
    texts = peer_work.prompts(tokenizer, args.prompts * steps, args.prompt_tokens)
    data = [
        {"prompts": np.array(texts[i : i + args.prompts])}
        for i in range(0, len(texts), args.prompts)
    ]
    roles = (rl_cluster.Role.ACTOR, rl_cluster.Role.REFERENCE, rl_cluster.Role.ROLLOUT)
    cluster = rl_cluster.RLCluster(
        actor=model,
        reference=None,
        tokenizer=tokenizer,
        cluster_config=rl_cluster.ClusterConfig(
            role_to_mesh=dict.fromkeys(roles, mesh),
            rollout_engine="vanilla",
            rollout_config=base_rollout.RolloutConfig(
                max_tokens_to_generate=args.new_tokens,
                max_prompt_length=args.prompt_tokens,
                kv_cache_size=args.prompt_tokens + args.new_tokens,
                temperature=1.0,
                top_p=1.0,
                top_k=None,
                eos_tokens=[-1],
            ),
            training_config=rl_cluster.RLTrainingConfig(
                actor_optimizer=optax.adamw(1e-6),
                max_steps=steps,
                eval_every_n_steps=10**6,
            ),
        ),
    )

    def graded(prompts, completions, **_):
        return peer_work.reward(completions)

    learner = grpo_learner.GRPOLearner(
        rl_cluster=cluster,
        reward_fns=graded,
        algo_config=grpo_learner.GRPOConfig(
            num_generations=args.samples, num_iterations=1, beta=0.0
        ),
    )
    began, generated, trained, whole = [0.0], [], [], []
    sample, update = cluster.generate, cluster.update_actor

    def timed_sample(*given, **named):
        began[0] = time.perf_counter()
        out = sample(*given, **named)
        generated.append(time.perf_counter() - began[0])
        return out

    def timed_update(*given, **named):
        start = time.perf_counter()
        out = update(*given, **named)
        trained.append(time.perf_counter() - start)
        whole.append(time.perf_counter() - began[0])
        return out

    cluster.generate, cluster.update_actor = timed_sample, timed_update
    learner.train(data)
    return {
        "first_seconds": round(whole[0], 2),
        "gen_seconds": peer_work.spread(generated[WARM_UP:]),
        "train_seconds": peer_work.spread(trained[WARM_UP:]),
        "step_seconds": peer_work.spread(whole[WARM_UP:]),
    }


def main():
    """Prints one JSON line."""
    args = peer_work.arguments()
    mesh = one_device()
    model = load(args.model, mesh, jnp.dtype(args.dtype))
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    run = generate if args.what == "generate" else step
    versions = {
        name: importlib.metadata.version(name) for name in ("google-tunix", "jax")
    }
    figures = run(args, model, mesh, tokenizer)
    peer_work.emit("tunix", **figures, versions=versions)


if __name__ == "__main__":
    main()
