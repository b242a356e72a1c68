#!/usr/bin/env bash
# Has independent linters (pkilint, zlint, OpenSSL strict) judge certificates, CRLs and OCSP answers of every kind that signetd can make. They are
# given by their directory: linters.sh [TOOLS]. Prints what they warn of, with how often; any error ends it with 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${1:-../shared/tools}
samples=$(mktemp -d "${TMPDIR:-/tmp}/signetd-certificates.XXXXXX")
trap 'rm -rf "$samples"' EXIT

sh packaging/node24.sh test/conformance/certificate-samples.ts "$samples"
wanted=$(wc -l <"$samples/samples.tsv")
export tools samples

# Files of one issuer and one profile, a few at a time: the linters' start is most of their time.
lint_some() {
  local issuer=$1 profile=$2
  shift 2
  local options=()
  # Lists and answers are not judged by a profile of certificates.
  case $profile in crl | ocsp) ;; *) options=(--profile "$profile") ;; esac
  "$tools/lint" "${@/#/$samples/}" --issuer "$samples/$issuer" "${options[@]}" >"$(mktemp "$samples/findings.XXXXXX")" </dev/null || true
}
export -f lint_some
awk -F '\t' '
  { key = $2 " " $3; files[key] = files[key] " " $1; if (++count[key] % 4 == 0) { print key files[key]; files[key] = "" } }
  END { for (key in files) if (files[key] != "") print key files[key] }' "$samples/samples.tsv" |
  xargs -P "$(nproc)" -L 1 bash -c 'lint_some "$@"' lint_some

cat "$samples"/findings.?????? >"$samples/findings.jsonl"
jq -r '.findings | to_entries[] | .key as $severity | .value[] | "\($severity)\t\(.linter)\t\(.code)\t\(.message)"' "$samples/findings.jsonl" | sort | uniq -c | sort -rn
linted=$(jq -c 'select(.ok)' "$samples/findings.jsonl" | wc -l)
echo "linters: $linted of $wanted without an error"
if [ "$linted" != "$wanted" ]; then
  jq -c 'select(.ok | not)' "$samples/findings.jsonl" | head -c 6000
  exit 1
fi
[ "$wanted" -gt 0 ]
