"""An exported folder in transformers' hands: the same logits, tokens and chat."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import export, models
from agrae_jax.data import templates
from tests.export_test import run  # noqa: F401  the fixture

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("flags", [(), ("--file_gib=0.00005",)], ids=["one", "several"])
def test_transformers_loads_what_export_writes(run, tmp_path, flags, measured):  # noqa: F811
    import torch
    import transformers

    out = tmp_path / "out"
    assert export.main([f"--workdir={run[0]}", f"--out={out}", *flags]) == 0
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        out, dtype=torch.float32, output_loading_info=True
    )
    assert not report["missing_keys"] and not report["unexpected_keys"]
    policy, params, _ = models.from_pretrained(str(out))
    tokens = np.random.default_rng(0).integers(0, 100, (2, 20))
    with torch.no_grad():
        wanted = model.eval()(torch.tensor(tokens)).logits.numpy()[:, :-1]

    def logits(params):
        one = jnp.ones((2,), jnp.int32)
        hidden = policy.forward_groups(params, tokens[:, :1], one, tokens[:, None, 1:])
        return policy.unembed(params, hidden)[:, 0]

    error = float(np.abs(np.asarray(jax.jit(logits)(params)) - wanted).max())
    measured[f"exported llama, {'several files' if flags else 'one file'}"] = error
    assert error < 1e-4
    assert model.generation_config.eos_token_id == 3


def test_transformers_chats_as_the_run_does(run, tmp_path):  # noqa: F811
    import transformers

    out = tmp_path / "out"
    assert export.main([f"--workdir={run[0]}", f"--out={out}"]) == 0
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    chat = [{"role": "user", "content": "3 + 4 = ?"}]
    ids = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_dict=False
    )
    ours = templates.encode_prompt(
        "3 + 4 = ?", template="chat", tokenizer=templates.tiny()
    )
    assert list(ids) == ours


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
