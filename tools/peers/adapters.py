"""The peers. Each class has load, prompt, generate and describe, as in llama_c.py, and says whether it is installed."""
import ctypes
import glob
import importlib.metadata
import importlib.util
import os

from .errors import PeerError
from .llama_bench import LlamaBench
from .llama_c import LlamaC

_POINTER, _INT, _UINT, _BOOL, _FLOAT = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_bool, ctypes.c_float


def package_folder(module):
    """Where an installed package lies, without importing it; None if it is not installed."""
    spec = importlib.util.find_spec(module)
    return spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else None


class _Package(LlamaC):
    """A Python package whose library is used directly."""

    name = module = distribution = ""

    @classmethod
    def version(cls):
        """None if it is not installed."""
        if package_folder(cls.module) is None:
            return None
        try:
            return importlib.metadata.version(cls.distribution)
        except importlib.metadata.PackageNotFoundError:
            return "unknown version"


def _struct(name, fields, expected=(), spare=0):
    """A ctypes struct. EXPECTED are values that its defaults must have; `spare` bytes behind it take what later versions
    appended: they are handed back as they came."""
    members = {"_fields_": [*fields, ("spare", ctypes.c_ubyte * spare)], "EXPECTED": dict(expected)}
    return type(name, (ctypes.Structure,), members)


# llama.cpp as of October 2026 (b11549). What no adapter sets has a name only where its default is checked.
_MODEL_PARAMS = _struct(
    "llama_model_params",
    [
        ("devices", _POINTER),
        ("tensor_buft_overrides", _POINTER),
        ("n_gpu_layers", _INT),
        ("split_mode", _INT),
        ("load_mode", _INT),
        ("lazy_mode", _INT),
        ("main_gpu", _INT),
        ("tensor_split", _POINTER),
        ("progress_callback", _POINTER),
        ("progress_callback_user_data", _POINTER),
        ("kv_overrides", _POINTER),
        ("vocab_only", _BOOL),
        ("check_tensors", _BOOL),
        ("use_extra_bufts", _BOOL),
    ],
    {"n_gpu_layers": -1, "split_mode": 1, "load_mode": -1, "lazy_mode": 1, "main_gpu": 0, "check_tensors": False,
     "use_extra_bufts": True},
    spare=128,
)
_CONTEXT_PARAMS = _struct(
    "llama_context_params",
    [
        *((name, _UINT) for name in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_rs_seq", "n_outputs_max")),
        ("n_outputs_max_per_seq", _UINT),
        ("n_threads", _INT),
        ("n_threads_batch", _INT),
        *((name, _INT) for name in ("ctx_type", "rope_scaling_type", "pooling_type", "attention_type", "flash_attn_type")),
        *((name, _FLOAT) for name in ("rope_freq_base", "rope_freq_scale", "yarn_ext_factor", "yarn_attn_factor")),
        ("yarn_beta_fast", _FLOAT),
        ("yarn_beta_slow", _FLOAT),
        ("yarn_orig_ctx", _UINT),
        ("defrag_thold", _FLOAT),
        ("cb_eval", _POINTER),
        ("cb_eval_user_data", _POINTER),
        ("type_k", _INT),
        ("type_v", _INT),
    ],
    {"n_seq_max": 1, "n_rs_seq": 0, "n_outputs_max": 0, "ctx_type": 0, "rope_scaling_type": -1, "pooling_type": -1,
     "attention_type": -1, "flash_attn_type": -1, "yarn_ext_factor": -1.0, "defrag_thold": -1.0, "cb_eval": None},
    spare=192,
)
_BATCH = _struct(
    "llama_batch",
    [
        ("n_tokens", _INT),
        ("token", ctypes.POINTER(_INT)),
        ("embd", _POINTER),
        ("pos", _POINTER),
        ("n_seq_id", _POINTER),
        ("seq_id", _POINTER),
        ("logits", _POINTER),
    ],
)


class _Upstream(_Package):
    """llama.cpp itself. Repacking is among the extra buffer types, which are in use by default, with mapped files too."""

    def tune(self, model, context, settings):
        if hasattr(model, "use_extra_bufts"):
            model.use_extra_bufts = settings.repack
        elif not settings.repack:
            raise PeerError("this version has no switch for repacking")


class XLlamaCpp(_Upstream):
    name = module = distribution = "xllamacpp"

    def library_path(self):
        found = glob.glob(os.path.join(package_folder(self.module), "xllamacpp*.so"))
        if len(found) != 1:
            raise PeerError(f"expected one library xllamacpp*.so in the package, found {len(found)}")
        return found[0]

    def structs(self):
        return _MODEL_PARAMS, _CONTEXT_PARAMS, _BATCH


class LlamaCppPython(_Upstream):
    name, module, distribution = "llama-cpp-python", "llama_cpp", "llama-cpp-python"

    def library_path(self):
        import llama_cpp.llama_cpp as api

        self._api = api
        return api._lib._name

    def structs(self):
        return self._api.llama_model_params, self._api.llama_context_params, self._api.llama_batch


class IkLlama(_Package):
    """ik_llama.cpp: its fused products are on by default; repacking at load time is not, and reads the whole file."""

    name, module, distribution = "ik-llama-cpp-python", "ik_llama_cpp", "ik-llama-cpp-python"

    def library_path(self):
        import ik_llama_cpp._ctypes_api as api

        self._api = api
        return api._lib._name

    def structs(self):
        return self._api.llama_model_params, self._api.llama_context_params, self._api.llama_batch

    def tune(self, model, context, settings):
        if not (model.use_mmap and context.offload_kqv and context.seed == 0xFFFFFFFF):
            raise PeerError("its default parameters are not as known: its structs may be laid out differently")
        model.repack_tensors = settings.repack
        model.use_mmap = not settings.repack
        model.flash_attn = settings.flash
        context.fused_moe_up_gate = context.fused_up_gate = context.fused_mmad = context.graph_reuse = True


PACKAGES = (XLlamaCpp, LlamaCppPython, IkLlama)
ALL = (*PACKAGES, LlamaBench)


def named(name):
    return next(peer for peer in ALL if peer.name == name)
