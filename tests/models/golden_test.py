"""Logits of tiny models that transformers computed once (tests/parity/make_golden)."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from agrae_jax import models

FILES = sorted((Path(__file__).parent.parent / "golden" / "models").glob("*.npz"))


def test_there_are_golden_files_of_every_family():
    assert {f.stem.split("_")[0] for f in FILES} == {"llama", "qwen2", "qwen3"}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_logits_are_those_of_transformers(file, tmp_path):
    stored = np.load(file)
    names = [name for name in stored if name.startswith("weight:")]
    state = {n.removeprefix("weight:"): stored[n].astype(np.float32) for n in names}
    save_file(state, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(str(stored["config"]))
    fields = json.loads(str(stored["config"]))
    policy, params, _ = models.from_pretrained(str(tmp_path))
    assert policy.name == fields["model_type"]
    tokens = stored["tokens"]

    def logits(params):
        one = jnp.ones((len(tokens),), jnp.int32)
        hidden = policy.forward_groups(params, tokens[:, :1], one, tokens[:, None, 1:])
        return policy.unembed(params, hidden)[:, 0]

    found, wanted = jax.jit(logits)(params), stored["logits"][:, :-1]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
