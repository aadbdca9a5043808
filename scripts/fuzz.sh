#!/usr/bin/env bash
# Runs fuzz targets of tests/fuzz/CMakeLists.txt: scripts/fuzz.sh TARGET SECONDS; `all` shares the seconds among them.
#
# Starts from tests/fuzz/corpus/TARGET and from what earlier runs found (build/fuzz/corpus/TARGET). An input that crashes,
# takes seconds or asks for a large piece of memory is left in build/fuzz/found/, and the status is then not 0.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

[[ $# == 2 && $2 =~ ^[1-9][0-9]*$ ]] ||
    die "expected a target and a number of seconds; usage: scripts/fuzz.sh TARGET SECONDS"
wanted=$1
seconds=$2
folder=build/fuzz

command -v clang++-14 >/dev/null || die "expected clang++-14; on Debian 12 run: scripts/install_dependencies.sh"
cmake --preset fuzz --log-level=WARNING >/dev/null
cmake --build --preset fuzz --parallel "$(nproc)" >&2

mapfile -t targets < <(find "$folder/tests/fuzz" -maxdepth 1 -name '*_fuzz' -printf '%f\n' | sed 's/_fuzz$//' | sort)
if [[ $wanted != all ]]; then
    [[ " ${targets[*]} " == *" $wanted "* ]] || die "unknown target '$wanted'; choose one of: ${targets[*]} all."
    targets=("$wanted")
fi

fuzz() {
    local target=$1 each=$2
    local dictionary=()
    [[ -f tests/fuzz/$target.dict ]] && dictionary=(-dict="tests/fuzz/$target.dict")
    mkdir -p "$folder/corpus/$target" "$folder/found"
    say "Fuzzing $target for $each s"
    # Twice the second an input may take, for the sanitizers; -malloc_limit_mb bounds one allocation.
    "$folder/tests/fuzz/${target}_fuzz" -max_total_time="$each" -timeout=2 -rss_limit_mb=1024 -malloc_limit_mb=64 \
        -max_len=16384 -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$folder/found/$target-" \
        "${dictionary[@]}" \
        "$folder/corpus/$target" "tests/fuzz/corpus/$target" >&2 ||
        die "$target: the lines above name an input it cannot take. Copy it from $folder/found/ to" \
            "tests/fuzz/corpus/$target/ under a name that says what it is, and mend the code until the test" \
            "fuzz.$target passes."
}

each=$((seconds / ${#targets[@]}))
for target in "${targets[@]}"; do fuzz "$target" "$((each > 0 ? each : 1))"; done
