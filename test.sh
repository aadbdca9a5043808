#!/usr/bin/env bash
# Builds everything and runs all tests: ./test.sh [PRESET], by default release. PLAIT_GOLDEN may name a folder with the
# full golden data; tests/golden holds the part that always runs. Exits as ctest does.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

(($# <= 1)) || die "expected at most one argument, a preset; usage: ./test.sh [PRESET]"
preset=${1:-release}

golden="the small set in tests/golden only (set PLAIT_GOLDEN to a folder with the full set to run that too)"
if [[ -n ${PLAIT_GOLDEN:-} ]]; then
    # Tests run in the build folder: a relative name would lead elsewhere there.
    [[ -d $PLAIT_GOLDEN/arch && -d $PLAIT_GOLDEN/quant ]] ||
        die "expected PLAIT_GOLDEN to name a folder that holds arch/ and quant/, found none in '$PLAIT_GOLDEN'."
    PLAIT_GOLDEN=$(realpath -- "$PLAIT_GOLDEN")
    export PLAIT_GOLDEN
    golden="the small set in tests/golden, and the full set that PLAIT_GOLDEN names"
fi

./scripts/install_dependencies.sh
require_preset "$preset"
cmake --preset "$preset" --log-level=WARNING
cmake --build --preset "$preset" --parallel "$(nproc)"
echo "Golden data: $golden."
exec ctest --preset "$preset" --parallel "$(nproc)"
