#!/usr/bin/env python3
"""Real models end to end, as scripts/fetch_model.sh gets them.

usage: real_model_test.py NAME PLAIT DIVERGENCE FETCH_MODEL_SCRIPT [unittest's arguments]
Ends with status 77 (skipped) when the model cannot be fetched, unless the variable CI is set: there it must be.
"""
import dataclasses
import json
import os
import re
import statistics
import subprocess
import sys
import time
import unittest

SKIPPED = 77
# A text of some length that every Debian has.
LONG_TEXT = "/usr/share/common-licenses/GPL-3"


def chatml(question):
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


@dataclasses.dataclass
class RealModel:
    """What is asked of a model, and how far its default path may be from the exact one."""
    # Prompt -> what its continuation at temperature 0 contains. These models are small and wrong about much: what
    # they are asked is what their exact path was seen to know, so a miss tells of the engine.
    answers: dict
    probe: tuple  # the same, within two tokens
    divergence: float  # KL(exact || default) per token, in nats
    instructed: bool  # ends its turn by itself


MODELS = {
    "smollm2": RealModel(
        answers={
            "The capital of France is": "Paris",
            chatml("What is the capital of France?"): "Paris",
            chatml("What is the capital of Italy?"): "Rome",
            chatml("How many days are in a week?"): "7",
            chatml("What color is the sky on a clear day?"): "blue",
        },
        probe=("The capital of France is", "Paris"),
        divergence=0.002,
        instructed=True),
    "gemma3": RealModel(
        answers={
            "Question: What is the capital of France?\nAnswer:": "Paris",
            "Paris is the capital of": "France",
            "The opposite of hot is": "cold",
            "The sun rises in the": "east",
            "Water freezes at a temperature of 0 degrees": "Celsius",
            "Monday, Tuesday, Wednesday,": "Thursday",
        },
        probe=("Monday, Tuesday, Wednesday,", "Thursday"),
        divergence=0.005,
        instructed=False),
}
PROMPT = "The capital of France is"


def fetch_model(script, name):
    fetched = subprocess.run([script, name], capture_output=True, text=True)
    if fetched.returncode == 0:
        return fetched.stdout.strip()
    print(fetched.stderr.strip())
    print("the model could not be fetched, so nothing was tested")
    sys.exit(1 if os.environ.get("CI") else SKIPPED)


def run(*flags, prompt=PROMPT):
    """Text and log of one run of a prompt."""
    command = [PLAIT, "run", "--no-pack-cache", "-m", PATH, "-p", prompt, *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def generation_rate(*flags):
    _, log = run("--temp", 0, "-n", 64, "--ignore-eos", *flags)
    return float(re.search(r"then ([0-9.]+) tokens/s", log).group(1))


def one_token_run():
    """Seconds from start to end, and the most memory that was resident, in bytes."""
    began = time.monotonic()
    child = subprocess.Popen([PLAIT, "run", "--no-pack-cache", "-m", PATH, "-p", PROMPT, "--temp", "0", "-n", "1"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)  # it was waited for behind Popen's back
    if status != 0:
        raise AssertionError(f"a run of one token ended with {status}")
    return time.monotonic() - began, usage.ru_maxrss * 1024


class RealModelTest(unittest.TestCase):
    def test_answers(self):
        for prompt, answer in MODEL.answers.items():
            with self.subTest(prompt):
                self.assertIn(answer, run("--temp", 0, "-n", 24, prompt=prompt)[0])

    def test_exact_and_other_devices_know_it_too(self):
        prompt, answer = MODEL.probe
        for flags in (["--exact"], ["--devices", "sim"], ["--simd", "scalar"], ["--no-repack"],
                      ["-ctk", "q8_0", "-ctv", "q8_0"]):
            text, _ = run("--temp", 0, "-n", 2, *flags, prompt=prompt)
            self.assertIn(answer, text, flags)

    def test_same_seed_same_text(self):
        first, _ = run("--seed", 42, "-n", 32, "-t", 1)
        self.assertEqual(first, run("--seed", 42, "-n", 32, "-t", 2, "-ub", 1)[0])
        others = {run("--seed", seed, "-n", 32)[0] for seed in range(4)}
        self.assertGreater(len(others), 1)

    def test_stops_at_the_end_of_the_turn(self):
        if not MODEL.instructed:
            self.skipTest("this model only continues texts")
        text, log = run("--temp", 0, "-n", 200, prompt=chatml("What is the capital of France?"))
        self.assertIn("(end token)", log)
        self.assertNotIn("<|im_end|>", text)

    def test_first_token_within_a_second(self):
        one_token_run()  # warms the page cache
        runs = [one_token_run() for _ in range(3)]
        seconds = min(seconds for seconds, _ in runs)
        resident = max(resident for _, resident in runs)
        size = os.path.getsize(PATH)
        print(f"start to end of a one-token run: {seconds:.2f} s at best; resident {resident / 2**20:.0f} MiB "
              f"for a file of {size / 2**20:.0f} MiB")
        self.assertLess(seconds, 1.0)

    def test_the_default_path_is_close_to_the_exact_one(self):
        done = subprocess.run([DIVERGENCE, PATH, LONG_TEXT, "2000", "250"], capture_output=True, text=True,
                              timeout=800)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        print(f"KL divergence of the default path: {found}")
        self.assertEqual(found["positions"], 2000)
        self.assertLessEqual(found["mean"], MODEL.divergence)
        # Two identical paths would make this no test.
        self.assertGreater(found["mean"], 0)

    def test_four_times_the_scalar_path(self):
        ratios = []
        for _ in range(5):
            ratios.append(generation_rate() / generation_rate("--simd", "scalar"))
        print(f"generation, best kernels over scalar: median {statistics.median(ratios):.2f}, "
              f"min {min(ratios):.2f}, max {max(ratios):.2f}")
        self.assertGreaterEqual(statistics.median(ratios), 4)


if __name__ == "__main__":
    NAME, PLAIT, DIVERGENCE, SCRIPT = (sys.argv.pop(1) for _ in range(4))
    MODEL = MODELS[NAME]
    PATH = fetch_model(SCRIPT, NAME)
    unittest.main(verbosity=2)
