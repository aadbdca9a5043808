"""Peers that have llama.cpp's C functions in a shared library.

The functions are declared here, since few of them changed over the years; the structs of parameters did, so each adapter
brings the ones of its package. Parameters start as the library's own defaults, which are checked before anything else
is believed about their layout.
"""
import ctypes
import re
import time

from . import ids as token_ids
from .errors import PeerError
from .settings import CACHE_TYPES

_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

# Lines of the log that say how the library set itself up.
_TELLING = re.compile(r"flash_attn +=|CPU_REPACK model buffer|Repacked \d|FANCY_SIMD|fused_\w+ +=")


class LlamaC:
    """One model in one context. Subclasses say where the library is, what its structs look like and which settings make
    it fast."""

    def __init__(self):
        self.lib = ctypes.CDLL(self.library_path())
        self._log = []
        self._logger = _LOG(lambda level, text, data: self._log.append(text.decode(errors="replace")))
        self._call("llama_log_set", None, [_LOG, ctypes.c_void_p])(self._logger, None)

    # What subclasses provide.
    def library_path(self):
        raise NotImplementedError

    def structs(self):
        """The types llama_model_params, llama_context_params and llama_batch."""
        raise NotImplementedError

    def tune(self, model, context, settings):
        """Sets what only this library has."""

    # The interface of every peer.
    def load(self, settings):
        self._settings = settings
        model_type, context_type, self._batch_type = self.structs()
        model_params = self._defaults("llama_model_default_params", model_type, {"vocab_only": False})
        context_params = self._defaults(
            "llama_context_default_params",
            context_type,
            {"n_ctx": 512, "n_batch": 2048, "n_ubatch": 512, "n_threads": 4, "n_threads_batch": 4, "type_k": 1, "type_v": 1},
        )
        model_params.n_gpu_layers = 0
        self._fill(context_params, settings)
        self.tune(model_params, context_params, settings)
        self._call("llama_backend_init", None, [])()
        self._model = self._open(model_type, model_params, settings.model)
        self._context = self._start(context_type, context_params)
        self._check_context(settings)
        self._bind()
        self.notes = self._telling_lines()
        # From here on nothing is printed, and no Python runs between the tokens: a C function that looks at no argument.
        self._silence = ctypes.cast(ctypes.CDLL(None).getpid, _LOG)
        self._call("llama_log_set", None, [_LOG, ctypes.c_void_p])(self._silence, None)
        self._decode(token_ids.generation_start(0, self._vocabulary), 0)  # the warm-up, as in `plait bench`

    def prompt(self, count):
        """Seconds that a prompt takes, its last logits included."""
        depth = self._settings.depth
        self._fill_to(depth)
        chunks = self._batches(token_ids.prompt_ids(count, self._vocabulary), depth)
        start = time.perf_counter()
        self._run(chunks)
        return time.perf_counter() - start

    def generate(self, count, depth):
        """Seconds that `count` greedy tokens take, and their ids.

        The ids are found in a first run that is not timed. The timed one feeds them again, so that only the engine's own
        calls are in it; it must arrive at the same next id.
        """
        ids, next_id = self._greedy(count, depth)
        length = self._start_generation(depth)
        tokens = (ctypes.c_int32 * count)(*ids)
        steps = [self._step(tokens, i, length + i) for i in range(count)]
        start = time.perf_counter()
        self._run(steps)
        seconds = time.perf_counter() - start
        if self._best() != next_id:
            raise PeerError("it found another token in a second run over the same tokens")
        return seconds, ids

    def follow(self, ids, depth):
        """The best id before each of these, which are fed as if they had been generated."""
        length = self._start_generation(depth)
        found = []
        for i, token in enumerate(ids):
            found.append(self._best())
            self._decode([token], length + i)
        return found

    def describe(self):
        info = self._call("llama_print_system_info", ctypes.c_char_p, [])()
        return {"build": f"built for {instruction_sets(info.decode(errors='replace'))}", "notes": self.notes}

    # The rest.
    def _call(self, name, result, arguments):
        function = getattr(self.lib, name)
        function.restype, function.argtypes = result, arguments
        return function

    def _first(self, *names):
        for name in names:
            if hasattr(self.lib, name):
                return name
        raise PeerError(f"its library has none of the functions {', '.join(names)}")

    def _defaults(self, function, struct, expected):
        params = self._call(function, struct, [])()
        check_defaults(function, params, expected | getattr(struct, "EXPECTED", {}))
        return params

    def _fill(self, params, settings):
        params.n_ctx = settings.context
        params.n_batch = settings.batch
        params.n_ubatch = settings.micro_batch
        params.n_threads = params.n_threads_batch = settings.threads
        params.type_k = CACHE_TYPES[settings.type_k]
        params.type_v = CACHE_TYPES[settings.type_v]
        if hasattr(params, "flash_attn_type"):
            params.flash_attn_type = int(settings.flash)
        else:
            params.flash_attn = settings.flash
        if hasattr(params, "no_perf"):
            params.no_perf = True

    def _open(self, model_type, params, path):
        name = self._first("llama_model_load_from_file", "llama_load_model_from_file")
        model = self._call(name, ctypes.c_void_p, [ctypes.c_char_p, model_type])(path.encode(), params)
        if not model:
            raise PeerError(f"it cannot load the model: {self._last_words()}")
        vocab = self._call("llama_model_get_vocab", ctypes.c_void_p, [ctypes.c_void_p])(model)
        self._vocabulary = self._call("llama_vocab_n_tokens", ctypes.c_int32, [ctypes.c_void_p])(vocab)
        if self._vocabulary != self._settings.vocabulary:
            raise PeerError(
                f"it takes the vocabulary for {self._vocabulary} tokens, the model's table has {self._settings.vocabulary}"
            )
        return model

    def _start(self, context_type, params):
        name = self._first("llama_init_from_model", "llama_new_context_with_model")
        context = self._call(name, ctypes.c_void_p, [ctypes.c_void_p, context_type])(self._model, params)
        if not context:
            raise PeerError(f"it cannot make a context: {self._last_words()}")
        return context

    def _check_context(self, settings):
        """That the library understood the parameters as they were meant."""
        for name, least, greatest in (
            ("llama_n_ctx", settings.context, settings.context + 512),
            ("llama_n_batch", 1, settings.batch),
            ("llama_n_threads", settings.threads, settings.threads),
            ("llama_n_threads_batch", settings.threads, settings.threads),
        ):
            found = self._call(name, ctypes.c_uint32, [ctypes.c_void_p])(self._context)
            if not least <= found <= greatest:
                raise PeerError(f"{name} is {found}, expected {least} to {greatest}: its structs are not laid out as known")
        self._batch_size = self._call("llama_n_batch", ctypes.c_uint32, [ctypes.c_void_p])(self._context)

    def _bind(self):
        pointer, number = ctypes.c_void_p, ctypes.c_int32
        self._llama_decode = self._call("llama_decode", number, [pointer, self._batch_type])
        self._logits = self._call("llama_get_logits_ith", pointer, [pointer, number])
        kind = self._first("llama_memory_clear", "llama_kv_self_clear", "llama_kv_cache_clear").removesuffix("_clear")
        cut = self._call(f"{kind}_seq_rm", ctypes.c_bool, [pointer, number, number, number])
        if kind == "llama_memory":
            memory = self._call("llama_get_memory", pointer, [pointer])(self._context)
            clear = self._call("llama_memory_clear", None, [pointer, ctypes.c_bool])
            self._clear = lambda: clear(memory, True)
        else:
            memory = self._context
            clear = self._call(f"{kind}_clear", None, [pointer])
            self._clear = lambda: clear(memory)
        self._keep = lambda count: cut(memory, 0, count, -1)
        self._filled = 0  # so many of the prompt's ids the context starts with

    def _fill_to(self, depth):
        """Leaves exactly the first `depth` prompt ids in the context; what is there of them already stays."""
        if depth > self._filled or not self._keep(depth):
            self._clear()
            if depth > 0:
                self._decode(token_ids.prompt_ids(depth, self._vocabulary), 0)
        self._filled = depth

    def _start_generation(self, depth):
        """The context before the first generated token, with its logits at hand. Returns its length. The last id is
        always a step of its own, so that every run sees the same bits."""
        ids = token_ids.generation_start(depth, self._vocabulary)
        self._fill_to(len(ids) - 1)
        self._decode(ids[-1:], len(ids) - 1)
        if depth > 0:
            self._filled = depth
        return len(ids)

    def _batches(self, ids, position):
        tokens = (ctypes.c_int32 * len(ids))(*ids)
        size = self._batch_size
        return [
            self._step(tokens, first, position + first, min(size, len(ids) - first)) for first in range(0, len(ids), size)
        ]

    def _step(self, tokens, first, position, count=1):
        pointer = ctypes.cast(ctypes.addressof(tokens) + 4 * first, ctypes.POINTER(ctypes.c_int32))
        batch = make_batch(self._batch_type, pointer, count, position)
        batch.owner = tokens
        return batch

    def _run(self, batches):
        decode, logits, context = self._llama_decode, self._logits, self._context
        for batch in batches:
            status = decode(context, batch)
            if status != 0:
                raise PeerError(f"llama_decode returned {status}")
            logits(context, -1)  # waits until they are there

    def _decode(self, ids, position):
        self._run(self._batches(ids, position))

    def _best(self):
        row = token_ids.floats_at(self._logits(self._context, -1), self._vocabulary)
        try:
            return token_ids.best_id(row)
        except ValueError as error:
            raise PeerError(str(error)) from None

    def _greedy(self, count, depth):
        """So many ids, and the one that would follow."""
        length = self._start_generation(depth)
        ids = []
        for i in range(count):
            ids.append(self._best())
            self._decode(ids[-1:], length + i)
        return ids, self._best()

    def _last_words(self):
        lines = "".join(self._log).strip().splitlines()
        errors = [line for line in lines if "error" in line.lower() or "fail" in line.lower()]
        return (errors or lines or ["it says nothing"])[-1].strip()

    def _telling_lines(self):
        lines = dict.fromkeys(line.strip() for line in "".join(self._log).splitlines() if _TELLING.search(line))
        self._log.clear()
        return list(lines)


def check_defaults(function, params, expected):
    """Refuses a struct whose fields do not hold what they are known to hold by default."""
    for name, value in expected.items():
        found = getattr(params, name)
        if found != value:
            raise PeerError(
                f"{function} gives {name} = {found}, expected {value}: this version's structs are not laid out as known"
            )


def instruction_sets(system_info):
    """The names that llama_print_system_info marks with 1."""
    return " ".join(re.findall(r"(\w+) = 1\b", system_info))


def make_batch(batch_type, tokens, count, position):
    """One sequence, positions in order, logits of the last token only. Newer versions count the positions themselves; older
    ones and ik_llama.cpp want to be told the first one."""
    positions = {"all_pos_0": position, "all_pos_1": 1} if hasattr(batch_type, "all_pos_0") else {}
    return batch_type(n_tokens=count, token=tokens, **positions)
