#!/usr/bin/env bash
# Has independent validators and linters judge what signetd makes. They are given by their directory: validators.sh [TOOLS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${1:-../shared/tools}
samples=$(mktemp -d "${TMPDIR:-/tmp}/signetd-samples.XXXXXX")
trap 'rm -rf "$samples"' EXIT

sh packaging/node24.sh test/conformance/samples.ts "$samples"
"$tools/validate" --batch <"$samples/requests.jsonl" >"$samples/results.jsonl" || true
wanted=$(wc -l <"$samples/requests.jsonl")
# A signature without signing time is no baseline signature: it is to be sound, and that is all that DSS finds missing.
good='((.verdict == "valid" or .verdict == "valid-except-revocation") and .level == "CAdES-BASELINE-B") or
  ((.file | test("-no-time[.]")) and .verdict == "indeterminate" and ([.validators[] | select(.name != "dss") | .verdict] | all(. == "valid" or . == "not-applicable"))
    and ([.validators[] | select(.name == "dss") | .reasons[]] | all(test("\u0027signing-time\u0027 is not present"))))'
accepted=$(jq -r "select($good) | .file" "$samples/results.jsonl" | wc -l)
echo "validators: $accepted of $wanted signatures accepted, at CAdES-BASELINE-B where they have a signing time"
jq -r '.validators[] | select(.verdict != "not-applicable") | "\(.name) \(.verdict)"' "$samples/results.jsonl" | sort | uniq -c
[ "$wanted" -gt 0 ] && [ "$accepted" = "$wanted" ] || { jq -c "select(($good) | not)" "$samples/results.jsonl" | head -c 4000; exit 1; }

for certificate in "$samples"/certificate-*.der; do
  "$tools/lint" "$certificate" --issuer "$samples/issuing.pem" >"$samples/lint.json" || { cat "$samples/lint.json"; exit 1; }
done
"$tools/lint" "$samples/issuing.pem" --issuer "$samples/root.pem" >"$samples/lint.json" || { cat "$samples/lint.json"; exit 1; }
echo 'linters: no error in any certificate'
