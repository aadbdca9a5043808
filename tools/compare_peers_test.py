#!/usr/bin/env python3
"""Tests what compare_peers.py is made of, without Plait and without peers: stand-ins take their places."""
import array
import ctypes
import io
import json
import os
import pathlib
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
from types import SimpleNamespace

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

from peers import adapters, comparison, engines, figures, foreign, gguf_header, ids, llama_bench, llama_c, report
from peers.errors import PeerError
from peers.settings import Settings

SETTINGS = Settings(model="model.gguf", vocabulary=100, prompt=8, generate=4)


class IdsTest(unittest.TestCase):
    def test_prompt_is_that_of_bench(self):
        self.assertEqual(ids.prompt_ids(3, 2000), [13, 1932, 1851])
        self.assertEqual(ids.prompt_ids(0, 5), [])

    def test_generation_starts_behind_the_depth_or_behind_one_id(self):
        self.assertEqual(ids.generation_start(0, 2000), [1])
        self.assertEqual(ids.generation_start(0, 1), [0])
        self.assertEqual(ids.generation_start(2, 2000), ids.prompt_ids(2, 2000))

    def test_checksum_is_that_of_the_published_function(self):
        self.assertEqual(ids.xxh64(b""), 0xEF46DB3751D8E999)
        self.assertEqual(ids.xxh64(b"a"), 0xD24EC4F1A98C6E5B)
        self.assertEqual(ids.xxh64(b"abc"), 0x44BC2CF5AD770999)

    def test_checksum_is_that_of_bench(self):
        # What `plait bench` and `plait logits` printed for one model: 64 bytes, the loop over stripes.
        greedy = [643, 1697, 1571, 1610, 187, 1821, 12, 1015, 794, 1639, 1960, 1615, 627, 1066, 217, 1615]
        self.assertEqual(ids.checksum(greedy), "9279160df4e3b7a5")

    def test_agreement_counts_leading_ids(self):
        self.assertEqual(ids.agreement([1, 2, 3], [1, 2, 3]), 3)
        self.assertEqual(ids.agreement([1, 2, 3], [1, 9, 3]), 1)
        self.assertEqual(ids.agreement([], [1]), 0)

    def test_best_id_is_the_first_of_equals(self):
        self.assertEqual(ids.best_id(array.array("f", [0, 3, 3])), 1)
        self.assertEqual(ids.best_id(array.array("f", [7])), 0)

    def test_logits_that_are_none_are_refused(self):
        for row in ([1, float("nan")], [float("inf"), 0], [2, 2, 2]):
            with self.assertRaises(ValueError):
                ids.best_id(array.array("f", row))

    def test_constant_ids_are_seen_from_some_length_on(self):
        self.assertTrue(ids.is_constant([5] * ids.CONSTANT_RUN))
        self.assertFalse(ids.is_constant([5] * (ids.CONSTANT_RUN - 1)))
        self.assertFalse(ids.is_constant([5] * 20 + [6]))


