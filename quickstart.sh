#!/usr/bin/env bash
# Builds Plait, fetches a small model and continues a text with it. Arguments go to `plait run`; without any, a text is
# chosen. PLAIT_MODEL names another model of scripts/models.txt. Only the text goes to stdout.
set -euo pipefail
root=$(cd "$(dirname "$0")" && pwd)

"$root/build.sh" >&2
model=$("$root/scripts/fetch_model.sh" "${PLAIT_MODEL:-smollm2}")
(($#)) || set -- -p "The capital of France is" -n 48 --temp 0
exec "$root/build/release/plait" run -m "$model" "$@"
