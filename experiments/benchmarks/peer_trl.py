"""A GRPO step by TRL's trainer. Run by `peers.py`."""

import tempfile
import time

import peer_work
import torch
import transformers
import trl
from datasets import Dataset

WARM_UP = 2  # steps that are not counted


class Clocked(trl.GRPOTrainer):
    """The trainer, with the time of generation and of all before the loss."""

    def _generate_single_turn(self, *args, **kwargs):
        start = time.perf_counter()
        out = super()._generate_single_turn(*args, **kwargs)
        self.clock.generated.append(time.perf_counter() - start)
        return out

    def _prepare_inputs(self, inputs):
        out = super()._prepare_inputs(inputs)
        self.clock.ready = time.perf_counter()
        return out


class Clock(transformers.TrainerCallback):
    """The time of a step, and of what comes after its inputs are ready."""

    def __init__(self):
        self.generated, self.trained, self.steps = [], [], []
        self.ready = self.began = 0.0

    def on_step_begin(self, *args, **kwargs):
        """Starts the clock."""
        self.began = time.perf_counter()

    def on_step_end(self, *args, **kwargs):
        """Stops it, after the optimizer."""
        now = time.perf_counter()
        self.trained.append(now - self.ready)
        self.steps.append(now - self.began)


def main():
    """Prints one JSON line."""
    args = peer_work.arguments()
    steps = args.repeats + WARM_UP
    rows = args.prompts * args.samples
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        args.model, dtype=torch.float32
    )
    texts = peer_work.prompts(tokenizer, args.prompts * steps, args.prompt_tokens)

    def graded(completions, **_):
        return peer_work.reward(completions)

    clock = Clock()
    with tempfile.TemporaryDirectory() as out:
        config = trl.GRPOConfig(
            output_dir=out,
            use_cpu=True,
            bf16=args.dtype == "bfloat16",
            per_device_train_batch_size=rows,
            num_generations=args.samples,
            gradient_accumulation_steps=1,
            max_completion_length=args.new_tokens,
            generation_kwargs={"min_new_tokens": args.new_tokens},
            max_steps=steps,
            num_iterations=1,
            beta=0.0,
            loss_type="grpo",
            temperature=1.0,
            learning_rate=1e-6,
            lr_scheduler_type="constant",
            gradient_checkpointing=False,
            report_to="none",
            save_strategy="no",
            logging_steps=10**6,
            disable_tqdm=True,
        )
        trainer = Clocked(
            model=model,
            processing_class=tokenizer,
            reward_funcs=graded,
            train_dataset=Dataset.from_list([{"prompt": x} for x in texts]),
            callbacks=[clock],
            args=config,
        )
        trainer.clock = clock
        trainer.train()
    peer_work.emit(
        "trl",
        first_seconds=round(clock.steps[0], 2),
        gen_seconds=peer_work.spread(clock.generated[WARM_UP:]),
        train_seconds=peer_work.spread(clock.trained[WARM_UP:]),
        step_seconds=peer_work.spread(clock.steps[WARM_UP:]),
        threads=torch.get_num_threads(),
        versions={"trl": trl.__version__, "torch": torch.__version__},
    )


if __name__ == "__main__":
    main()
