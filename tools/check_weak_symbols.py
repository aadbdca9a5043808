#!/usr/bin/env python3
"""Checks that objects built with instruction-set flags define nothing that other objects could pick up.

usage: check_weak_symbols.py NM STEM... -- OBJECT...
Of the objects, those named <STEM>.cpp.o are checked, each of which must be there. A weak definition (an inline
function or a template instance with external linkage) in such a file may be chosen by the linker for the whole
program, which then fails on machines without the instruction set. The only strong function allowed is the one that
hands out the table, which carries the file's stem in its name.
"""
import pathlib
import subprocess
import sys


def faults_of(nm, stem, path):
    faults = []
    for line in subprocess.run([nm, path], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, symbol = line.split()[-2:]
        if symbol.startswith("DW.ref."):  # a pointer to the runtime's exception handler, the same in every object
            continue
        if kind in "WwVvu" and len(line.split()) == 3:
            faults.append(f"{path}: weak definition {symbol}")
        if kind == "T" and stem not in symbol:
            faults.append(f"{path}: external function {symbol}")
    return faults


def main():
    nm, *rest = sys.argv[1:]
    stems, objects = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    faults = []
    for stem in stems:
        paths = [path for path in objects if pathlib.Path(path).name == f"{stem}.cpp.o"]
        if len(paths) != 1:
            faults.append(f"{stem}.cpp.o: expected one object, found {len(paths)}")
        for path in paths:
            faults += faults_of(nm, stem, path)
    print("\n".join(faults) if faults else f"{len(stems)} objects define no weak symbols")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
