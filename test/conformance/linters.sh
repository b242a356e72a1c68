#!/usr/bin/env bash
# Has independent linters (pkilint, zlint, OpenSSL strict) judge certificates and CRLs of every kind that signetd can make. They are given by their
# directory: linters.sh [TOOLS]. Prints what they warn of, with how often; any error ends it with 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${1:-../shared/tools}
samples=$(mktemp -d "${TMPDIR:-/tmp}/signetd-certificates.XXXXXX")
trap 'rm -rf "$samples"' EXIT

sh packaging/node24.sh test/conformance/certificate-samples.ts "$samples"
wanted=$(wc -l <"$samples/samples.tsv")
while IFS=$'\t' read -r file issuer profile; do
  # A list is not judged by a profile of certificates.
  if [ "$profile" = crl ]; then options=(); else options=(--profile "$profile"); fi
  "$tools/lint" "$samples/$file" --issuer "$samples/$issuer" "${options[@]}" >>"$samples/findings.jsonl" </dev/null || echo "$file" >>"$samples/failed"
done <"$samples/samples.tsv"

jq -r '.findings | to_entries[] | .key as $severity | .value[] | "\($severity)\t\(.linter)\t\(.code)\t\(.message)"' "$samples/findings.jsonl" | sort | uniq -c | sort -rn
linted=$(jq -c 'select(.ok)' "$samples/findings.jsonl" | wc -l)
echo "linters: $linted of $wanted without an error"
if [ -e "$samples/failed" ]; then
  cat "$samples/failed"
  jq -c 'select(.ok | not)' "$samples/findings.jsonl" | head -c 6000
  exit 1
fi
[ "$wanted" -gt 0 ] && [ "$linted" = "$wanted" ]
