"""Writes tests/golden/models/*.npz: run in the parity environment, as a module."""

import json
from pathlib import Path

import numpy as np

from tests.parity import tiny

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "models"


def main():
    import torch

    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in tiny.CASES:
        model, tokens = tiny.make(name), tiny.tokens()
        with torch.no_grad():
            logits = model(torch.tensor(tokens)).logits.numpy()
        state = {k: v.half().numpy() for k, v in model.state_dict().items()}
        if model.config.tie_word_embeddings:
            state.pop("lm_head.weight")
        np.savez_compressed(
            FOLDER / f"{name}.npz",
            config=json.dumps(model.config.to_diff_dict()),
            tokens=tokens.astype(np.int32),
            logits=logits.astype(np.float32),
            **{f"weight:{k}": v for k, v in state.items()},
        )


if __name__ == "__main__":
    main()
