#!/usr/bin/env bash
# Formats every tracked C++ file in place; with --check only says which ones differ, and fails if any does.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

case ${1:-} in
    "") mode=(-i) ;;
    --check) mode=(--dry-run -Werror) ;;
    *) die "expected --check or nothing, found '$1'." ;;
esac
# Another version lays some lines out differently.
command -v clang-format-14 >/dev/null ||
    die "expected clang-format-14; on Debian 12 run: scripts/install_dependencies.sh"

git ls-files -z -- '*.h' '*.cpp' '*.cu' | xargs -0 -r -n 32 -P "$(nproc)" clang-format-14 "${mode[@]}" ||
    die "the lines above are not formatted as .clang-format asks; run: scripts/format.sh"
