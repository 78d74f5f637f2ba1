"""Costs read from compiled programs: loops count as often as they run."""

import jax
import jax.numpy as jnp
import pytest

from agrae_jax.plan_cost import count
from agrae_jax.plan_hlo import Program

# As a TPU's compiler writes it: a scan over 28 layers whose product is a convolution
# over a batch axis, unrolled twice; the slice of the stacked weights is fused.
TPU = """\
HloModule jit_f, is_scheduled=true

%fused (param_0.1: bf16[28,64,32], param_1.1: s32[], param_2.1: bf16[4,16,64]) -> bf16[4,16,32] {
  %param_2.1 = bf16[4,16,64]{2,1,0:T(8,128)(2,1)} parameter(2)
  %param_0.1 = bf16[28,64,32]{2,1,0:T(8,128)(2,1)} parameter(0)
  %param_1.1 = s32[]{:T(128)S(6)} parameter(1)
  %zero = s32[]{:T(128)} constant(0)
  %slice = bf16[1,64,32]{2,1,0:T(8,128)(2,1)} dynamic-slice(%param_0.1, %param_1.1, %zero, %zero), dynamic_slice_sizes={1,64,32}
  %weight = bf16[64,32,1]{1,0,2:T(8,128)(2,1)} bitcast(%slice)
  ROOT %convolution.1 = bf16[4,16,32]{2,1,0:T(8,128)(2,1)} convolution(%param_2.1, %weight), window={size=1}, dim_labels=0bf_io0->0bf
}

%body (state: (s32[], bf16[28,64,32], bf16[4,16,64])) -> (s32[], bf16[28,64,32], bf16[4,16,64]) {
  %state = (s32[]{:T(128)}, bf16[28,64,32]{2,1,0}, bf16[4,16,64]{2,1,0}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%state), index=0
  %w = bf16[28,64,32]{2,1,0:T(8,128)(2,1)} get-tuple-element(%state), index=1
  %x = bf16[4,16,64]{2,1,0:T(8,128)(2,1)S(1)} get-tuple-element(%state), index=2
  %first = bf16[4,16,32]{2,1,0:T(8,128)(2,1)S(1)} fusion(%w, %i, %x), kind=kOutput, calls=%fused
  %second = bf16[4,16,32]{2,1,0:T(8,128)(2,1)S(1)} fusion(%w, %i, %x), kind=kOutput, calls=%fused
  %sum = bf16[4,16,32]{2,1,0:T(8,128)(2,1)S(1)} all-reduce(%second), channel_id=1, replica_groups=[16,4]<=[64], to_apply=%add
  %two = s32[]{:T(128)} constant(2)
  %next = s32[]{:T(128)} add(%i, %two)
  ROOT %tuple.1 = (s32[]{:T(128)}, bf16[28,64,32]{2,1,0}, bf16[4,16,64]{2,1,0}) tuple(%next, %w, %x)
}

%condition (state.1: (s32[], bf16[28,64,32], bf16[4,16,64])) -> pred[] {
  %state.1 = (s32[]{:T(128)}, bf16[28,64,32]{2,1,0}, bf16[4,16,64]{2,1,0}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%state.1), index=0
  %limit = s32[]{:T(128)} constant(28)
  ROOT %less = pred[]{:T(512)} compare(%i.1, %limit), direction=LT
}

ENTRY %main (w.1: bf16[28,64,32], x.1: bf16[4,16,64]) -> bf16[4,16,64] {
  %w.1 = bf16[28,64,32]{2,1,0:T(8,128)(2,1)} parameter(0)
  %x.1 = bf16[4,16,64]{2,1,0:T(8,128)(2,1)} parameter(1)
  %start = s32[]{:T(128)} constant(0)
  %begin = (s32[]{:T(128)}, bf16[28,64,32]{2,1,0}, bf16[4,16,64]{2,1,0}) tuple(%start, %w.1, %x.1)
  %while.1 = (s32[]{:T(128)}, bf16[28,64,32]{2,1,0}, bf16[4,16,64]{2,1,0}) while(%begin), condition=%condition, body=%body
  ROOT %out = bf16[4,16,64]{2,1,0:T(8,128)(2,1)} get-tuple-element(%while.1), index=2
}
"""  # noqa: E501


