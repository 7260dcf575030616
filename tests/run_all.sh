#!/usr/bin/env bash
# Every test with every sweep whole: hours on a small machine. `./vitrine test` runs a part of each sweep.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VITRINE_TESTS=all exec ./vitrine test "$@"
