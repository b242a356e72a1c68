#!/usr/bin/env bash
# Has independent validators and linters judge what signetd makes. They are given by their directory: validators.sh [TOOLS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${1:-../shared/tools}
samples=$(mktemp -d "${TMPDIR:-/tmp}/signetd-samples.XXXXXX")
trap 'rm -rf "$samples"' EXIT

SIGNETD_VALIDATOR="$tools/validate --batch" sh packaging/node24.sh test/conformance/conformance.ts pairs "$samples"
sh test/conformance/verapdf.sh "$samples"

for certificate in "$samples"/certificate-*.der; do
  "$tools/lint" "$certificate" --issuer "$samples/issuing.pem" >"$samples/lint.json" || { cat "$samples/lint.json"; exit 1; }
done
"$tools/lint" "$samples/issuing.pem" --issuer "$samples/root-0.pem" >"$samples/lint.json" || { cat "$samples/lint.json"; exit 1; }
echo 'linters: no error in any certificate'
