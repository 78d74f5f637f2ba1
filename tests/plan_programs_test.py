"""The programs of a step on eight devices: nothing big is whole on every one."""

import functools

import jax
import pytest

from agrae_jax import build_model, config, models, plan_programs, sharding

BIG = 1 << 20  # bytes
FLAGS = {
    "rollout.prompts": 64,
    "rollout.samples": 8,
    "rollout.max_new_tokens": 1024,
    "data.max_prompt_tokens": 512,
    "updates.mini_batches": 2,
    "updates.micro_batches": 2,
    "updates.logprob_chunk": 1024,
}
SIZES = {
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "vocab_size": 4096,
    "tie_word_embeddings": False,
}


@functools.cache
def compiled(fsdp, tensor):
    """(programs' outputs by name, train state) of a step on a mesh, in segments."""
    flags = [f"--config.{name}={value}" for name, value in FLAGS.items()]
    flags.append("--config.rollout.segment=256")
    parsed = config.parse(["--config=configs/smoke.py", *flags])
    policy = models.random("qwen2", SIZES, unroll_decode=False)
    mesh = sharding.make_mesh(fsdp, tensor)
    steps = plan_programs.Step(parsed.config, policy, mesh)
    with jax.set_mesh(mesh):
        for program in steps.programs():
            lowered = program.lower()
            outputs = plan_programs.outputs_of(lowered, lowered.compile())
            steps.outputs[program.name] = outputs
    return steps.outputs, steps.state


def whole(tree):
    """Paths of big arrays that lie whole on every device."""
    found = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        size = leaf.size * leaf.dtype.itemsize
        if size > BIG and leaf.sharding.is_fully_replicated:
            found.append((jax.tree_util.keystr(path), leaf.shape))
    return found


@pytest.mark.parametrize("mesh", [(2, 4), pytest.param((8, 1), marks=pytest.mark.slow)])
def test_nothing_bigger_than_a_mebibyte_is_replicated(mesh):
    outputs, state = compiled(*mesh)
    assert sorted(outputs) == ["cast", "decode", "prefill", "score", "update"]
    assert whole(state) == []
    # what sampling reads once a token is gathered over fsdp on purpose
    for name in ("prefill", "decode", "score", "update"):
        assert whole(outputs[name]) == [], name
    if mesh[1] > 1:
        assert whole(outputs["cast"]) == []


def test_the_cache_and_the_moments_are_split_as_the_tables_say():
    outputs, state = compiled(2, 4)
    shared, rows = outputs["prefill"]
    keys = rows["cache"]["keys"]  # [layers, groups, heads, samples, head_dim, tokens]
    assert keys.shape == (2, 64, 8, 8, 32, 1024)
    assert keys.sharding.shard_shape(keys.shape) == (2, 32, 2, 8, 32, 1024)
    prompt = shared["prompt"]["values"]  # [layers, groups, heads, tokens, head_dim]
    assert prompt.sharding.shard_shape(prompt.shape) == (2, 32, 2, 512, 32)
    up = state.params["layers"]["mlp"]["up"]["kernel"]
    assert up.sharding.shard_shape(up.shape) == (2, 256, 256)
    moments = [
        leaf for leaf in jax.tree.leaves(state.opt_state) if leaf.shape == up.shape
    ]
    assert len(moments) >= 2
    assert all(leaf.sharding == up.sharding for leaf in moments)


def test_without_segments_a_wave_is_one_program():
    parsed = config.parse(["--config=configs/smoke.py"])
    policy = models.random("qwen2", {}, unroll_decode=False)
    mesh = sharding.make_mesh(4, 2)
    steps = plan_programs.Step(parsed.config, policy, mesh)
    programs = {program.name: program for program in steps.programs()}
    assert list(programs) == ["cast", "sample", "score", "update"]
    # of 16 tokens the first is the prefill's
    assert programs["sample"].dynamic_trips == 15
    with jax.set_mesh(mesh):
        lowered = programs["sample"].lower()
    assert lowered.out_info.completion_BGT.shape == (4, 8, 16)


def test_sizes_follow_the_config():
    assert plan_programs.matrix_params(
        models.random("qwen2", {**SIZES, "head_dim": 32}).config
    ) == (2 * (2 * 512 * 32 * (16 + 8) + 3 * 512 * 1024), 512 * 4096)
    mesh = sharding.make_mesh(8, 1)
    split = jax.ShapeDtypeStruct(
        (16, 4), "float32", sharding=sharding.batch_sharding(mesh)
    )
    assert plan_programs.bytes_of({"a": split}) == 2 * 4 * 4


def test_devices_may_be_given():
    parsed = config.parse(["--config=configs/smoke.py", "--config.rollout.prompts=16"])
    mesh = build_model.build_mesh(parsed.config, jax.devices()[:2])
    assert dict(mesh.shape) == {"fsdp": 2, "tensor": 1}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
