#!/usr/bin/env python3
"""What the command line refuses, in which words and with which exit status; spellings; model files of all sorts.

usage: cli_usage_test.py PLAIT [unittest's arguments]
"""
import json
import os
import re

from cli_support import (CliTest, greedy_of, main, MODEL, NO_TOKENIZER, run_flags, synth, WORK)


class UsageTest(CliTest):
    def test_help_goes_to_stdout(self):
        self.assertIn("run", self.done("--help").text)
        for command in ("run", "chat", "logits", "bench", "plan", "inspect", "tokenize", "detokenize", "devices", "selftest",
                        "synth"):
            result = self.done(command, "--help")
            self.assertIn(f"Usage: plait {command}", result.text)
            self.assertEqual(result.err, "")

    def test_version(self):
        self.assertRegex(self.done("--version").text, r"^plait \d+\.\d+\.\d+\n$")

    def test_unknown_commands_and_flags(self):
        self.misused("a command is missing")
        self.misused("unknown command 'sing'", "sing")
        self.misused("unknown argument '--loud'", *run_flags("--loud"))
        self.misused("unknown argument 'stray'", *run_flags("stray"))
        self.misused("unknown argument '-z'", *run_flags("-z", "3"))
        self.misused("unknown argument", "run", "tokenize", "-m", MODEL, "-p", "x")
        self.misused("unknown argument '--devices'", "inspect", "-m", MODEL, "--devices", "cpu")

    def test_missing_flags_and_values(self):
        for command in ("run", "chat", "logits", "bench", "plan", "inspect", "tokenize", "detokenize"):
            self.misused("--model is required", command, *(["--tokens", "1", "-o", "x"] * (command == "logits")))
        self.misused("--tokens is required", "logits", "-m", MODEL, "-o", WORK / "x.npy")
        self.misused("--out is required", "logits", "-m", MODEL, "--tokens", "1")
        self.misused("--predict", "run", "-m", MODEL, "-p", "x", "-n")
        self.misused(["-p TEXT", "-f FILE"], "run", "-m", MODEL)
        self.misused(["-p TEXT", "-f FILE"], "run", "-m", MODEL, "-p", "x", "-f", "y")
        self.misused(["--verbose", "--quiet"], *run_flags("-q", "-v"))
        for flag in ("arch", "size", "type", "out"):
            flags = {"arch": "llama", "size": "tiny", "type": "F32", "out": WORK / "x.gguf"}
            del flags[flag]
            self.misused(f"--{flag} is required", "synth", *(x for k, v in flags.items() for x in (f"--{k}", v)))

    def test_unknown_values_are_wrong_usage(self):
        for flag in ("-ctk", "-ctv", "--cache-type-k", "--cache-type-v", "-fa", "--flash-attn", "--devices", "-sm",
                     "--split-mode", "-ts", "--tensor-split", "--embd", "--moe-split", "--exchange", "--reduce",
                     "--simd", "--pre", "--seed"):
            for value in ("nonsense", "", "i32"):
                if (flag, value) != ("--pre", ""):
                    self.misused("--", *run_flags(flag, value))
        for size in ("huge", "layers=0", "layers=x", "width=63,heads=4", "layers=1,layers=2", "experts=2,used=3"):
            self.misused("size", "synth", "--arch", "llama", "--size", size, "--type", "F32", "-o", WORK / "x.gguf")
        self.misused("'bert'", "synth", "--arch", "bert", "--size", "tiny", "--type", "F32", "-o", WORK / "x.gguf")
        self.misused("'Q9'", "synth", "--arch", "llama", "--size", "tiny", "--type", "Q9", "-o", WORK / "x.gguf")
        self.assertFalse((WORK / "x.gguf").exists())

    def test_numbers(self):
        counts = ("-c", "-b", "-ub", "-t", "-n", "--top-k", "--repeat-last-n", "--candidates", "--truncate-prompt",
                  "--main-device")
        reals = ("--temp", "--top-p", "--min-p", "--repeat-penalty", "--presence-penalty", "--frequency-penalty")
        for flag in counts:
            for value in ("x", "", "1.5", "1x", "99999999999", "99999999999999999999999"):
                self.misused("expected", *run_flags(flag, value))
        for flag in reals:
            for value in ("x", "", "nan", "inf", "1,5"):
                self.misused("expected", *run_flags(flag, value))
        for flag, value in (("-c", -1), ("-b", 0), ("-ub", 0), ("-ub", -7), ("-t", 0), ("-t", -1), ("-n", -2),
                            ("--truncate-prompt", 0), ("--candidates", 0), ("--main-device", 1), ("--seed", -2),
                            ("--seed", "18446744073709551616")):
            self.misused("expected", *run_flags(flag, value))
        self.misused("--repeat-penalty", *run_flags("--repeat-penalty", 0))
        self.misused("--top-p", *run_flags("--top-p", -1))
        self.misused("expected", *greedy_of("--greedy", -1))
        for flag, value in (("-p", -1), ("-n", -1), ("-d", -1), ("-r", 0), ("-r", "x")):
            self.misused("expected", "bench", "-m", MODEL, flag, value)
        for flag, bad, good in (("--seed", "1.5", 7), ("-ctk", "q9", "F16"), ("--temp", "x", 1)):
            self.misused("", *run_flags(flag, bad, flag, good))  # the last counts, and all are checked
        self.misused("no size", "plan", "-m", MODEL, "--budget", "much")

    def test_token_lists(self):
        for ids in ("", "[]", "x", "1,x", "1.5", "99999999999", "1,,2", ",1"):
            self.misused("--tokens", *greedy_of("--tokens", ids))
        self.assertEqual(self.done(*greedy_of(ids="[1, 2, 3]")).out, self.done(*greedy_of(ids="1,2,3")).out)

    def test_cache_types(self):
        known = "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL"
        for flag in ("-ctk", "-ctv"):
            for name in ("q4_k", "MXFP4", "I32", "x"):
                self.misused("a cache cannot have the type '%s'; expected one of %s" % (name, known),
                             *greedy_of(flag, name))

    def test_both_spellings(self):
        pairs = (("-ub 7", "--ubatch-size 7"), ("-ub=7", "--ubatch-size=7"), ("-ctk q8_0", "--cache-type-k Q8_0"),
                 ("-ctv q4_0", "--cache-type-v q4_0"), ("-ctk=bf16", "--cache-type-k=bf16"),
                 ("-c 40", "--ctx-size 40"), ("-c=40", "--ctx-size=40"), ("-b 5", "--batch-size 5"),
                 ("-t 1", "--threads 1"), ("-fa on", "--flash-attn on"),
                 ("-sm none", "--split-mode none"), ("-ts 1", "--tensor-split 1"), ("-n 3", "--predict 3"),
                 ("-n=3", "--n-predict=3"), ("-s 4", "--seed 4"))
        for short, long in pairs:
            results = [self.done(*run_flags("--temp", 1, "--seed", 4, *flags.split())) for flags in (short, long)]
            self.assertEqual(*(result.out for result in results), (short, long))

    def test_the_last_of_a_repeated_flag_counts(self):
        report = WORK / "last.json"
        self.done(*run_flags("-n", 6, "-n", 2, "-p", "else", "--ignore-eos", "--report", report))
        self.assertEqual(json.loads(report.read_text())["generated_tokens"], 2)

    def test_a_prompt_is_never_a_flag(self):
        for text in ("-ub", "-ub=7", "--help", "-c=40", "[a,b]", '"quoted"', "-1 + 1 =", "--"):
            ids = json.loads(self.done("tokenize", "-m", MODEL, stdin=text).out)
            report = WORK / "prompt.json"
            self.done(*run_flags("--report", report, text=text))
            self.assertEqual(json.loads(report.read_text())["prompt_tokens"], len(ids), text)

    def test_flags_for_several_devices_change_nothing_on_one(self):
        plain = self.done(*run_flags("--seed", 1))
        for flags in ("-sm none", "-sm layer", "-sm row", "-sm tensor", "-ts auto", "-ts 1", "-ts 3",
                      "--main-device 0", "--embd mirrored", "--embd vocab", "--embd hidden", "--moe-split inner",
                      "--moe-split experts", "--exchange f32", "--exchange bf16", "--exchange q8_0", "--candidates 3",
                      "--reduce auto", "--reduce direct", "--reduce pairwise", "--reduce butterfly", "--check-members",
                      "--fast",
                      "--no-pack-cache", "-fa on", "-fa auto", "-fa off"):
            result = self.done(*run_flags("--seed", 1, *flags.split()))
            self.assertEqual(result.out, plain.out, flags)
        self.assertIn("warning: -fa off", self.done(*run_flags("-fa", "off")).err)
        self.assertIn("warning: -sm tensor", self.done(*run_flags("-sm", "tensor")).err)
        self.assertNotIn("warning", plain.err)


