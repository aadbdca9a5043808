#!/usr/bin/env bash
# Fails unless every tracked C++ file is formatted and every tracked shell script passes shellcheck.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

scripts/format.sh --check
git ls-files -z -- '*.sh' .ci/run | xargs -0 shellcheck -x || die "shellcheck objects to the lines above."
