"""Sampling by transformers' `generate`. Run by `peers.py`."""

import time

import peer_work
import torch
import transformers


def main():
    """Prints one JSON line."""
    args = peer_work.arguments()
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        args.model, dtype=getattr(torch, args.dtype)
    ).eval()
    texts = peer_work.prompts(tokenizer, args.prompts, args.prompt_tokens)
    ids = tokenizer(texts, return_tensors="pt", add_special_tokens=False).input_ids
    ids = ids.repeat_interleave(args.samples, 0)
    seconds = []
    for _ in range(args.repeats + 1):
        start = time.perf_counter()
        with torch.no_grad():
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                temperature=1.0,
                top_p=1.0,
                top_k=0,
                min_new_tokens=args.new_tokens,
                max_new_tokens=args.new_tokens,
            )
        seconds.append(time.perf_counter() - start)
        assert out.shape[1] == args.prompt_tokens + args.new_tokens
    peer_work.emit(
        "hf",
        first_seconds=round(seconds[0], 2),
        seconds=peer_work.spread(seconds[1:]),
        threads=torch.get_num_threads(),
        versions={"transformers": transformers.__version__, "torch": torch.__version__},
    )


if __name__ == "__main__":
    main()
