#!/usr/bin/env bash
# Builds the CPU's kernels for other architectures and runs their tests in an emulator: scripts/cross_test.sh [WHAT...],
# each a level or an architecture, by default everything. A level runs on the plainest processor that has it, so that
# nothing it must not use goes unseen. Installs the packages of dependencies_<architecture>.txt. The emulator's times say
# nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

# level, architecture, processor for the emulator
levels=(
    "neon   aarch64 cortex-a53"
    "dotprod aarch64 neoverse-n1"
    "i8mm   aarch64 max,sve=off"
    "sve128 aarch64 max,sve128=on,sve256=off"
    "sve256 aarch64 max,sve256=on,sve512=off"
    "rvv128 riscv64 rv64,v=true,vext_spec=v1.0,vlen=128"
    "rvv256 riscv64 rv64,v=true,vext_spec=v1.0,vlen=256"
)
# For what belongs to no level, and for the level `scalar`.
declare -A plain_cpu=([aarch64]=cortex-a53 [riscv64]=rv64)

# Runs a test program on a processor; stops if a test fails or none is left by the filter.
run_tests() {
    local arch=$1 cpu=$2 program=$3 filter=$4 text
    text=$("qemu-$arch" -L "/usr/$arch-linux-gnu" -cpu "$cpu" "build/cross-$arch/src/plait/$program" \
        --gtest_brief=1 --gtest_filter="$filter" 2>&1) || die "$program failed on $arch, $cpu: $text"
    [[ $text =~ PASSED\ *\]\ ([0-9]+)\ test ]] || die "$program said nothing of its tests on $arch, $cpu: $text"
    ((BASH_REMATCH[1])) || die "expected tests of '$filter' on $arch, $cpu, found none"
    say "$arch, $cpu: ${BASH_REMATCH[1]} tests of '$filter' passed"
}

build() {
    local arch=$1
    cmake --preset "cross-$arch" --log-level=WARNING >&2
    cmake --build --preset "cross-$arch" --parallel "$(nproc)" >&2
    ctest --test-dir "build/cross-$arch" -R weak_symbols --output-on-failure >&2
    run_tests "$arch" "${plain_cpu[$arch]}" base/base_test '*'
    run_tests "$arch" "${plain_cpu[$arch]}" backends/cpu/backends_cpu_test '-Levels/*'
    run_tests "$arch" "${plain_cpu[$arch]}" backends/cpu/backends_cpu_test '*/scalar'
}

test_level() {
    local level arch cpu
    read -r level arch cpu <<<"$1"
    run_tests "$arch" "$cpu" backends/cpu/backends_cpu_test "*/$level"
}

wanted=()
for name in "${@:-all}"; do
    found=()
    for row in "${levels[@]}"; do
        read -r level arch _ <<<"$row"
        [[ $name == all || $name == "$level" || $name == "$arch" ]] && found+=("$row")
    done
    ((${#found[@]})) ||
        die "unknown level '$name'; choose among: $(printf '%s ' "${levels[@]%% *}")aarch64 riscv64, or give none for all."
    wanted+=("${found[@]}")
done

for arch in aarch64 riscv64; do
    [[ " ${wanted[*]} " == *" $arch "* ]] || continue
    ./scripts/install_dependencies.sh "dependencies_$arch.txt"
    build "$arch"
done

# One process for each core.
running=0
for row in "${wanted[@]}"; do
    test_level "$row" &
    ((++running < $(nproc))) || { wait -n && running=$((running - 1)); }
done
while ((running)); do wait -n && running=$((running - 1)); done
