#!/bin/sh
# Judges CMS signatures by OpenSSL alone, XML signatures, alone or in an ASiC-E container, by xmlsec1 alone: digests, values and chain, for CMS the
# signing-certificate attribute too; and PDF signatures by pdfsig alone, digests and values. It knows nothing of levels. xmlsec1 1.2 does not know RSASSA-PSS: such a signature is not-applicable.
# Reads one JSON object a line ({"file", "content": [path or {"path", "name"}], "trust": [path]}) and writes one a line.
set -eu
for program in jq openssl pdfsig xmlsec1 unzip; do
  command -v "$program" >/dev/null || { echo "$program is missing: install it, or name another validator" >&2; exit 1; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/signetd-validator.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Sets verdict and reason.
judge_cms() {
  content=$(of '.content[0] // empty')
  if reason=$(openssl cms -verify -cades -binary -inform DER -in "$file" ${content:+-content "$content"} -CAfile "$(of '.trust[0]')" -purpose any -out /dev/null 2>&1)
  then verdict=valid; else verdict=invalid; fi
}

# Copies the content to the folder, under its name and under that name percent-encoded.
lay_out() {
  printf '%s\n' "$1" | jq -r '.name, (.name | split("/") | map(@uri) | join("/"))' | while IFS= read -r name; do
    mkdir -p "$folder/$(dirname "$name")"
    [ -e "$folder/$name" ] || cp "$(printf '%s' "$1" | jq -r .path)" "$folder/$name"
  done
}

judge_xml() {
  folder=$(mktemp -d "$work/XXXXXX")
  case $file in
    *.asice)
      LC_ALL=C.UTF-8 unzip -q "$file" -d "$folder"
      cp "$folder/META-INF/signatures.xml" "$folder/.signature.xml"
      (cd "$folder" && find . -type f ! -name .signature.xml ! -path './META-INF/*' | sed 's|^\./||' | jq -Rc --arg folder "$folder" '{name: ., path: "\($folder)/\(.)"}') >"$folder/.content"
      ;;
    *)
      cp "$file" "$folder/.signature.xml"
      of '.content[]? | tojson' >"$folder/.content"
      ;;
  esac
  while IFS= read -r each; do lay_out "$each"; done <"$folder/.content"
  set --
  for anchor in $(of '.trust[]'); do set -- "$@" --trusted-pem "$anchor"; done
  for name in $(grep -aoE '<[^<>/?! ]+( [^<>]*)? Id="' "$folder/.signature.xml" | sed -E 's/<([^:> ]*:)?([^ ]*) .*/\2/' | sort -u); do set -- "$@" --id-attr:Id "$name"; done
  count=$(grep -ao '<ds:Signature ' "$folder/.signature.xml" | wc -l)
  verdict=valid reason=''
  [ "$count" -gt 0 ] || verdict=invalid reason='no signature'
  while [ "$count" -gt 0 ]; do
    signature="(//*[local-name()='Signature' and namespace-uri()='http://www.w3.org/2000/09/xmldsig#'])[$count]"
    said=$(cd "$folder" && xmlsec1 --verify --enabled-reference-uris empty,same-doc,local,remote --node-xpath "$signature" "$@" .signature.xml 2>&1) || {
      reason="$reason $said"
      case $said in *xmlSecTransformIdListFindByHref*) [ "$verdict" = invalid ] || verdict=not-applicable ;; *) verdict=invalid ;; esac
    }
    count=$((count - 1))
  done
  rm -rf "$folder"
}

judge_pdf() {
  password=$(of '.password // empty')
  said=$(HOME=$work LC_ALL=C pdfsig -nocert ${password:+-upw "$password"} "$file" 2>&1) || :
  # Document time-stamps, of type unknown, and fields that nobody has signed are not judged.
  reason=$(printf '%s\n' "$said" | awk '
    /^Signature #/ { time_stamp = 0 }
    /- Signature Type: unknown/ { time_stamp = 1 }
    /- Signature Validation:/ && !time_stamp { judged = 1; if ($0 !~ /Signature is Valid/) print }
    END { if (!judged) print "no signature" }')
  if [ -z "$reason" ]; then verdict=valid; else verdict=invalid; fi
}

while IFS= read -r line; do
  of() { printf '%s' "$line" | jq -r "$1"; }
  file=$(of .file)
  case $file in *.xml | *.asice) validator=xmlsec1 && judge_xml ;; *.pdf) validator=pdfsig && judge_pdf ;; *) validator=openssl && judge_cms ;; esac
  jq -nc --arg file "$file" --arg name "$validator" --arg verdict "$verdict" --arg reason "$reason" \
    '{file: $file, verdict: $verdict, validators: [{name: $name, verdict: $verdict, reasons: (if $verdict == "valid" then [] else [$reason] end)}]}'
done
