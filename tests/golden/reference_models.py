"""GGUF files as models of the Python packages `transformers` and `torch`, in float64.

Each architecture is one row of ARCHITECTURES: which published model it is, how its metadata become that model's
configuration, what its tensors are called there, and what undoes the changes that a conversion to GGUF makes. Every
tensor of the file must find its place and every parameter of the model its tensor; anything else is an error.
"""

import contextlib
import dataclasses
import re
from collections.abc import Callable

import gguf
import torch
import transformers

State = dict[str, torch.Tensor]


class Model:
    """The metadata and the exactly decoded tensors of a GGUF file."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.arch = reader.fields["general.architecture"].contents()
        self.metadata = {name: field.contents() for name, field in reader.fields.items()}
        self.tensors = {tensor.name: _decode(tensor) for tensor in reader.tensors}

    def __getitem__(self, key):
        return self.metadata[f"{self.arch}.{key}"]

    def get(self, key, default=None):
        return self.metadata.get(f"{self.arch}.{key}", default)

    @property
    def heads(self):
        return self["attention.head_count"]

    @property
    def kv_heads(self):
        return self.get("attention.head_count_kv", self.heads)

    @property
    def head_dim(self):
        return self.get("attention.key_length", self["embedding_length"] // self.heads)

    @property
    def vocab(self):
        return self.tensors["token_embd.weight"].shape[0]

    @property
    def rms_epsilon(self):
        return self["attention.layer_norm_rms_epsilon"]

    @property
    def norm_epsilon(self):
        return self["attention.layer_norm_epsilon"]


def _decode(tensor):
    values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    return torch.tensor(values, dtype=torch.float64).reshape(tensor.shape[::-1].tolist())


# --- Configurations


def _common(model, **more):
    return {
        "vocab_size": model.vocab,
        "hidden_size": model["embedding_length"],
        "intermediate_size": model["feed_forward_length"],
        "num_hidden_layers": model["block_count"],
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "max_position_embeddings": model["context_length"],
        "rope_parameters": _rope(model),
        **more,
    }


def _rope(model, **more):
    return {"rope_type": "default", "rope_theta": model.get("rope.freq_base", 10000.0), **more}


def _llama(model):
    return _common(model, rms_norm_eps=model.rms_epsilon)


def _mixture(model, **more):
    return {
        **_llama(model),
        "num_experts": model["expert_count"],
        "num_experts_per_tok": model["expert_used_count"],
        "moe_intermediate_size": model.get("expert_feed_forward_length", model["feed_forward_length"]),
        **more,
    }


def _qwen2moe(model):
    return _mixture(
        model,
        norm_topk_prob=False,
        shared_expert_intermediate_size=model["expert_shared_feed_forward_length"],
    )


def _phi3(model):
    trained = model["rope.scaling.original_context_length"]
    scaling = {
        "rope_type": "longrope",
        "short_factor": model.tensors.pop("rope_factors_short.weight").tolist(),
        "long_factor": model.tensors.pop("rope_factors_long.weight").tolist(),
        "original_max_position_embeddings": trained,
        "factor": model["context_length"] / trained,
        "attention_factor": model["rope.scaling.attn_factor"],
    }
    return {
        **_llama(model),
        "rope_parameters": _rope(model, **scaling),
        "original_max_position_embeddings": trained,
        "sliding_window": model.get("attention.sliding_window"),
    }


def _gemma(model, *, largest):
    # In the largest model of a generation, told by its number of layers, queries are scaled by width / heads.
    is_largest = model["block_count"] == largest
    return {
        **_llama(model),
        "query_pre_attn_scalar": model["embedding_length"] // model.heads if is_largest else model.head_dim,
        "sliding_window": model["attention.sliding_window"],
    }


def _gemma2(model):
    return {
        **_gemma(model, largest=46),
        "attn_logit_softcapping": model["attn_logit_softcapping"],
        "final_logit_softcapping": model["final_logit_softcapping"],
    }


def _gemma3(model):
    full = _rope(model)
    if model.get("rope.scaling.type") == "linear":
        full |= {"rope_type": "linear", "factor": model["rope.scaling.factor"]}
    local = {"rope_type": "default", "rope_theta": model.get("rope.freq_base_swa", 10000.0)}
    return {
        **_gemma(model, largest=62),
        "rope_parameters": {"full_attention": full, "sliding_attention": local},
    }


def _granite(model):
    return {
        **_llama(model),
        "embedding_multiplier": model["embedding_scale"],
        "residual_multiplier": model["residual_scale"],
        "attention_multiplier": model["attention.scale"],
        "logits_scaling": model["logit_scale"],
    }


def _starcoder2(model):
    return _common(model, norm_epsilon=model.norm_epsilon, sliding_window=model.get("attention.sliding_window"))


def _command_r(model):
    return _common(
        model,
        layer_norm_eps=model.norm_epsilon,
        logit_scale=model["logit_scale"],
        use_qk_norm="blk.0.attn_q_norm.weight" in model.tensors,
    )


def _gptneox(model):
    share = model["rope.dimension_count"] / model.head_dim
    return _common(
        model,
        layer_norm_eps=model.norm_epsilon,
        use_parallel_residual=model["use_parallel_residual"],
        rope_parameters=_rope(model, partial_rotary_factor=share),
    )


def _gpt2(model):
    return {
        "vocab_size": model.vocab,
        "n_positions": model["context_length"],
        "n_embd": model["embedding_length"],
        "n_layer": model["block_count"],
        "n_head": model.heads,
        "n_inner": model["feed_forward_length"],
        "layer_norm_epsilon": model.norm_epsilon,
    }


def _mpt(model):
    return {
        "vocab_size": model.vocab,
        "max_seq_len": model["context_length"],
        "d_model": model["embedding_length"],
        "n_layers": model["block_count"],
        "n_heads": model.heads,
        "layer_norm_epsilon": model.norm_epsilon,
        "attn_config": {
            "clip_qkv": model.get("attention.clamp_kqv"),
            "alibi_bias_max": int(model["attention.max_alibi_bias"]),
        },
    }


def _gpt_oss(model):
    # The published configuration; a file holds only the factor and the length of the original context.
    scaling = {
        "rope_type": model["rope.scaling.type"],
        "factor": model["rope.scaling.factor"],
        "original_max_position_embeddings": model["rope.scaling.original_context_length"],
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
    }
    return _common(
        model,
        intermediate_size=model["expert_feed_forward_length"],
        rms_norm_eps=model.rms_epsilon,
        rope_parameters=_rope(model, **scaling),
        sliding_window=model["attention.sliding_window"],
        num_local_experts=model["expert_count"],
        num_experts_per_tok=model["expert_used_count"],
        swiglu_limit=7.0,
    )


# --- Names: of modules, so that ".weight" and ".bias" follow; * is the number of a layer

LLAMA_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.*.attn_norm": "model.layers.*.input_layernorm",
    "blk.*.attn_q": "model.layers.*.self_attn.q_proj",
    "blk.*.attn_k": "model.layers.*.self_attn.k_proj",
    "blk.*.attn_v": "model.layers.*.self_attn.v_proj",
    "blk.*.attn_q_norm": "model.layers.*.self_attn.q_norm",
    "blk.*.attn_k_norm": "model.layers.*.self_attn.k_norm",
    "blk.*.attn_output": "model.layers.*.self_attn.o_proj",
    "blk.*.ffn_norm": "model.layers.*.post_attention_layernorm",
    "blk.*.ffn_gate": "model.layers.*.mlp.gate_proj",
    "blk.*.ffn_up": "model.layers.*.mlp.up_proj",
    "blk.*.ffn_down": "model.layers.*.mlp.down_proj",
}
PHI3_NAMES = LLAMA_NAMES | {
    "blk.*.attn_qkv": "model.layers.*.self_attn.qkv_proj",
    "blk.*.ffn_up": "model.layers.*.mlp.gate_up_proj",
}
GEMMA_NAMES = LLAMA_NAMES | {
    "blk.*.post_attention_norm": "model.layers.*.post_attention_layernorm",
    "blk.*.ffn_norm": "model.layers.*.pre_feedforward_layernorm",
    "blk.*.post_ffw_norm": "model.layers.*.post_feedforward_layernorm",
}
STARCODER2_NAMES = LLAMA_NAMES | {
    "blk.*.ffn_up": "model.layers.*.mlp.c_fc",
    "blk.*.ffn_down": "model.layers.*.mlp.c_proj",
}
MIXTURE_NAMES = LLAMA_NAMES | {
    "blk.*.ffn_gate_inp": "model.layers.*.mlp.gate",
    "blk.*.ffn_gate_exps": "model.layers.*.mlp.experts.gate_proj",
    "blk.*.ffn_up_exps": "model.layers.*.mlp.experts.up_proj",
    "blk.*.ffn_down_exps": "model.layers.*.mlp.experts.down_proj",
    "blk.*.ffn_gate_inp_shexp": "model.layers.*.mlp.shared_expert_gate",
    "blk.*.ffn_gate_shexp": "model.layers.*.mlp.shared_expert.gate_proj",
    "blk.*.ffn_up_shexp": "model.layers.*.mlp.shared_expert.up_proj",
    "blk.*.ffn_down_shexp": "model.layers.*.mlp.shared_expert.down_proj",
}
GPT_OSS_NAMES = MIXTURE_NAMES | {
    "blk.*.attn_sinks": "model.layers.*.self_attn.sinks",
    "blk.*.post_attention_norm": "model.layers.*.post_attention_layernorm",
    "blk.*.ffn_gate_inp": "model.layers.*.mlp.router",
}
GPTNEOX_NAMES = {
    "token_embd": "gpt_neox.embed_in",
    "output_norm": "gpt_neox.final_layer_norm",
    "output": "lm_head",
    "blk.*.attn_norm": "gpt_neox.layers.*.input_layernorm",
    "blk.*.attn_qkv": "gpt_neox.layers.*.attention.query_key_value",
    "blk.*.attn_output": "gpt_neox.layers.*.attention.dense",
    "blk.*.ffn_norm": "gpt_neox.layers.*.post_attention_layernorm",
    "blk.*.ffn_up": "gpt_neox.layers.*.mlp.dense_h_to_4h",
    "blk.*.ffn_down": "gpt_neox.layers.*.mlp.dense_4h_to_h",
}
GPT2_NAMES = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
    "blk.*.attn_norm": "transformer.h.*.ln_1",
    "blk.*.attn_qkv": "transformer.h.*.attn.c_attn",
    "blk.*.attn_output": "transformer.h.*.attn.c_proj",
    "blk.*.ffn_norm": "transformer.h.*.ln_2",
    "blk.*.ffn_up": "transformer.h.*.mlp.c_fc",
    "blk.*.ffn_down": "transformer.h.*.mlp.c_proj",
}
MPT_NAMES = {
    "token_embd": "transformer.wte",
    "output_norm": "transformer.norm_f",
    "output": "lm_head",
    "blk.*.attn_norm": "transformer.blocks.*.norm_1",
    "blk.*.attn_qkv": "transformer.blocks.*.attn.Wqkv",
    "blk.*.attn_output": "transformer.blocks.*.attn.out_proj",
    "blk.*.ffn_norm": "transformer.blocks.*.norm_2",
    "blk.*.ffn_up": "transformer.blocks.*.ffn.up_proj",
    "blk.*.ffn_down": "transformer.blocks.*.ffn.down_proj",
}


def _rename(tensors: State, names: dict[str, str]) -> State:
    state = {}
    for name, tensor in tensors.items():
        module, kind = name.rsplit(".", 1)
        layer = re.search(r"(?<=^blk\.)\d+(?=\.)", module)
        pattern = re.sub(r"^blk\.\d+\.", "blk.*.", module)
        if pattern not in names:
            raise ValueError(f"no parameter is known for the tensor {name}")
        state[names[pattern].replace("*", layer[0] if layer else "") + "." + kind] = tensor
    return state


# --- What a conversion changed; each function restores it


def _each(state: State, pattern: str, change: Callable) -> None:
    for name in state:
        if re.search(pattern, name):
            state[name] = change(state[name])


def _halves(rows, heads):
    """Rotated pairs lie side by side in each head; the published weights have them half a head apart."""
    return rows.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def _part_rotated_pairs(model, state):
    _each(state, r"q_proj\.", lambda rows: _halves(rows, model.heads))
    _each(state, r"k_proj\.", lambda rows: _halves(rows, model.kv_heads))


def _subtract_one_from_norms(model, state):
    _each(state, r"norm\.weight", lambda scale: scale - 1)


def _interleave_qkv_by_head(model, state):
    _each(
        state,
        r"query_key_value\.",
        lambda rows: rows.unflatten(0, (3, model.heads, -1)).transpose(0, 1).flatten(0, 2),
    )


def _transpose_gpt2(model, state):
    _each(state, r"c_(attn|proj|fc)\.weight", lambda matrix: matrix.T.contiguous())


def _join_experts(model, state):
    for name in [name for name in state if name.endswith("experts.gate_proj.weight")]:
        experts = name.removesuffix("gate_proj.weight")
        gate_up = (state.pop(name), state.pop(experts + "up_proj.weight"))
        state[experts + "gate_up_proj"] = torch.cat(gate_up, dim=1)
        state[experts + "down_proj"] = state.pop(experts + "down_proj.weight")


def _row_shared_expert_gate(model, state):
    _each(state, r"shared_expert_gate\.", lambda gate: gate.reshape(1, -1))


def _shape_gpt_oss(model, state):
    for name in [name for name in state if name.endswith("self_attn.sinks.weight")]:
        state[name.removesuffix(".weight")] = state.pop(name)
    for name in [name for name in state if name.endswith("experts.gate_proj.weight")]:
        experts = name.removesuffix("gate_proj.weight")
        for kind, suffix in (("weight", ""), ("bias", "_bias")):
            gate_up = (state.pop(experts + "gate_proj." + kind), state.pop(experts + "up_proj." + kind))
            joined = torch.stack(gate_up, dim=2).flatten(1, 2)
            down = state.pop(experts + "down_proj." + kind)
            state[experts + "gate_up_proj" + suffix] = joined.mT if kind == "weight" else joined
            state[experts + "down_proj" + suffix] = down.mT if kind == "weight" else down


# --- The table


@dataclasses.dataclass
class Architecture:
    config_class: type
    model_class: type
    config: Callable[[Model], dict]
    names: dict[str, str]
    restore: tuple[Callable[[Model, State], None], ...] = ()


def _published(name, config, names, *restore, config_name=None):
    head = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
    return Architecture(
        getattr(transformers, (config_name or name) + "Config"),
        getattr(transformers, name + head),
        config,
        names,
        restore,
    )


ARCHITECTURES = {
    "command-r": _published("Cohere", _command_r, LLAMA_NAMES),
    "gemma2": _published("Gemma2", _gemma2, GEMMA_NAMES, _subtract_one_from_norms),
    "gemma3": _published("Gemma3", _gemma3, GEMMA_NAMES, _subtract_one_from_norms, config_name="Gemma3Text"),
    "gpt-oss": _published("GptOss", _gpt_oss, GPT_OSS_NAMES, _shape_gpt_oss),
    "gpt2": _published("GPT2", _gpt2, GPT2_NAMES, _transpose_gpt2),
    "gptneox": _published("GPTNeoX", _gptneox, GPTNEOX_NAMES, _interleave_qkv_by_head),
    "granite": _published("Granite", _granite, LLAMA_NAMES, _part_rotated_pairs),
    "llama": _published("Llama", _llama, LLAMA_NAMES, _part_rotated_pairs),
    "mpt": _published("Mpt", _mpt, MPT_NAMES),
    "olmoe": _published("Olmoe", lambda m: _mixture(m, norm_topk_prob=False), MIXTURE_NAMES, _join_experts),
    "phi3": _published("Phi3", _phi3, PHI3_NAMES),
    "qwen2": _published("Qwen2", _llama, LLAMA_NAMES),
    "qwen2moe": _published("Qwen2Moe", _qwen2moe, MIXTURE_NAMES, _join_experts, _row_shared_expert_gate),
    "qwen3": _published("Qwen3", _llama, LLAMA_NAMES),
    "qwen3moe": _published("Qwen3Moe", lambda m: _mixture(m, norm_topk_prob=True), MIXTURE_NAMES, _join_experts),
    "smollm3": _published("SmolLM3", _llama, LLAMA_NAMES, _part_rotated_pairs),
    "starcoder2": _published("Starcoder2", _starcoder2, STARCODER2_NAMES),
}


# --- Building and running


@contextlib.contextmanager
def float64_only():
    """Makes float64 of the float32 that models ask for by name, in norms, softmax and rotations for instance."""
    float32, to_float32 = torch.float32, torch.Tensor.float
    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.Tensor.float = to_float32
        torch.float32 = torch.float = float32
        torch.set_default_dtype(float32)


def _parameters(arch: Architecture, model: Model) -> State:
    state = _rename(model.tensors, arch.names)
    for restore in arch.restore:
        restore(model, state)
    if "output.weight" not in model.tensors:
        state["lm_head.weight"] = state[arch.names["token_embd"] + ".weight"]
    return state


def load(path):
    """The published model with the weights of the GGUF file at `path`. Use it inside `float64_only()`."""
    model = Model(path)
    if model.arch not in ARCHITECTURES:
        raise ValueError(f"expected one of {', '.join(ARCHITECTURES)}; found {model.arch} in {path}")
    arch = ARCHITECTURES[model.arch]
    divisors = model.tensors.pop("rope_freqs.weight", None)
    config = arch.config_class(
        **arch.config(model),
        tie_word_embeddings="output.weight" not in model.tensors,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
        use_cache=False,
        attn_implementation="eager",
        experts_implementation="eager",
    )
    published = arch.model_class(config).double().eval()
    published.load_state_dict(_parameters(arch, model), strict=True)
    if divisors is not None:
        published.model.rotary_emb.inv_freq /= divisors
    return published


def logits(published, ids):
    """float64, a row for each of `ids`."""
    with torch.no_grad():
        return published(input_ids=torch.tensor([ids])).logits[0]


@contextlib.contextmanager
def watched_routers(published):
    """Yields a list that grows by the scores, [tokens, experts], whenever a router of a mixture has run."""
    scores = []
    routers = [module for module in published.modules() if type(module).__name__.endswith("TopKRouter")]
    hooks = [router.register_forward_hook(lambda _, __, found: scores.append(found[0])) for router in routers]
    try:
        yield scores
    finally:
        for hook in hooks:
            hook.remove()
