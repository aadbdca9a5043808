"""What is measured, as every engine is told it."""
import dataclasses
import json

# Numbers of the tensor types that caches can have, as GGUF files and all of ggml's relatives number them.
CACHE_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}


@dataclasses.dataclass(frozen=True)
class Settings:
    model: str
    vocabulary: int
    threads: int = 2
    prompt: int = 256  # tokens; 0: no prompt is measured
    generate: int = 64  # tokens; 0: nothing is generated
    depth: int = 0  # tokens in the context before either
    batch: int = 2048
    micro_batch: int = 512
    type_k: str = "f16"
    type_v: str = "f16"
    flash: bool = True  # the peer's; Plait has one kind of attention
    repack: bool = True  # the peer's run-time repacking of weights
    wait: str = "default"  # how the peer's idle threads wait, as OMP_WAIT_POLICY has it
    passes: int = 2  # times each figure is taken within one process; the best one counts

    @property
    def context(self):
        """As `plait bench` sizes it."""
        return self.depth + max(self.prompt, self.generate + 1)

    def only(self, kind):
        """The same with only "prompt" or only "gen" of it."""
        return dataclasses.replace(self, **({"generate": 0} if kind == "prompt" else {"prompt": 0}))

    def to_json(self):
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text):
        return Settings(**json.loads(text))