class FiguresTest(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(figures.spread([3, 1, 2]), (2, 1, 3))
        self.assertEqual(figures.spread([4, 1]), (2.5, 1, 4))
        self.assertEqual(figures.spread([7]), (7, 7, 7))

    def test_ratios_are_taken_within_pairs(self):
        self.assertEqual(figures.ratios([10, 30], [5, 10]), [2, 3])
        with self.assertRaises(ValueError):
            figures.ratios([1, 2], [1])

    def test_gops_counts_a_multiplication_with_its_addition_as_two(self):
        self.assertEqual(figures.gops(1e9, 100), 200)


STAT = """cpu  100 20 30 500 40 5 6 7 99 0
cpu0 50 10 15 250 20 2 3 4 50 0
cpu1 50 10 15 250 20 3 3 3 49 0
intr 12345
"""


class ForeignTest(unittest.TestCase):
    def test_busy_time_leaves_out_idling_waiting_and_what_is_counted_twice(self):
        self.assertEqual(foreign.parse_stat(STAT, 100), ((100 + 20 + 30 + 5 + 6 + 7) / 100, 2))

    def test_share_is_of_all_cores(self):
        self.assertAlmostEqual(foreign.foreign_share(busy_seconds=3, own_seconds=2, wall_seconds=2, cores=2), 0.25)

    def test_share_stays_between_none_and_all(self):
        self.assertEqual(foreign.foreign_share(1, 1.02, 1, 2), 0)
        self.assertEqual(foreign.foreign_share(9, 0, 1, 2), 1)
        self.assertEqual(foreign.foreign_share(1, 0, 0, 2), 0)

    def test_quiet_measurements_are_not_repeated(self):
        shares = iter([0.05, 0.01])
        result = foreign.quietest(lambda: SimpleNamespace(foreign=next(shares)), 0.1, 3)
        self.assertEqual((result.foreign, result.marked), (0.05, False))

    def test_the_quietest_is_kept_and_marked(self):
        shares = iter([0.5, 0.3, 0.4])
        result = foreign.quietest(lambda: SimpleNamespace(foreign=next(shares)), 0.1, 3)
        self.assertEqual((result.foreign, result.marked), (0.3, True))

    @unittest.skipUnless(pathlib.Path("/proc/stat").exists(), "needs /proc/stat")
    def test_own_work_is_not_foreign(self):
        busy = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        done, share = foreign.run_watched([sys.executable, "-c", busy])
        self.assertEqual(done.returncode, 0)
        self.assertTrue(0 <= share <= 1)


def text_bytes(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf_bytes(metadata, shapes, version=3):
    """A header with whole numbers, texts and lists of texts as values."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(shapes), len(metadata))
    for key, value in metadata.items():
        out += text_bytes(key)
        if isinstance(value, int):
            out += struct.pack("<II", 4, value)
        elif isinstance(value, str):
            out += struct.pack("<I", 8) + text_bytes(value)
        else:
            out += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text_bytes, value))
    for name, shape in shapes.items():
        out += text_bytes(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)
    return out


MOE = {"general.architecture": "llama", "llama.expert_count": 8, "llama.expert_used_count": 2, "tokens": ["a", "bc"]}
SHAPES = {
    "token_embd.weight": (16, 100),
    "output.weight": (16, 100),
    "output_norm.weight": (16,),
    "blk.0.attn_norm.weight": (16,),
    "blk.0.attn_q.weight": (16, 32),
    "blk.0.attn_q_norm.weight": (8, 4),
    "blk.0.attn_q.bias": (32, 1),
    "blk.0.ffn_gate_inp.weight": (16, 8),
    "blk.0.ffn_up_exps.weight": (16, 24, 8),
}


class HeaderTest(unittest.TestCase):
    def test_parameters_leave_out_table_head_norms_and_unused_experts(self):
        header = gguf_header.read_header(io.BytesIO(gguf_bytes(MOE, SHAPES)))
        self.assertEqual(gguf_header.matmul_parameters(header), 16 * 32 + 16 * 8 + 16 * 24 * 2)

    def test_model_in_parts_is_read_from_any_part(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = (pathlib.Path(folder) / f"m-0000{i}-of-00002.gguf" for i in (1, 2))
            first.write_bytes(gguf_bytes(MOE, {"token_embd.weight": (16, 100)}))
            second.write_bytes(gguf_bytes({}, {"blk.0.attn_q.weight": (16, 32)}))
            for part in (first, second):
                self.assertEqual(gguf_header.read_model(part), ("llama", 100, 512))

    def test_what_is_no_header_is_refused(self):
        whole = gguf_bytes(MOE, SHAPES)
        hostile = b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60)
        for data in (b"", b"GGML" + whole[4:], whole[:-1], whole[:30], gguf_bytes(MOE, SHAPES, version=9), hostile):
            with self.assertRaises(gguf_header.FormatError):
                gguf_header.read_header(io.BytesIO(data))


class LlamaBenchTest(unittest.TestCase):
    def test_output(self):
        row = {"build_number": 7, "build_commit": "abc", "samples_ns": [2500000000]}
        self.assertEqual(llama_bench.parse(json.dumps([row])), ("7 (abc)", 2.5))
        for text in ("", "[]", "{}", json.dumps([row, row]), json.dumps([row | {"samples_ns": [1, 2]}])):
            with self.assertRaises(PeerError):
                llama_bench.parse(text)

    def test_flash_attention_is_spelt_as_the_version_wants_it(self):
        self.assertEqual(llama_bench.flash_word("-fa, --flash-attn <0|1>   (default: 0)", True), "1")
        self.assertEqual(llama_bench.flash_word("-fa, --flash-attn <on|off|auto>  (default: auto)", True), "on")
        self.assertEqual(llama_bench.flash_word("-fa, --flash-attn <on|off|auto>  (default: auto)", False), "off")

    def test_measurement_through_a_process_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "llama-bench"
            program.write_text("#!/bin/sh\necho '[{\"build_number\":1,\"build_commit\":\"c\",\"samples_ns\":[2000000]}]'\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            measured = engines.Peer("llama-bench", "1", program=str(program)).measure(SETTINGS)
            self.assertAlmostEqual(measured.prompt_tps, 4000)
            self.assertAlmostEqual(measured.gen_tps, 2000)
            self.assertIsNone(measured.greedy)
            program.write_text("#!/bin/sh\necho no such model >&2\nexit 3\n")
            with self.assertRaisesRegex(PeerError, "status 3: no such model"):
                engines.Peer("llama-bench", "1", program=str(program)).measure(SETTINGS)


class LayoutTest(unittest.TestCase):
    def test_struct_with_other_defaults_is_refused(self):
        params = SimpleNamespace(n_ctx=512, n_batch=0)
        llama_c.check_defaults("f", params, {"n_ctx": 512})
        with self.assertRaisesRegex(PeerError, "f gives n_batch = 0, expected 2048"):
            llama_c.check_defaults("f", params, {"n_ctx": 512, "n_batch": 2048})

    @unittest.skipUnless(ctypes.sizeof(ctypes.c_void_p) == 8, "offsets of 64-bit machines")
    def test_known_layout(self):
        model, context, batch = adapters.XLlamaCpp.structs(None)
        self.assertEqual((model.n_gpu_layers.offset, model.vocab_only.offset), (16, 72))
        self.assertEqual((context.n_threads.offset, context.type_k.offset), (28, 104))
        self.assertEqual(ctypes.sizeof(batch), 56)

    def test_batch_tells_its_first_position_where_the_library_asks(self):
        tokens = (ctypes.c_int32 * 2)(5, 6)
        older = adapters._struct("llama_batch", [*adapters._BATCH._fields_[:7], ("all_pos_0", ctypes.c_int32),
                                                 ("all_pos_1", ctypes.c_int32), ("all_seq_id", ctypes.c_int32)])
        for batch_type in (adapters._BATCH, older):
            batch = llama_c.make_batch(batch_type, tokens, 2, 7)
            self.assertEqual((batch.n_tokens, batch.token[1], batch.pos), (2, 6, None))
        self.assertEqual((batch.all_pos_0, batch.all_pos_1, batch.all_seq_id), (7, 1, 0))

    def test_instruction_sets(self):
        self.assertEqual(llama_c.instruction_sets("CPU : AVX = 1 | AVX512 = 0 | FMA = 1 | "), "AVX FMA")


class EnvironmentTest(unittest.TestCase):
    def test_wait_policy_reaches_the_peer(self):
        self.assertEqual(engines.worker_environment("passive")["OMP_WAIT_POLICY"], "passive")
        self.assertEqual(engines.worker_environment().get("OMP_WAIT_POLICY"), os.environ.get("OMP_WAIT_POLICY"))


class StandIn:
    """An engine that returns speeds in turn; a PeerError among them is raised."""

    def __init__(self, name, speeds, greedy, flash_speeds=None, follow=None):
        self.name, self.version, self._follow = name, "1", follow
        self._speeds, self._greedy, self._flash_speeds = iter(speeds), greedy, flash_speeds

    def measure(self, settings):
        if self._flash_speeds and settings.flash in self._flash_speeds:
            prompt, gen = self._flash_speeds.pop(settings.flash)
        else:
            prompt = gen = next(self._speeds)
        if isinstance(prompt, PeerError):
            raise prompt
        return engines.Measurement(
            prompt_tps=prompt if settings.prompt else None,
            gen_tps=gen if settings.generate else None,
            foreign=0.0,
            checksum=ids.checksum(self._greedy) if self._greedy else None,
            greedy=self._greedy,
            details={"build": "built for nothing", "device": "stand-in", "notes": []},
        )

    def greedy(self, settings):
        return self._greedy

    def follow(self, given, settings):
        return self._follow if self._follow is not None else given


MODEL = gguf_header.Model("llama", 100, 1e9)


def compare(plait, *peers, flash="on", pairs=2, settings=SETTINGS):
    plan = comparison.Plan(pairs=pairs, flash=flash, limit=0.1, tries=1)
    return comparison.compare(plait, peers, settings, MODEL, plan, lambda line: None)


class ComparisonTest(unittest.TestCase):
    def test_ratios_and_agreement(self):
        result = compare(StandIn("plait", [100, 300], [1, 2, 3, 4]), StandIn("peer", [50, 100], [1, 2, 9, 4]))
        self.assertEqual(comparison.ratios(result, result.peers[0], "gen"), [2, 3])
        self.assertEqual(result.peers[0].agreeing, 2)
        self.assertFalse(result.failed())
        text = report.text(result, 0.1)
        self.assertIn("the first 2 of 4 greedy ids are Plait's; fed Plait's ids, it finds 4 of them best", text)
        self.assertIn("2.500  2.000     3.000", text)
        self.assertIn("0 of 4 measurements", text)
        json.dumps(report.as_json(result))

    def test_peer_that_fails_leaves_the_others_running(self):
        broken = StandIn("broken", [50, PeerError("it crashed")], [1, 2, 3, 4])
        result = compare(StandIn("plait", [100, 100], [1, 2, 3, 4]), broken, StandIn("peer", [50, 50], [1, 2, 3, 4]))
        self.assertEqual(result.peers[0].faults, ["it crashed"])
        self.assertEqual([len(peer.measurements) for peer in result.peers], [1, 2])
        self.assertTrue(result.failed())
        self.assertIn("FAULT: it crashed", report.text(result, 0.1))

    def test_peer_that_never_runs(self):
        result = compare(StandIn("plait", [100, 100], [1, 2, 3, 4]), StandIn("peer", [PeerError("no")], None))
        self.assertIn("FAULT: no", report.text(result, 0.1))
        json.dumps(report.as_json(result))

    def test_constant_answer_is_a_fault_unless_the_peer_follows_plait(self):
        settings = SETTINGS.only("gen")
        varied, constant = list(range(20)), [7] * 20
        for followed, faults in ((False, ["it generated nothing but the id 7"]), (True, [])):
            plait, peer = StandIn("plait", [1, 1], varied), StandIn("peer", [1, 1], constant)
            if not followed:
                peer.follow = lambda given, settings: None
            self.assertEqual(compare(plait, peer, settings=settings).peers[0].faults, faults)

    def test_peer_that_does_not_follow_is_not_believed(self):
        ours, settings = list(range(16)), SETTINGS.only("gen")
        for found, faults in (([*range(7)] + [99] * 9, 1), ([*range(8)] + [99] * 8, 0)):
            peer = StandIn("peer", [1, 1], ours, follow=found)
            result = compare(StandIn("plait", [1, 1], ours), peer, settings=settings)
            self.assertEqual(len(result.peers[0].faults), faults)

    def test_best_flash_setting_is_chosen_for_each_kind(self):
        peer = StandIn("peer", [], None, flash_speeds={True: (5, 1), False: (3, 2)})
        plan = comparison.Plan(pairs=1, flash="best", limit=0.1, tries=1)
        self.assertEqual(comparison.choose_flash(peer, SETTINGS, plan), {"prompt": True, "gen": False})

    def test_flash_setting_that_cannot_run_is_not_chosen(self):
        peer = StandIn("peer", [], None, flash_speeds={True: (5, 1), False: (PeerError("needs it"), 0)})
        plan = comparison.Plan(pairs=1, flash="best", limit=0.1, tries=1)
        self.assertEqual(comparison.choose_flash(peer, SETTINGS, plan), {"prompt": True, "gen": True})


class CommandLineTest(unittest.TestCase):
    def run_tool(self, *arguments):
        command = [sys.executable, TOOLS / "compare_peers.py", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=50)

    def test_wrong_usage(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as model:
            model.write(gguf_bytes(MOE, SHAPES))
            model.flush()
            for arguments, said in (
                ((), "expected a model"),
                (("-m", "/nowhere.gguf"), "No such file"),
                (("-m", __file__), "not a GGUF file"),
                (("-m", model.name, "-r", "0"), "at least 1"),
                (("-m", model.name, "-p", "0", "-n", "0"), "at least one token"),
                (("-m", model.name, "--peers", "nobody"), "--peers nobody"),
                (("-m", model.name, "-ctk", "q9"), "invalid choice"),
                (("-m", model.name, "--foreign-limit", "101"), "percentage"),
                (("-m", model.name, "--llama-bench", "/nowhere"), "expected a program"),
                (("-m", model.name, "--json", "/nowhere/x.json"), "cannot be written"),
                (("-m", model.name, "--json", "/tmp"), "cannot be written"),
                (("--list", "--peer-python", "/nowhere"), "cannot list"),
            ):
                done = self.run_tool(*arguments)
                self.assertEqual(done.returncode, 2, (arguments, done.stderr))
                self.assertIn(said, done.stderr)

    def test_list_names_every_peer(self):
        done = self.run_tool("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], [peer.name for peer in adapters.ALL])


if __name__ == "__main__":
    unittest.main()
