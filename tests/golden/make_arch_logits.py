#!/usr/bin/env python3
"""Computes the logits of GGUF models with the models' published implementations, in float64.

Writes NAME.json and NAME.logits.npy for each NAME.gguf, as README.md beside this file describes them; with --check
compares with those that lie beside NAME.gguf already. Needs torch, transformers and gguf: see README.md.
"""

import argparse
import json
import random
import shutil
import sys
from pathlib import Path

import numpy
import torch
import transformers

import reference_models as reference


def continue_greedily(published, prompt, count):
    """The ids drawn and the logits of all rows: the prompt's, then those of each id fed back."""
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(reference.logits(published, ids)[-1].argmax()))
    return ids[len(prompt) :], reference.logits(published, ids)


def smallest_gap(rows, chosen):
    """Between the last chosen and the next value of any row, as a share of that row's root mean square."""
    best = rows.topk(chosen + 1).values
    return float(((best[:, -2] - best[:, -1]) / rows.square().mean(1).sqrt()).min())


def close_calls(published, ids, prompt_length):
    """How near rounding comes to another id or another expert; both should be far from the error of any arithmetic."""
    with reference.watched_routers(published) as scores:
        rows = reference.logits(published, ids)
    text = f"smallest gap between ids {smallest_gap(rows[prompt_length - 1 : -1], 1):.1e}"
    if scores:
        text += f", between experts {min(smallest_gap(s, published.config.num_experts_per_tok) for s in scores):.1e}"
    return text


def random_prompt(vocab, length, seed):
    generator = random.Random(seed)
    return [generator.randrange(vocab) for _ in range(length)]


def describe(model, prompt, greedy):
    return {
        "model": model.name,
        "prompt_tokens": prompt,
        "greedy_tokens": greedy,
        "logits": f"{model.stem}.logits.npy",
        "rows": "one row per prompt token, then one per greedy token fed back",
        "arithmetic": f"float64 throughout (weights decoded exactly), no cache; transformers "
        f"{transformers.__version__}, torch {torch.__version__.split('+')[0]}",
    }


def make(model, options):
    published = reference.load(model)
    prompt = options.tokens or random_prompt(published.config.vocab_size, options.prompt, options.seed)
    greedy, rows = continue_greedily(published, prompt, options.greedy)
    folder = options.output or model.parent
    numpy.save(folder / f"{model.stem}.logits.npy", rows.numpy().astype(numpy.float32))
    (folder / f"{model.stem}.json").write_text(json.dumps(describe(model, prompt, greedy)) + "\n")
    if options.output and not (folder / model.name).exists():
        shutil.copyfile(model, folder / model.name)
    calls = close_calls(published, prompt + greedy, len(prompt))
    print(f"{model.stem}: {len(rows)} rows of {rows.shape[1]}, {calls}")
    return True


def check(model, options):
    description = json.loads(model.with_suffix(".json").read_text())
    expected = torch.tensor(numpy.load(model.parent / description["logits"]), dtype=torch.float64)
    ids = description["prompt_tokens"] + description["greedy_tokens"]
    found = reference.logits(reference.load(model), ids)
    nmse = float((found - expected).square().sum() / expected.square().sum())
    print(f"{model.stem}: NMSE {nmse:.1e}")
    return nmse <= options.bound


def ids_of(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="NAME.gguf")
    parser.add_argument("-o", "--output", type=Path, help="folder to write to (the model's own)")
    parser.add_argument("--tokens", type=ids_of, help="the prompt's ids, separated by commas, instead of random ones")
    parser.add_argument("--prompt", type=int, default=32, help="length of a random prompt (32)")
    parser.add_argument("--seed", type=int, default=1, help="of a random prompt (1)")
    parser.add_argument("--greedy", type=int, default=6, help="ids to continue with (6)")
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    parser.add_argument("--bound", type=float, default=1e-11, help="largest NMSE that --check accepts (1e-11)")
    return parser.parse_args()


def main():
    options = parse_arguments()
    with reference.float64_only():
        results = [(check if options.check else make)(model, options) for model in options.models]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
