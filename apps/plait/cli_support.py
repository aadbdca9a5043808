"""What the tests of the command line share: running `plait`, reading what it wrote, models to run it with.

Models come from tests/golden (no tokenizer, known ids) and from `plait synth` (random weights, with a tokenizer).
A test file ends with `main()` and is called as: FILE PLAIT [unittest's arguments]
"""
import array
import ast
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "arch"
NO_TOKENIZER = GOLDEN / "llama-dense.gguf"
CONTEXT = 512  # that synth's tiny models and the golden ones are run with

DONE, FAILED, WRONG_USAGE = 0, 1, 2

PLAIT = pathlib.Path(sys.argv[1]).resolve()
_FOLDER = tempfile.TemporaryDirectory(prefix="plait_cli_test.")
WORK = pathlib.Path(_FOLDER.name)  # files of this test; gone when it ends
CACHE = WORK / "cache"
os.environ["XDG_CACHE_HOME"] = str(CACHE)  # instead of the user's
MODEL = WORK / "model.gguf"  # what synth makes if not told otherwise; see main()
PROMPT_IDS = ",".join(str(i * 37 % 500) for i in range(100))


class Result(NamedTuple):
    status: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode(errors="replace")


def command_line(arguments):
    return [PLAIT, *map(str, arguments)]


def plait(*arguments, stdin=b"", **options):
    """Runs one command; flags may be anything that has a text."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run(command_line(arguments), input=stdin, stderr=subprocess.PIPE, timeout=50, **options)
    return Result(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def synth(name, *, arch="llama", size="tiny", kind="F16", seed=0):
    path = WORK / name
    done = plait("synth", "--arch", arch, "--size", size, "--type", kind, "-o", path, "--seed", seed)
    if done.status != DONE:
        raise AssertionError(f"synth: {done}")
    return path


def read_npy(path):
    """Shape and values of a float32 array."""
    data = path.read_bytes()
    header = ast.literal_eval(data[10 : 10 + int.from_bytes(data[8:10], "little")].decode())
    assert data[:6] == b"\x93NUMPY" and header["descr"] == "<f4" and not header["fortran_order"], header
    values = array.array("f", data[10 + int.from_bytes(data[8:10], "little") :])
    return header["shape"], values


def best_ids(path):
    """The id with the largest logit, by row."""
    (rows, columns), values = read_npy(path)
    table = [values[row * columns : (row + 1) * columns] for row in range(rows)]
    return [row.index(max(row)) for row in table]


class CliTest(unittest.TestCase):
    def done(self, *arguments, **options):
        result = plait(*arguments, **options)
        self.assertEqual(result.status, DONE, f"{arguments}: {result}")
        self.assertNotIn("error", result.err)
        return result

    def refused(self, status, says, *arguments, **options):
        """The command ends with `status` and one sentence on stderr that holds every text of `says`."""
        result = plait(*arguments, **options)
        lines = result.err.splitlines()
        errors = [line for line in lines if "error" in line.split(":")[0]]
        self.assertEqual(result.status, status, f"{arguments}: {result}")
        self.assertEqual(errors, lines[-1:], f"{arguments}: not one sentence at the end: {result}")
        self.assertGreater(len(errors[0].split()), 3, errors)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, errors[0], arguments)
        if status == WRONG_USAGE:
            self.assertEqual((result.out, len(lines)), (b"", 1), f"{arguments}: {result}")
            self.assertRegex(errors[0], r"see plait( \w+)? --help$")
        return result

    def fails(self, says, *arguments, **options):
        return self.refused(FAILED, says, *arguments, **options)

    def misused(self, says, *arguments, **options):
        return self.refused(WRONG_USAGE, says, *arguments, **options)


def run_flags(*flags, text="the moon", tokens=8):
    return ("run", "-m", MODEL, "-p", text, "-n", tokens, *flags)


def greedy_of(*flags, model=None, ids=None, greedy=8):
    out = WORK / "greedy.npy"
    return ("logits", "-m", model or MODEL, "--tokens", ids or PROMPT_IDS, "--greedy", greedy, "-o", out, *flags)


def main():
    """Runs the tests of the file that was started."""
    with _FOLDER:
        synth(MODEL.name)
        unittest.main(argv=sys.argv[:1] + sys.argv[2:])
