#!/bin/sh
# Judges CMS signatures by OpenSSL alone: digests, values, signing-certificate attribute and chain. It knows nothing of levels.
# Reads one JSON object a line ({"file", "content": [path], "trust": [path]}) and writes one a line.
set -eu
command -v jq >/dev/null || { echo 'jq is missing: install it, or name another validator' >&2; exit 1; }
while IFS= read -r line; do
  of() { printf '%s' "$line" | jq -r "$1"; }
  file=$(of .file)
  content=$(of '.content[0] // empty')
  trust=$(of '.trust[0]')
  if reason=$(openssl cms -verify -cades -binary -inform DER -in "$file" ${content:+-content "$content"} -CAfile "$trust" -purpose any -out /dev/null 2>&1)
  then verdict=valid; else verdict=invalid; fi
  jq -nc --arg file "$file" --arg verdict "$verdict" --arg reason "$reason" \
    '{file: $file, verdict: $verdict, validators: [{name: "openssl", verdict: $verdict, reasons: (if $verdict == "valid" then [] else [$reason] end)}]}'
done
