#!/usr/bin/env bash
# Installs the packages of a list that this machine lacks: scripts/install_dependencies.sh [LIST], by default
# dependencies.txt. Does nothing, and needs no rights and no network, when all are there.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=scripts/lib.sh
source ./lib.sh

list=${1:-dependencies.txt}
[[ -f $list ]] || die "expected the name of a list in scripts/, found no '$list'"

wanted_packages() { sed 's/#.*//' "$list" | awk 'NF { print $1 }'; }

installed_packages() {
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' | awk '$2 == "installed" { print $1 }'
}

{ command -v dpkg-query && command -v apt-get; } >/dev/null ||
    die "expected a Debian system with dpkg-query and apt-get; elsewhere, install what scripts/$list" \
        "lists and run: cmake --preset release && cmake --build --preset release"

mapfile -t missing < <(comm -23 <(wanted_packages | sort -u) <(installed_packages | sort -u))
((${#missing[@]})) || exit 0

if ((EUID == 0)); then
    as_root=(env)
elif command -v sudo >/dev/null; then
    as_root=(sudo env)
else
    die "${#missing[@]} packages are missing and only root can install them; as root, run:" \
        "apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
fi

say "Installing ${#missing[@]} packages: ${missing[*]}"
{
    "${as_root[@]}" apt-get update -q &&
        "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
} >&2 || die "apt-get could not install: ${missing[*]}. Its own message stands above; most often the network or the" \
    "package sources (Debian 12 is expected) are at fault."
