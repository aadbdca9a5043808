#!/usr/bin/env python3
"""Prints src/plait/dtype/codebooks.cpp from the grids of the Python package `gguf`.

usage: make_codebooks.py | clang-format > src/plait/dtype/codebooks.cpp        (run in the repository root)
An entry is one number: the index of each of its values among the grid's few magnitudes, 2 bits each (8 values of 3
magnitudes) or 3 bits (4 values of 8), the first value lowest.
"""
from gguf import quants

GRIDS = [("IQ2_XXS", "kIq2XxsGrid"), ("IQ2_XS", "kIq2XsGrid"), ("IQ2_S", "kIq2SGrid"),
         ("IQ3_XXS", "kIq3XxsGrid"), ("IQ3_S", "kIq3SGrid"), ("IQ1_S", "kIq1Grid")]


def codes(name):
    grid = getattr(quants, name)
    grid.init_grid()
    entries, values = grid.grid_shape
    bits = 16 // values if values == 8 else 12 // values
    magnitudes = list(grid.grid_map)
    rows = grid.grid.reshape(entries, values)
    return [sum(magnitudes.index(value) << (bits * i) for i, value in enumerate(row)) for row in rows]


def main():
    print('// Written by tests/golden/dtype/make_codebooks.py.\n#include "plait/dtype/codebooks.h"\n')
    print("namespace plait::dtype {\n")
    for name, constant in GRIDS:
        numbers = codes(name)
        print(f"const std::array<uint16_t, {len(numbers)}> {constant} = {{")
        print(", ".join(f"0x{number:04x}" for number in numbers))
        print("};\n")
    print("}  // namespace plait::dtype")


if __name__ == "__main__":
    main()