def test_a_loop_of_the_tpu_compiler():
    cost = count(Program(TPU))
    # 14 trips of two products [4 x 16, 64] x [64, 32]
    assert cost.flops == 14 * 2 * (2 * 4 * 16 * 64 * 32)
    # one layer's weights, twice a trip, and a few counters; activations lie in the
    # chip's own memory
    assert 0 <= cost.bytes - 14 * 2 * (64 * 32 * 2) < 14 * 32
    assert cost.collectives == {"all-reduce": 14 * 4 * 16 * 32 * 2}


def test_loops_that_the_program_ends_take_the_trips_given():
    text = TPU.replace("constant(28)", "get-tuple-element(%state.1), index=0")
    assert count(Program(text), 10).flops == 10 * 2 * (2 * 4 * 16 * 64 * 32)


@pytest.mark.parametrize(
    "window, labels, left, right, out, products",
    [
        # a plain product, then one whose kernel axis is spread over heads
        ("", "bf_io->bf", "16,64", "64,32", "16,32", 16 * 64 * 32),
        (
            "window={size=1x7 pad=0_0x6_6 rhs_reversal=0x1}, ",
            "0bf1_i1o0->0b1f",
            "4,16,64,1",
            "64,7,32,1",
            "4,16,7,32",
            4 * 16 * 64 * 7 * 32,
        ),
        # a batch axis written as a dilated window: only the diagonal is real
        (
            "window={size=16 stride=15 lhs_dilate=16}, ",
            "0bf_0io->0bf",
            "16,8,64",
            "16,64,32",
            "16,8,32",
            16 * 8 * 64 * 32,
        ),
    ],
)
def test_products_written_as_convolutions(window, labels, left, right, out, products):
    text = (
        "ENTRY %main (a: f32[1]) -> f32[1] {\n"
        f"  %a = f32[{left}]{{0}} parameter(0)\n"
        f"  %b = f32[{right}]{{0}} parameter(1)\n"
        f"  ROOT %c = f32[{out}]{{0}} convolution(%a, %b), {window}"
        f"dim_labels={labels}\n"
        "}\n"
    )
    assert count(Program(text)).flops == 2 * products


@pytest.mark.parametrize("phase, products", [("fwd", 2), ("dkv", 4), ("dq", 3)])
def test_a_kernel_counts_as_it_says_of_itself(phase, products):
    text = (
        "ENTRY %main (a: bf16[8,256,64]) -> bf16[8,256,64] {\n"
        "  %a = bf16[8,256,64]{2,1,0} parameter(0)\n"
        "  ROOT %k = bf16[8,256,64]{2,1,0} custom-call(%a), "
        'custom_call_target="tpu_custom_call", metadata={op_name="kernel_4096_128'
        f'/splash_mha_{phase}_segmented"}}\n'
        "}\n"
    )
    cost = count(Program(text))
    assert cost.flops == products * 4096
    # two arrays of a side for every tile, beside what goes in and comes out once
    assert cost.bytes == 2 * 4096 / 128 + 2 * (8 * 256 * 64 * 2)


def test_a_scan_counts_as_its_unrolled_form():
    """Compiled here, where XLA's own analysis counts the body once."""
    w = jax.ShapeDtypeStruct((8, 24, 24), jnp.float32)
    x = jax.ShapeDtypeStruct((40, 24), jnp.float32)

    def scanned(w, x):
        return jax.lax.scan(lambda x, w: (jnp.sin(x @ w), None), x, w)[0]

    def unrolled(w, x):
        for i in range(8):
            x = jnp.sin(x @ w[i])
        return x

    found = [
        count(Program(jax.jit(f).lower(w, x).compile().as_text() or "")).flops
        for f in (scanned, unrolled)
    ]
    assert found == [8 * 2 * 40 * 24 * 24] * 2


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
