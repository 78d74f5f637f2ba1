"""Logits and gradients of tiny random models against transformers on torch."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import models
from agrae_jax.models import families, weights
from tests.parity import tiny

pytestmark = pytest.mark.parity


@pytest.fixture(params=tiny.CASES)
def pair(request, tmp_path):
    """(name, torch model, policy, params) through a saved Hugging Face folder."""
    model = tiny.make(request.param)
    model.save_pretrained(tmp_path)
    return request.param, model, *models.from_pretrained(str(tmp_path))[:2]


def test_logits_equal(pair, measured):
    import torch

    name, model, policy, params = pair
    tokens = tiny.tokens()
    with torch.no_grad():
        wanted = model(torch.tensor(tokens)).logits.numpy()[:, :-1]

    def logits(params):
        one = jnp.ones((len(tokens),), jnp.int32)
        hidden = policy.forward_groups(params, tokens[:, :1], one, tokens[:, None, 1:])
        return policy.unembed(params, hidden)[:, 0]

    error = np.abs(np.asarray(jax.jit(logits)(params)) - wanted).max()
    measured[f"{name} logits"] = float(error)
    assert np.abs(wanted).max() > 0.5
    assert error < 1e-4


@pytest.mark.parametrize("kind", tiny.LONG)
def test_logits_past_position_4096_equal(kind, tmp_path, measured):
    import torch

    model = tiny.make_long(kind)
    model.save_pretrained(tmp_path)
    policy, params, _ = models.from_pretrained(str(tmp_path))
    tokens, prompt = tiny.tokens(1, 4160), 4096
    with torch.no_grad():
        wanted = model(torch.tensor(tokens)).logits.numpy()[:, prompt - 1 : -1]

    def logits(params):
        length = jnp.full((1,), prompt, jnp.int32)
        rest = tokens[:, None, prompt:]
        hidden = policy.forward_groups(params, tokens[:, :prompt], length, rest)
        return policy.unembed(params, hidden)[:, 0]

    error = np.abs(np.asarray(jax.jit(logits)(params)) - wanted).max()
    measured[f"llama rope {kind}, positions 4096 to 4159, logits"] = float(error)
    assert np.abs(wanted).max() > 0.5
    assert error < 1e-4


def test_padding_of_prompts_changes_no_logit(pair, measured):
    """Prompts of other lengths in one batch, against each row alone in torch."""
    import torch

    name, model, policy, params = pair
    rng = np.random.default_rng(5)
    vocab = tiny.SIZES["vocab_size"]
    prompt = rng.integers(0, vocab, (3, 9), dtype=np.int32)
    completion = rng.integers(0, vocab, (3, 2, 6), dtype=np.int32)
    length = np.array([9, 1, 5], np.int32)

    def logits(params):
        hidden = policy.forward_groups(params, prompt, length, completion)
        return policy.unembed(params, hidden)

    found, error = np.asarray(jax.jit(logits)(params)), 0.0
    for b in range(3):
        for g in range(2):
            row = np.concatenate([prompt[b, : length[b]], completion[b, g]])
            with torch.no_grad():
                wanted = model(torch.tensor(row[None].astype(np.int64))).logits[0]
            wanted = wanted.numpy()[length[b] - 1 : -1]
            error = max(error, float(np.abs(found[b, g] - wanted).max()))
    measured[f"{name} padded prompts, logits"] = error
    assert error < 1e-4


def test_gradient_of_a_clipped_loss_equals(pair, measured):
    import torch

    name, model, policy, params = pair
    rng = np.random.default_rng(3)
    B, G, L, T = 2, 3, 6, 5
    vocab = tiny.SIZES["vocab_size"]
    prompt = rng.integers(0, vocab, (B, L), dtype=np.int32)
    completion = rng.integers(0, vocab, (B, G, T), dtype=np.int32)
    length = np.array([6, 4], np.int32)
    advantage = rng.normal(size=(B, G, 1)).astype(np.float32)
    drift = rng.normal(size=(B, G, T)).astype(np.float32) * 0.3  # old - new log-prob

    def logprobs(params):
        hidden = policy.forward_groups(params, prompt, length, completion)
        logp = jax.nn.log_softmax(policy.unembed(params, hidden))
        return jnp.take_along_axis(logp, completion[..., None], -1)[..., 0]

    old = np.asarray(jax.jit(logprobs)(params)) + drift

    def loss(params):
        ratio = jnp.exp(logprobs(params) - old)
        clipped = jnp.clip(ratio, 0.8, 1.28)
        return -jnp.minimum(ratio * advantage, clipped * advantage).mean()

    value, gradient = jax.jit(jax.value_and_grad(loss))(params)
    ours = dict(weights.to_tensors(families.FAMILIES[policy.name].mapping, gradient))

    total = 0.0
    for b in range(B):
        for g in range(G):
            row = np.concatenate([prompt[b, : length[b]], completion[b, g]])
            logits = model(torch.tensor(row[None].astype(np.int64))).logits[0]
            logp = torch.log_softmax(logits, -1)[length[b] - 1 : -1]
            taken = logp.gather(
                -1, torch.tensor(completion[b, g].astype(np.int64))[:, None]
            )
            ratio = torch.exp(taken[:, 0] - torch.tensor(old[b, g]))
            a = float(advantage[b, g, 0])
            total = total - torch.minimum(ratio * a, ratio.clamp(0.8, 1.28) * a).sum()
    total = total / (B * G * T)
    total.backward()
    theirs = {k: p.grad.numpy() for k, p in model.named_parameters()}
    assert set(ours) == set(theirs)
    difference = sum(((ours[k] - theirs[k]) ** 2).sum() for k in ours) ** 0.5
    norm = sum((v**2).sum() for v in theirs.values()) ** 0.5
    measured[f"{name} gradient"] = float(difference / norm)
    np.testing.assert_allclose(value, total.item(), rtol=1e-5)
    assert difference / norm < 1e-4


def test_older_rope_fields_give_the_same_frequencies(tmp_path):
    model = tiny.make("llama_llama3_head_dim")
    fields = json.loads(json.dumps(model.config.to_diff_dict()))
    rope = fields.pop("rope_parameters")
    new = families.FAMILIES["llama"].read_config({**fields, "rope_parameters": rope})
    theta = rope.pop("rope_theta")
    older = {**fields, "rope_theta": theta, "rope_scaling": rope}
    assert families.FAMILIES["llama"].read_config(older) == new


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
