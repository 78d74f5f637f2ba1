"""Llama's two sharding tables."""

PARAM_AXES = (
    (r"embedding", ("vocab", "embed")),
    (r"layers/attention/query/kernel", ("layers", "embed", "heads", "head_dim")),
    (r"layers/attention/(key|value)/kernel", ("layers", "embed", "heads", "head_dim")),
    (r"layers/attention/out/kernel", ("layers", "heads", "head_dim", "embed")),
    (r"layers/mlp/(gate|up)/kernel", ("layers", "embed", "mlp")),
    (r"layers/mlp/down/kernel", ("layers", "mlp", "embed")),
    (r"layers/(attention|mlp)_norm/scale", ("layers", "norm")),
    (r"norm/scale", ("norm",)),
    (r"head/kernel", ("embed", "vocab")),
)

_SPLIT = {"heads": "tensor", "mlp": "tensor", "vocab": "tensor", "batch": "fsdp"}
_WHOLE = dict.fromkeys(["layers", "head_dim", "norm", "seq", "act_embed"])

RULES = {
    # stored: every matrix is split over all devices, gathered layer by layer
    "train": {**_WHOLE, **_SPLIT, "embed": "fsdp"},
    # sampling reads the weights once a token, so they are gathered once
    "sample": {**_WHOLE, **_SPLIT, "embed": None},
}
