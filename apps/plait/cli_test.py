#!/usr/bin/env python3
"""What each command does: results on stdout, all else on stderr, reports, equal results, closed pipes, Ctrl-C.

usage: cli_test.py PLAIT [unittest's arguments]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from cli_support import (best_ids, CACHE, CliTest, command_line, CONTEXT, DONE, FAILED, GOLDEN, greedy_of, main, MODEL,
                         NO_TOKENIZER, plait, read_npy, Result, run_flags, synth, WORK)


class RunTest(CliTest):
    def report_of(self, *flags):
        path = WORK / "run.json"
        self.done(*run_flags("--report", path, *flags))
        return json.loads(path.read_text())

    def test_text_on_stdout_and_the_rest_on_stderr(self):
        result = self.done(*run_flags("--seed", 7))
        self.assertTrue(result.text.endswith("\n"))
        for text in ("cpu: ", "MiB weights", "one device", "context 512 tokens", "seed 7", "tokens/s", "(limit)"):
            self.assertIn(text, result.err)
            self.assertNotIn(text, result.text)

    def test_report(self):
        report = self.report_of("--ignore-eos")
        self.assertEqual((report["generated_tokens"], report["stop_reason"]), (8, "limit"))
        self.assertEqual(report["context"], CONTEXT)
        for key in ("device", "weights_bytes", "kv_bytes", "compute_bytes", "prompt_tokens", "prompt_seconds",
                    "generation_seconds", "prompt_tps", "gen_tps"):
            self.assertTrue(report[key], key)
        self.assertEqual(report["gathered_rows"], 0)

    def test_rows_of_logits_that_had_to_be_read_are_counted(self):
        flags = ("--ignore-eos", "--temp", 2, "--top-k", 0, "--min-p", 0, "--top-p", 0.99, "--seed", 3)
        self.assertEqual(self.report_of(*flags, "--candidates", 2)["gathered_rows"], 8)
        some = self.done(*run_flags(*flags, "--candidates", 2))
        self.assertIn("rows of logits read whole", some.err)
        self.assertEqual(some.out, self.done(*run_flags(*flags)).out, "the same text, however it was chosen")

    def test_same_seed_same_text(self):
        def text(*flags):
            return self.done(*run_flags("--temp", 1.5, "--top-k", 0, *flags, tokens=24)).out

        self.assertEqual(text("--seed", 5), text("--seed", 5, "-t", 1, "-ub", 3))
        self.assertGreater(len({text("--seed", seed) for seed in range(4)}), 1)
        self.assertGreater(len({text() for _ in range(4)}), 1)
        self.assertGreater(len({text("--seed", -1) for _ in range(4)}), 1)

    def test_the_drawn_seed_is_told_and_gives_the_text_again(self):
        first = self.done(*run_flags("--temp", 1))
        seed = re.search(r"seed (\d+)", first.err).group(1)
        self.assertEqual(self.done(*run_flags("--temp", 1, "--seed", seed)).out, first.out)

    def test_greedy_does_not_depend_on_the_seed(self):
        for temperature in (0, -1):
            texts = {self.done(*run_flags("--temp", temperature, "--seed", seed)).out for seed in (1, 2)}
            self.assertEqual(len(texts), 1)
        self.assertEqual(self.done(*run_flags("--temp", 0)).out, self.done(*run_flags("--top-k", 1)).out)

    def test_sampling_flags_have_an_effect(self):
        plain = self.done(*run_flags("--temp", 0, "--ignore-eos", tokens=40)).out
        for flags in ("--repeat-penalty 1.5", "--repeat-penalty 1.5 --repeat-last-n -1", "--presence-penalty 3",
                      "--frequency-penalty 3"):
            result = self.done(*run_flags("--temp", 0, "--ignore-eos", *flags.split(), tokens=40))
            self.assertNotEqual(result.out, plain, flags)
        for flags in ("--top-p 0", "--min-p 1", "--top-k 1"):
            result = self.done(*run_flags("--temp", 5, "--ignore-eos", *flags.split(), tokens=40))
            self.assertEqual(result.out, plain, flags)

    def test_number_of_tokens(self):
        self.assertEqual(self.done(*run_flags(tokens=0)).out, b"\n")
        self.assertEqual(self.report_of("-n", 0)["generated_tokens"], 0)
        full = self.report_of("-n", -1, "-c", 40, "--ignore-eos")
        self.assertEqual(full["stop_reason"], "context full")
        self.assertEqual(full["generated_tokens"], 40 - full["prompt_tokens"] + 1)

    def test_end_token(self):
        flat = ("-n", 300, "--temp", 2, "--top-k", 0, "--min-p", 0)
        reports = (self.report_of(*flat, "--seed", seed) for seed in range(20))
        self.assertTrue(any(report["stop_reason"] == "end token" for report in reports))

    def test_context(self):
        self.assertEqual(self.report_of("-c", 0)["context"], CONTEXT)
        self.assertEqual(self.report_of("-c", 2 * CONTEXT)["context"], 2 * CONTEXT)
        self.assertIn("warning: the context of 1024", self.done(*run_flags("-c", 1024)).err)
        self.assertNotIn("warning", self.done(*run_flags("-c", CONTEXT)).err)
        positions = self.done("run", "-m", synth("gpt2.gguf", arch="gpt2"), "-p", "x", "-n", 2, "-c", 5000)
        self.assertIn("warning: context 5000 is more", positions.err)

    def test_a_context_that_does_not_fit_is_refused_with_the_numbers(self):
        result = self.fails(["-c"], *run_flags("-c", 2000000000))
        self.assertRegex(result.err, r"needs \d{12,} bytes .* and \d+ are free")

    def test_prompt_and_context(self):
        self.fails(["context of 3", "--truncate-prompt"], *run_flags("-c", 3))
        self.assertIn("warning: the prompt's", self.done(*run_flags("-c", 3, "--truncate-prompt", 2)).err)
        self.assertEqual(self.report_of("--truncate-prompt", 2)["prompt_tokens"], 2)
        self.assertGreater(self.report_of("--truncate-prompt", 200)["prompt_tokens"], 2)

    def test_empty_prompt(self):
        (WORK / "nothing.txt").write_text("")
        self.fails("prompt", *run_flags(text=""))
        for path in (WORK / "nothing.txt", "/dev/null"):
            self.fails("prompt", "run", "-m", MODEL, "-f", path)

    def test_prompt_from_a_file(self):
        flags = ("run", "-m", MODEL, "--temp", 0, "-n", 8, "-f")
        expected = self.done(*run_flags("--temp", 0)).out
        for text in ("the moon", "the moon\n"):
            (WORK / "prompt.txt").write_text(text)
            self.assertEqual(self.done(*flags, WORK / "prompt.txt").out, expected)
        self.assertEqual(self.done(*flags, "/dev/stdin", stdin="the moon").out, expected)
        self.fails("No such file", *flags, WORK / "missing.txt")
        self.fails("directory", *flags, WORK)

    def test_log_levels(self):
        quiet, plain, verbose = (self.done(*run_flags(*flags)).err for flags in (["-q"], [], ["-v"]))
        self.assertEqual(quiet, "")
        self.assertGreater(len(verbose.splitlines()), len(plain.splitlines()))
        self.assertIn("warning", self.done(*run_flags("-q", "-fa", "off")).err)
        self.assertEqual(self.done("-q", *run_flags()).err, "", "log flags may stand before the command")

    def test_log_file(self):
        path = WORK / "log.txt"
        self.done(*run_flags("-q", "--log-file", path))
        for text in ("tokens/s", "debug", "seed"):
            self.assertIn(text, path.read_text())
        self.fails(str(MODEL), *run_flags("--log-file", MODEL / "log.txt"))

    def test_text_that_is_not_utf8(self):
        self.done("run", "-m", MODEL, "-n", 4, "-p", b"\xff\xfe".decode(errors="surrogateescape"))

    def test_reports_that_cannot_be_written_are_known_at_once(self):
        for flags in (run_flags(), greedy_of(), ("bench", "-m", MODEL), ("plan", "-m", MODEL)):
            result = self.fails("cannot write", *flags, "--report", MODEL / "report.json")
            self.assertEqual(result.out, b"", "found out too late")


class SameResultsTest(CliTest):
    """What must not change the result does not."""

    def logits_of(self, *flags):
        self.done(*greedy_of(*flags))
        return (WORK / "greedy.npy").read_bytes()

    def greedy(self, *flags):
        return json.loads(self.done(*greedy_of("--exact", *flags)).out)["greedy"]

    def test_micro_batch_and_threads(self):
        expected = self.logits_of()
        for flags in ("-ub 1", "-ub 7", "-ub 64", "-b 3", "-t 1", "-t 2", "-t 5", "-t 64", "-ub 7 -t 5"):
            self.assertEqual(self.logits_of(*flags.split()), expected, flags)

    def test_devices_levels_and_layouts(self):
        expected = self.greedy()
        for flags in ("--devices cpu", "--devices cpu:0", "--devices sim", "--devices sim:1G", "--no-mmap",
                      "--no-repack", "--no-kv-cache", "--no-kv-cache -ub 7", "-ctk f32 -ctv f32",
                      "--devices sim -ub 7"):
            self.assertEqual(self.greedy(*flags.split()), expected, flags)
        self.done(*greedy_of("-ctk", "q8_0", "-ctv", "q4_0"))
        self.done(*greedy_of("-ctk", "q5_0", "-ctv", "iq4_nl"))
        self.done(*greedy_of("-ctk", "q5_1", "-ctv", "q4_1"))

    def test_every_level_works_or_says_why_not(self):
        expected = self.greedy("--simd", "scalar")
        best = json.loads(self.done("devices", "--json").out)["simd"]
        for level in ("sse4", "avx2", "avxvnni", "avx512vnni", "amx", "neon", "dotprod", "i8mm", "sve128", "sve256",
                      "rvv128", "rvv256"):
            result = plait(*greedy_of("--exact", "--simd", level))
            if result.status == DONE:
                self.assertEqual(json.loads(result.out)["greedy"], expected, level)
                continue
            self.assertNotEqual(level, best)
            self.refused(result.status, level, *greedy_of("--simd", level))

    def test_devices_that_do_not_work(self):
        result = self.fails(["sim:1K", "1024 are free"], *run_flags("--devices", "sim:1K"))
        self.assertRegex(result.err, r"needs \d+ bytes")
        self.misused("99999", *run_flags("--devices", "cpu:99999"))
        for devices in ("gpu", "cpu*0", "cpu*x", "cpu*257", "cpu,", ",sim", "cpu:0*2", "sim:", "sim:-1", "sim:1X",
                        "sim:0"):
            self.misused("--devices", *run_flags("--devices", devices))


class PackCacheTest(CliTest):
    def test_the_second_start_uses_what_the_first_one_packed(self):
        # Small models are not worth a file.
        self.done(*run_flags())
        model = synth("large.gguf", size="layers=1,width=256,heads=4,kv_heads=4,ffn=256,vocab=70000", kind="Q8_0")
        self.done("plan", "-m", model)
        self.assertFalse(CACHE.exists())

        def run(*flags, **options):
            return self.done("run", "-m", model, "-p", "the moon", "-n", 4, "--temp", 0, "-v", *flags, **options)

        first = run("--no-pack-cache")
        self.assertNotIn("packed weights", first.err)
        self.assertFalse(CACHE.exists())
        for told, flags in (("are kept in", ()), ("come from", ()), ("come from", ("--verify",))):
            result = run(*flags)
            self.assertIn(f"packed weights {told} {CACHE}/plait/packed/", result.err)
            self.assertEqual(result.out, first.out)
        self.assertEqual((CACHE / "plait" / "packed").stat().st_mode & 0o777, 0o700)
        file, = (CACHE / "plait" / "packed").iterdir()
        file.write_bytes(file.read_bytes()[:-1])
        damaged = run()
        self.assertIn("packing anew", damaged.err)
        self.assertEqual(damaged.out, first.out)
        self.assertIn("come from", run().err)
        self.assertNotIn("packed weights", run("--no-pack-cache").err)
        self.assertIn("cannot make", run(env=dict(os.environ, XDG_CACHE_HOME="/proc/self")).err)
        relative = run(env=dict(os.environ, XDG_CACHE_HOME="relative", HOME=str(WORK / "home"))).err
        self.assertIn(f"are kept in {WORK}/home/.cache/plait/packed/", relative)


class LogitsTest(CliTest):
    def test_golden_ids(self):
        golden = json.loads((GOLDEN / "llama-dense.json").read_text())
        expected = golden["greedy_tokens"]
        ids = ",".join(map(str, golden["prompt_tokens"]))
        result = self.done(*greedy_of("-c", CONTEXT, "--exact", model=NO_TOKENIZER, ids=ids, greedy=len(expected)))
        self.assertEqual(json.loads(result.out), {"greedy": expected})
        self.assertEqual(best_ids(WORK / "greedy.npy")[len(golden["prompt_tokens"]) - 1 : -1], expected)

    def test_rows(self):
        for greedy in (0, 3):
            result = self.done(*greedy_of(ids="1,2,3,4", greedy=greedy))
            self.assertEqual(read_npy(WORK / "greedy.npy")[0], (4 + greedy, 512))
            self.assertEqual(len(json.loads(result.out)["greedy"]), greedy)

    def test_report(self):
        report = WORK / "logits.json"
        result = self.done(*greedy_of("--report", report))
        document = json.loads(report.read_text())
        self.assertEqual(document["greedy"], json.loads(result.out)["greedy"])
        self.assertEqual(document["prompt_tokens"], 100)

    def test_ids_outside_the_vocabulary(self):
        for ids in ("512", "1,-1", "2147483647"):
            self.fails("vocabulary of 512", *greedy_of(ids=ids))

    def test_more_than_the_context(self):
        self.fails("context of 20", *greedy_of("-c", 20))
        self.fails("context of 104", *greedy_of("-c", 104))
        self.done(*greedy_of("-c", 108))

    def test_output_that_cannot_be_written(self):
        for path in (MODEL / "x.npy", WORK, "/dev/null"):
            self.fails("cannot write", *greedy_of("-o", path))

    def test_failing_leaves_no_file(self):
        self.fails("vocabulary", *greedy_of("-o", WORK / "never.npy", ids="9999"))
        self.assertEqual([path.name for path in WORK.glob("never*")], [])


class OtherCommandsTest(CliTest):
    def test_bench(self):
        report = WORK / "bench.json"
        flags = ("bench", "-m", MODEL, "-p", 16, "-n", 8, "-d", 3, "-r", 2, "-t", 2)
        result = json.loads(self.done(*flags, "--json", "--report", report).out)
        self.assertEqual(json.loads(report.read_text()), result)
        for key in ("prompt_tps", "gen_tps", "peak_rss_bytes", "weights_bytes", "weight_bytes_per_token",
                    "read_bytes_per_second", "share_of_ceiling", "ceiling_before_bytes_per_second",
                    "ceiling_after_bytes_per_second"):
            self.assertGreater(result[key], 0, key)
        self.assertLessEqual(result["prompt"]["min"], result["prompt"]["median"])
        self.assertLessEqual(result["generation"]["median"], result["generation"]["max"])
        self.assertRegex(result["greedy_checksum"], "^[0-9a-f]{16}$")
        self.assertEqual(result["gathered_rows"], 0)
        text = self.done(*flags, "-ub", 7).text
        self.assertIn(result["greedy_checksum"], text)
        self.assertIn("tokens/s median", text)
        self.assertIn("multiplying", text)
        self.assertIn("GOPS of the kernel alone", text)

    def test_bench_says_how_close_products_come_to_what_is_possible(self):
        products = json.loads(self.done("bench", "-m", MODEL, "-p", 16, "-n", 0, "-r", 1, "--json").out)["products"]
        for key in ("operations_per_second", "kernels", "share_of_kernels", "instructions", "share_of_instructions"):
            self.assertGreater(products[key], 0, key)
        self.assertGreater(len(products["types"]), 0)
        for kind in products["types"]:
            self.assertGreater(kind["weights_per_token"], 0)
            self.assertGreater(kind["share_of_instructions"], 0)
            for speed in (kind, kind["before"], kind["after"]):
                for key in ("kernel", "instructions", "instructions_one_thread"):
                    self.assertGreater(speed[key], 0, key)
                    self.assertLessEqual(speed[key], kind[key])

    def test_bench_says_nothing_of_products_that_it_cannot_compare(self):
        for flags in (("-p", 0, "-n", 2), ("-p", 8, "-n", 0, "--devices", "cpu*2"),
                      ("-p", 8, "-n", 0, "--devices", "sim")):
            result = self.done("bench", "-m", MODEL, "-r", 1, *flags, "--json").out
            self.assertIsNone(json.loads(result)["products"], flags)

    def test_bench_says_where_a_device_spends_its_steps(self):
        flags = ("bench", "-m", MODEL, "-p", 16, "-ub", 8, "-n", 3, "-d", 2, "-r", 1)
        members = json.loads(self.done(*flags, "--json").out)["members"]
        self.assertEqual([member["device"] for member in members], ["cpu"])
        self.assertEqual(members[0]["prompt"]["steps"], 2)
        self.assertEqual(members[0]["generation"]["steps"], 3)
        for times in (members[0]["prompt"], members[0]["generation"]):
            self.assertGreater(times["compute_us"], 0)
            self.assertGreaterEqual(times["wait_us"], 0)
            self.assertEqual(times["reduce_us"], 0)
        text = self.done(*flags, "-p", 0).text
        self.assertRegex(text, r"generation steps of [\d.]+ us\n  cpu +compute +[\d.]+ % \([\d.]+ us\), wait")
        self.assertNotIn("prompt steps", text)

    def test_bench_of_what_cannot_be(self):
        self.misused("at least one token", "bench", "-m", MODEL, "-p", 0, "-n", 0)
        result = self.fails("context of 64", "bench", "-m", MODEL, "-p", 0, "-n", 8, "-d", 60, "-c", 64)
        self.assertNotIn("cache", result.err)  # refused before anything is loaded
        self.fails("context of 7", "bench", "-m", MODEL, "-p", 16, "-n", 0, "-c", 7)

    def test_plan(self):
        document = json.loads(self.done("plan", "-m", MODEL, "--devices", "cpu", "--json").out)
        self.assertEqual(len(document["members"]), 1)
        for key in ("weights_bytes", "kv_bytes", "compute_bytes"):
            self.assertGreater(document["members"][0][key], 0, key)
        self.assertEqual(document["members"][0]["device"], "cpu")
        self.assertEqual(document["members"][0]["mirrored_bytes"], 0)
        self.assertEqual(document["collectives_per_step"], 0)
        self.assertEqual(document["collective_bytes_per_token"], 0)
        self.assertEqual(document["collectives"], [])
        self.assertIn("weights MiB", self.done("plan", "-m", MODEL, "--devices", "sim:1K").text)

    def test_plan_follows_the_flags(self):
        def kv_bytes(*flags):
            return json.loads(self.done("plan", "-m", MODEL, "--json", *flags).out)["members"][0]["kv_bytes"]

        self.assertGreater(kv_bytes("-c", 512), 2 * kv_bytes("-c", 64))
        self.assertGreater(kv_bytes("-ctk", "f32"), kv_bytes("-ctk", "q8_0"))
        self.assertGreater(kv_bytes("--exact"), kv_bytes())

    def test_plan_budgets(self):
        self.done("plan", "-m", MODEL, "--budget", "1G")
        result = self.fails("budget of 1024", "plan", "-m", MODEL, "--budget", "1K")
        self.assertRegex(result.err, r"would take \d+ bytes, \d+ more")
        self.misused("--budget: expected a size for each member, 1 in all, found 2", "plan", "-m", MODEL, "--budget", "1G,1G")

    def test_inspect(self):
        document = json.loads(self.done("inspect", "-m", MODEL, "--json").out)
        self.assertEqual(document["metadata"]["general.architecture"]["value"], "llama")
        self.assertEqual(document["plait"]["architecture"], "llama")
        self.assertNotIn("tensors", document)
        for key in ("file", "version", "alignment", "data_offset", "file_bytes", "tensor_count", "parameters", "types"):
            self.assertTrue(document[key], key)
        document = json.loads(self.done("inspect", "-m", MODEL, "--json", "--tensors").out)
        self.assertEqual(len(document["tensors"]), document["tensor_count"])
        short, long = (self.done("inspect", "-m", MODEL, *flags).text for flags in ([], ["--tensors"]))
        self.assertLess(len(short), len(long))

    def test_inspect_of_a_name_that_is_not_utf8(self):
        path = os.path.join(os.fsencode(WORK), b"\xff.gguf")
        os.link(MODEL, path)
        json.loads(self.done("inspect", "--json", "-m", os.fsdecode(path)).out)

    def test_tokenize_and_back(self):
        for text in ("", "hello world", " two  spaces\n\nlines\t", "naïve 日本語 🙂", "<|end_of_text|>"):
            for flags in ([], ["--no-parse-special"], ["--pre", "llama-bpe"]):
                ids = self.done("tokenize", "-m", MODEL, *flags, stdin=text).out
                self.assertIsInstance(json.loads(ids), list)
                self.assertEqual(self.done("detokenize", "-m", MODEL, stdin=ids).out.decode(), text)
        everything = bytes(range(256))
        ids = self.done("tokenize", "-m", MODEL, stdin=everything).out
        self.assertEqual(self.done("detokenize", "-m", MODEL, stdin=ids).out, everything)

    def test_special_tokens(self):
        def ids(*flags):
            return json.loads(self.done("tokenize", "-m", MODEL, *flags, stdin="x<|end_of_text|>").out)

        self.assertEqual(len(ids()), 2)
        self.assertGreater(len(ids("--no-parse-special")), 2)
        self.assertEqual(ids("--add-bos")[1:], ids())

    def test_detokenize_of_what_is_no_id(self):
        for text in ("x", "[1,2", "1]", "1;2", "1,2.5", "512", "-1", "[[1]]", "][", "1,,2", ",1"):
            self.fails("", "detokenize", "-m", MODEL, stdin=text)
        for text in ("1,2,3", "[1, 2, 3]\n", " 1 2\n3 ", "1,2,3,"):
            self.assertEqual(self.done("detokenize", "-m", MODEL, stdin=text).out, b"\n!\"")

    def test_devices(self):
        document = json.loads(self.done("devices", "--json").out)
        self.assertEqual([device["device"] for device in document["devices"]], ["cpu", "sim"])
        for device in document["devices"]:
            self.assertGreater(device["memory_bytes"], 0)
        for key in ("read_bytes_per_second", "copy_bytes_per_second", "reduce_bytes_per_second"):
            self.assertGreater(document[key], 0, key)
        self.assertIn(document["simd"], self.done("devices").text)
        self.assertIn("| matmul | Q8_0", self.done("devices", "--devices", "cpu", "--support").text)
        self.misused("--json", "devices", "--support", "--json")

    def test_selftest(self):
        self.assertRegex(self.done("selftest").text, r"selftest: \d+ calls on \d+ devices, 0 failed\n$")


class SynthTest(CliTest):
    def test_every_kind_runs(self):
        size = "layers=1,width=64,heads=4,ffn=96,vocab=300,ctx=64"
        kinds = [("llama", size, kind) for kind in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1")]
        kinds += [("llama", size + ",experts=4,used=2", "Q8_0"), ("gpt2", size, "F16")]
        for arch, shape, kind in kinds:
            path = synth("kind.gguf", arch=arch, size=shape, kind=kind)
            for device in ("cpu", "sim"):
                result = self.done(*greedy_of("--devices", device, model=path, ids="1,2,3"))
                self.assertEqual(len(json.loads(result.out)["greedy"]), 8, (arch, shape, kind))

    def test_seed(self):
        same, other = synth("same.gguf").read_bytes(), synth("other.gguf", seed=1).read_bytes()
        self.assertEqual(same, MODEL.read_bytes())
        self.assertNotEqual(other, same)
        self.assertEqual(len(other), len(same))

    def test_size_is_followed(self):
        path = synth("size.gguf", size="layers=3,width=128,heads=8,kv_heads=2,ffn=160,vocab=400,ctx=99")
        use = json.loads(self.done("inspect", "-m", path, "--json").out)["plait"]
        self.assertEqual((use["layers"], use["width"], use["vocabulary"], use["trained_context"]), (3, 128, 400, 99))

    def test_a_file_that_cannot_be_written(self):
        flags = ("--arch", "llama", "--size", "tiny", "--type", "F32")
        self.fails("cannot write", "synth", *flags, "-o", MODEL / "x.gguf")


class OutputTest(CliTest):
    COMMANDS = (("run", "-p", "x", "-n", "400", "--ignore-eos"), ("inspect",), ("plan", "--json"), ("tokenize",))

    def test_a_closed_pipe_ends_the_command_quietly(self):
        for command, *flags in self.COMMANDS:
            reader, writer = os.pipe()
            os.close(reader)
            try:
                result = plait(command, "-m", MODEL, *flags, stdout=writer, stdin=b"text")
            finally:
                os.close(writer)
            self.assertEqual(result.status, FAILED, command)
            self.assertNotIn("error", result.err)

    def test_a_pipe_that_closes_midway(self):
        process = subprocess.Popen(command_line(run_flags("-c", 200000, "--ignore-eos", tokens=-1)),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(len(process.stdout.read(1)), 1)
        process.stdout.close()
        with process.stderr:
            self.assertNotIn(b"error", process.stderr.read())
        self.assertEqual(process.wait(timeout=20), FAILED)

    def test_a_model_that_is_shortened_meanwhile(self):
        model = WORK / "shortened.gguf"
        shutil.copyfile(MODEL, model)
        process = subprocess.Popen(
            command_line(("run", "-m", model, "-p", "a", "-n", -1, "-c", 200000, "--ignore-eos", "--no-repack")),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process.stdout, process.stderr:
            self.assertEqual(len(process.stdout.read(1)), 1)
            os.truncate(model, 1 << 14)
            process.stdout.read()
            self.assertIn(b"error: a file that is in use was shortened", process.stderr.read())
        self.assertEqual(process.wait(timeout=20), FAILED)

    def test_a_full_disk_is_an_error(self):
        for command, *flags in self.COMMANDS:
            with open("/dev/full", "wb") as full:
                self.fails("No space left", command, "-m", MODEL, *flags, stdout=full)
        for flag in ("--help", "--version"):
            with open("/dev/full", "wb") as full:
                self.fails("No space left", flag, stdout=full)

    def test_stdout_that_is_closed_from_the_start(self):
        # The shell closes it; the file that -o names must not take its place.
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *command_line(greedy_of())]
        done = subprocess.run(command, stderr=subprocess.PIPE, timeout=50)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn(b"cannot write standard output", done.stderr)
        self.assertEqual(read_npy(WORK / "greedy.npy")[0], (108, 512))


def start_interruptible(*arguments):
    """A process that Ctrl-C reaches even where whoever started this test ignores it."""
    return subprocess.Popen(command_line(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))


class InterruptTest(CliTest):
    LONG = ("-c", 300000, "-n", -1, "--ignore-eos", "--seed", 1)

    def interrupt(self, process, within):
        """Seconds until the process ended by itself, and what it had said."""
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - start, within)
        return Result(process.returncode, out, err.decode())

    def test_while_generating(self):
        process = start_interruptible("run", "-m", MODEL, "-p", "x", *self.LONG)
        self.assertEqual(len(process.stdout.read(50)), 50)
        result = self.interrupt(process, within=2)
        self.assertEqual(result.status, DONE)
        self.assertIn("(interrupted)", result.err)
        self.assertTrue(result.out.endswith(b"\n"))

    def test_while_reading_the_prompt(self):
        prompt, report = WORK / "long.txt", WORK / "interrupted.json"
        prompt.write_text("word " * 40000)
        process = start_interruptible("run", "-m", MODEL, "-f", prompt, "-v", "--report", report, *self.LONG)
        while b"loaded in" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        time.sleep(0.3)
        result = self.interrupt(process, within=2)
        self.assertEqual((result.status, result.out), (DONE, b"\n"))
        self.assertIn("(interrupted)", result.err)
        document = json.loads(report.read_text())
        self.assertEqual(document["stop_reason"], "interrupted")
        self.assertLess(document["prompt_tokens"], 40000, "as many as were read, not as many as were given")

    def test_logits_leave_no_half_file(self):
        flags = greedy_of("-o", WORK / "half.npy", "-c", 300000, "-v", ids="1,2", greedy=299000)
        process = start_interruptible(*flags)
        while b"loaded in" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        time.sleep(0.3)
        result = self.interrupt(process, within=2)
        self.assertEqual((result.status, result.out), (FAILED, b""))
        self.assertIn("error: logits: interrupted", result.err)
        self.assertEqual(list(WORK.glob("half.npy*")), [])


if __name__ == "__main__":
    main()
