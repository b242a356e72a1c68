#!/usr/bin/env bash
# Has schemathesis try a running service by its OpenAPI document, over mTLS: openapi.sh SCHEMATHESIS [SECONDS]
# Its checks whether requests that break the schema are refused do not apply: those are business errors here, HTTP 200 with major 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
schemathesis=$1 seconds=${2:-60}
SIGNETD_QUICKSTART_DIRECTORY=$(mktemp -d "${TMPDIR:-/tmp}/signetd-openapi.XXXXXX")
export SIGNETD_QUICKSTART_DIRECTORY
export SCHEMATHESIS_HOOKS=$PWD/test/conformance/schemathesis_hooks.py
trap 'npm run --silent quickstart:stop || true; rm -rf "$SIGNETD_QUICKSTART_DIRECTORY"' EXIT

npm run --silent quickstart >/dev/null
of() { jq -r ".$1" "$SIGNETD_QUICKSTART_DIRECTORY/quickstart.json"; }
# It keeps notes in the directory that it is started in.
in_scratch() { (cd "$SIGNETD_QUICKSTART_DIRECTORY" && "$@"); }
# A key for the methods of the Cloud Signature Consortium.
SIGNETD_CSC_BASE=$(of baseUrl)$(of cscRoot) SIGNETD_CSC_CA=$(of caCertificate)
SIGNETD_CSC_CERTIFICATE=$(of clientCertificate) SIGNETD_CSC_KEY=$(of clientKey)
request='{"certificationRequestInfo":{"signatureActivationProtocol":"PASSWORD","PKCS10":{"attributes":{"subscriber":{}},
  "subject":{"country":"FR","commonName":"schemathesis"}}},"certificateFormat":"CERTIFICATE"}'
made=$(curl --silent --show-error --fail --noproxy '*' --cacert "$SIGNETD_CSC_CA" --cert "$SIGNETD_CSC_CERTIFICATE" --key "$SIGNETD_CSC_KEY" \
  --json "$request" "$(of baseUrl)$(of signRoot)/pki/createCertificate")
SIGNETD_CSC_CREDENTIAL=$(jq -r .keyReference.reference <<<"$made") SIGNETD_CSC_PIN=$(jq -r .keyReference.password <<<"$made")
export SIGNETD_CSC_BASE SIGNETD_CSC_CA SIGNETD_CSC_CERTIFICATE SIGNETD_CSC_KEY SIGNETD_CSC_CREDENTIAL SIGNETD_CSC_PIN
in_scratch "$schemathesis" run "$(of baseUrl)/openapi.json" --tls-verify "$(of caCertificate)" --request-cert "$(of clientCertificate)" \
  --request-cert-key "$(of clientKey)" --exclude-checks negative_data_rejection,positive_data_acceptance \
  --max-time "$seconds" --max-examples 50 --continue-on-failure --no-color
