# Shared by the scripts of this repository; sourced, never run. Messages go to stderr: stdout belongs to results.
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$(basename "$0"): $*"
    exit 1
}

# Stops with the list of presets unless $1 is one that CMakePresets.json offers. Call from the repository's root.
require_preset() {
    local presets
    presets=$(cmake --list-presets | sed -n 's/^ *"\([^"]*\)".*/\1/p')
    grep -qxF -- "$1" <<<"$presets" || die "unknown preset '$1'; choose one of: ${presets//$'\n'/, }."
}
