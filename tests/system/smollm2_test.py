#!/usr/bin/env python3
"""A real model end to end: SmolLM2-135M-Instruct, as the quickstart fetches it.

usage: smollm2_test.py PLAIT FETCH_MODEL_SCRIPT
Ends with status 77 (skipped) when the model cannot be fetched, unless the variable CI is set: there it must be.
"""
import os
import re
import statistics
import subprocess
import sys
import time
import unittest

SKIPPED = 77
PROMPT = "The capital of France is"


def fetch_model(script):
    fetched = subprocess.run([script, "smollm2"], capture_output=True, text=True)
    if fetched.returncode == 0:
        return fetched.stdout.strip()
    print(fetched.stderr.strip())
    print("the model could not be fetched, so nothing was tested")
    sys.exit(1 if os.environ.get("CI") else SKIPPED)


def run(*flags):
    """Text and log of one run of the prompt."""
    command = [PLAIT, "run", "-m", MODEL, "-p", PROMPT, *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def generation_rate(*flags):
    _, log = run("--temp", 0, "-n", 64, "--ignore-eos", *flags)
    return float(re.search(r"then ([0-9.]+) tokens/s", log).group(1))


class SmolLM2(unittest.TestCase):
    def test_paris(self):
        text, _ = run("--temp", 0, "-n", 8)
        self.assertIn("Paris", text)

    def test_exact_and_other_devices_know_it_too(self):
        for flags in (["--exact"], ["--simd", "scalar"], ["--no-repack"], ["-ctk", "q8_0", "-ctv", "q8_0"]):
            text, _ = run("--temp", 0, "-n", 2, *flags)
            self.assertIn("Paris", text, flags)

    def test_same_seed_same_text(self):
        first, _ = run("--seed", 42, "-n", 32, "-t", 1)
        self.assertEqual(first, run("--seed", 42, "-n", 32, "-t", 2, "-ub", 1)[0])
        others = {run("--seed", seed, "-n", 32)[0] for seed in range(4)}
        self.assertGreater(len(others), 1)

    def test_stops_at_the_end_of_the_turn(self):
        question = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
        done = subprocess.run([PLAIT, "run", "-m", MODEL, "-p", question, "--temp", "0", "-n", "200"],
                              capture_output=True, text=True, timeout=300)
        self.assertIn("(end token)", done.stderr)
        self.assertNotIn("<|im_end|>", done.stdout)

    def test_first_token_within_a_second(self):
        run("--temp", 0, "-n", 1)  # warms the page cache
        seconds = []
        for _ in range(3):
            began = time.monotonic()
            run("--temp", 0, "-n", 1)
            seconds.append(time.monotonic() - began)
        print(f"start to end of a one-token run: {min(seconds):.2f} s at best")
        self.assertLess(min(seconds), 1.0)

    def test_four_times_the_scalar_path(self):
        ratios = []
        for _ in range(5):
            ratios.append(generation_rate() / generation_rate("--simd", "scalar"))
        print(f"generation, best kernels over scalar: median {statistics.median(ratios):.2f}, "
              f"min {min(ratios):.2f}, max {max(ratios):.2f}")
        self.assertGreaterEqual(statistics.median(ratios), 4)


if __name__ == "__main__":
    PLAIT, script = sys.argv.pop(1), sys.argv.pop(1)
    MODEL = fetch_model(script)
    unittest.main(verbosity=2)
