"""Every method takes two real optimizer steps on the smoke model (slow)."""

import dataclasses
import functools
from pathlib import Path

import jax
import numpy as np
import pytest

from agrae_jax import build, config, methods, step
from agrae_jax.metrics import finalize
from agrae_jax.types import Beside, Graded, PromptBatch, Rollout

SMOKE = str(Path(__file__).parents[2] / "configs" / "smoke.py")
B, G, L, T = 4, 8, 8, 6


def rollout_and_graded(vocab):
    rng = np.random.default_rng(0)
    length = rng.integers(1, T + 1, (B, G)).astype(np.int32)
    rollout = Rollout(
        prompts=PromptBatch(
            tokens_BL=rng.integers(1, vocab, (B, L)).astype(np.int32),
            length_B=rng.integers(2, L + 1, B).astype(np.int32),
            draw_B=np.arange(B, dtype=np.int32),
            prompt_id_B=np.arange(B, dtype=np.int32),
        ),
        completion_BGT=rng.integers(1, vocab, (B, G, T)).astype(np.int32),
        length_BG=length,
        stop_BG=np.where(length == T, 2, 1).astype(np.int32),
        logprob_BGT=np.full((B, G, T), -4.0, np.float32),
        entropy_BGT=np.ones((B, G, T), np.float32),
    )
    correct = np.zeros((B, G), np.float32)
    correct[1, :2] = correct[2, :5] = correct[3] = 1.0
    valid = np.ones((B, G), np.float32)
    valid[2, -1] = 0.0
    return rollout, Graded(correct_BG=correct, format_ok_BG=valid, valid_BG=valid)


@functools.cache
def model_and_config():
    parsed = config.parse(
        [
            f"--config={SMOKE}",
            "--config.mesh.fsdp=1",
            "--config.model.kwargs.num_hidden_layers=1",
            "--config.model.kwargs.hidden_size=16",
            "--config.model.kwargs.num_attention_heads=2",
            "--config.model.kwargs.num_key_value_heads=1",
        ]
    )
    mesh = build.build_mesh(parsed.config)
    return parsed.config, mesh, build.build_model(parsed.config, mesh)


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.names())
def test_two_steps(name):
    c, mesh, model = model_and_config()
    method = methods.resolve(name)
    tx = build.build_optimizer(c, method)
    state, _ = build.build_state(model, method, tx)
    before = jax.device_get(state.params)
    rollout, graded = rollout_and_graded(model.policy.vocab_size)
    bound = {
        "policy": model.policy,
        "method": method,
        "spec": build.update_spec(c, method),
    }
    beside = Beside()
    if "greedy_rollout" in method.needs:
        one = jax.tree.map(lambda x: x[:, :1], step.reward_input(rollout, graded))
        beside = Beside(greedy=one)
    with jax.set_mesh(mesh):
        prepared = jax.jit(functools.partial(step.prepare, **bound))(
            state, state.params, rollout, graded, beside
        )
        state = dataclasses.replace(state, method_state=prepared.method_state)
        update = jax.jit(functools.partial(step.update, tx=tx, **bound))
        for batch in prepared.batches:
            state, metrics = update(state, batch)
            values = finalize(jax.device_get(metrics))
            some = [v for v in values.values() if v is not None]
            assert np.isfinite(some).all(), values
    moved = jax.tree.map(lambda a, b: np.abs(a - b).max(), before, state.params)
    moved = jax.tree.leaves(moved)
    assert np.isfinite(moved).all() and max(moved) > 0


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
