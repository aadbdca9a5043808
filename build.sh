#!/usr/bin/env bash
# Builds the command line program: ./build.sh [PRESET], by default release. Leaves build/PRESET/plait.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

(($# <= 1)) || die "expected at most one argument, a preset; usage: ./build.sh [PRESET]"
preset=${1:-release}

./scripts/install_dependencies.sh
require_preset "$preset"
cmake --preset "$preset" --log-level=WARNING
cmake --build --preset "$preset" --parallel "$(nproc)" --target plait
