#!/usr/bin/env python3
"""Checks every `#include "plait/<room>/..."` against the rooms its own room may include.

usage: check_rooms.py ROOMS SOURCE_DIR
ROOMS is what the build wrote from the DEPS of each plait_room(): lines "folder: dep dep". A dep names a room with _
for /, and stands for the rooms that room may itself include, since a header brings its includes with it.
A room's tests may include any room listed above it.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"(plait/[^"]+)"')


def read_rooms(path):
    rooms = {}
    for line in pathlib.Path(path).read_text().splitlines():
        folder, deps = line.split(":")
        rooms[folder] = deps.split()
    return rooms


def room_name(folder):
    return folder.removeprefix("src/plait/").replace("/", "_")


def allowed_rooms(rooms):
    """Room name -> the set of rooms reachable through its deps, itself included; order in `rooms` is bottom to top."""
    reach = {}
    for folder, deps in rooms.items():
        name = room_name(folder)
        reach[name] = {name}
        for dep in deps:
            if dep not in reach:
                sys.exit(f"{folder}: depends on {dep}, which is no room below it")
            reach[name] |= reach[dep]
    return reach


def room_of(path, rooms):
    """The room with the longest folder that holds `path`."""
    holders = [folder for folder in rooms if path.startswith(folder + "/")]
    return max(holders, key=len) if holders else None


def main():
    rooms = read_rooms(sys.argv[1])
    root = pathlib.Path(sys.argv[2])
    reach = allowed_rooms(rooms)
    order = [room_name(folder) for folder in rooms]
    faults, files = [], 0
    for file in sorted(root.glob("src/plait/**/*")) + sorted(root.glob("apps/**/*")):
        if file.suffix not in (".h", ".cpp", ".cu"):
            continue
        here = str(file.relative_to(root))
        room = room_of(here, rooms)
        if room is None:
            faults.append(f"{here}: belongs to no room")
            continue
        files += 1
        name = room_name(room)
        is_test = "_test" in file.stem or "test_" in file.stem
        allowed = set(order[: order.index(name) + 1]) if is_test else reach[name]
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = room_of("src/" + match.group(1), rooms)
            if target is None or room_name(target) not in allowed:
                faults.append(f"{here}:{number}: {name} may not include {match.group(1)}")
    print("\n".join(faults) if faults else f"{files} files in {len(rooms)} rooms include only rooms below them")
    sys.exit(1 if faults or files == 0 else 0)


if __name__ == "__main__":
    main()