class ModelFileTest(CliTest):
    COMMANDS = (("run", "-p", "x"), ("logits", "--tokens", "1", "-o", "x.npy"), ("bench",), ("plan",), ("inspect",),
                ("tokenize",), ("detokenize",))

    def every_command_fails(self, says, path, commands=COMMANDS):
        for command, *flags in commands:
            self.fails(says, command, *flags, "-m", path, cwd=WORK)

    def test_no_file(self):
        self.every_command_fails(["missing.gguf", "No such file"], "missing.gguf")

    def test_folder(self):
        self.every_command_fails("directory", WORK)

    def test_empty_file(self):
        (WORK / "empty.gguf").write_bytes(b"")
        self.every_command_fails("empty", "empty.gguf")

    def test_web_page(self):
        (WORK / "page.gguf").write_text("<!DOCTYPE html><html><body>Please log in</body></html>")
        self.every_command_fails("web page", "page.gguf")

    def test_cut_file(self):
        (WORK / "cut.gguf").write_bytes(MODEL.read_bytes()[:-1000])
        self.every_command_fails("incomplete", "cut.gguf")

    def test_a_tensor_of_a_type_plait_lacks(self):
        name = b"blk.0.attn_q.weight"
        data = bytearray(MODEL.read_bytes())
        at = data.index(name) + len(name)
        dimensions = int.from_bytes(data[at:at + 4], "little")
        at += 4 + 8 * dimensions
        data[at:at + 4] = (31).to_bytes(4, "little")
        (WORK / "interleaved.gguf").write_bytes(data)
        says = ["'blk.0.attn_q.weight'", "Q4_0_4_4 (number 31)", "download or quantise the model as Q4_0"]
        commands = [command for command in self.COMMANDS if command[0] in ("run", "logits", "bench", "plan")]
        self.every_command_fails(says, "interleaved.gguf", commands)
        told = self.done("inspect", "--tensors", "-m", WORK / "interleaved.gguf").text
        self.assertRegex(told, "'blk.0.attn_q.weight' +Q4_0_4_4 ")
        self.assertIn("Plait cannot run this file: ", told)
        for text in says:
            self.assertIn(text, told)

    def test_fifo(self):
        os.mkfifo(WORK / "fifo")
        self.every_command_fails("not a regular file", "fifo")

    def test_without_a_known_tokenizer(self):
        for command, *flags in (("run", "-p", "x"), ("tokenize",), ("detokenize",)):
            self.fails(["tokenizer", "'test'"], command, *flags, "-m", NO_TOKENIZER)
        self.done("plan", "-m", NO_TOKENIZER)
        self.done("inspect", "-m", NO_TOKENIZER)
        self.done("bench", "-m", NO_TOKENIZER, "-p", 4, "-n", 4, "-r", 1)
        self.done(*greedy_of(model=NO_TOKENIZER, ids="1,2"))

    def test_verify(self):
        hashes = [re.search(r"XXH3-64 of .*: ([0-9a-f]{16})", self.done(*command, "--verify").err).group(1)
                  for command in (run_flags(), greedy_of(), ("plan", "-m", MODEL))]
        self.assertEqual(len(set(hashes)), 1)


if __name__ == "__main__":
    main()
