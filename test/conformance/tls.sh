#!/usr/bin/env bash
# Has TLS scanners look at a running service's API listener, with a registered client's certificate, and attacks it with handshakes that no
# library makes. What is not installed is named and left out: sslyze, testssl (or testssl.sh), and tlslite-ng for the attacks.
#   tls.sh [QUICKSTART-DIRECTORY]
# PYTHON names the interpreter that has tlslite-ng, SSLYZE and TESTSSL the programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
quickstart=${1:-var/quickstart}
description=$quickstart/quickstart.json
python=${PYTHON:-python3}
sslyze=${SSLYZE:-sslyze}
testssl=${TESTSSL:-$(command -v testssl || command -v testssl.sh || echo testssl)}
address=$(jq -r '.baseUrl | sub("https://"; "")' "$description")
certificate=$(jq -r .clientCertificate "$description")
key=$(jq -r .clientKey "$description")
ca=$(jq -r .caCertificate "$description")
results=$(mktemp -d "${TMPDIR:-/tmp}/signetd-tls-scan.XXXXXX")
trap 'rm -rf "$results"' EXIT
failures=0
ran=0
fail() { echo "FAILED $*"; failures=$((failures + 1)); }

if command -v "$sslyze" >/dev/null; then
  ran=$((ran + 1))
  scans=(--sslv2 --sslv3 --tlsv1 --tlsv1_1 --tlsv1_2 --tlsv1_3 --resum --reneg --compression --heartbleed --openssl_ccs --robot --fallback
    --elliptic_curves --early_data --ems)
  "$sslyze" --cert "$certificate" --key "$key" --certinfo_ca_file "$ca" --json_out "$results/sslyze.json" "${scans[@]}" "$address" >"$results/sslyze.txt" 2>&1 || true
  jq -e '.server_scan_results | length == 1 and .[0].scan_status == "COMPLETED"' "$results/sslyze.json" >/dev/null || { cat "$results/sslyze.txt"; fail 'sslyze: the scan did not end'; }
  # Each line is a finding: what a service of today must not have.
  jq -r '.server_scan_results[0].scan_result as $scan
    | def accepted($version): $scan[$version + "_cipher_suites"].result.accepted_cipher_suites | map(.cipher_suite.name);
      (("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1") | select(accepted(.) != []) | "\(.) is spoken"),
      (accepted("tls_1_2")[] | select(test("ECDHE.*(GCM|POLY1305)") | not) | "TLS 1.2 with \(.)"),
      (select($scan.session_renegotiation.result.is_vulnerable_to_client_renegotiation_dos) | "a client may renegotiate"),
      (select($scan.session_renegotiation.result.supports_secure_renegotiation | not) | "no secure renegotiation indication"),
      (select($scan.session_resumption.result.session_id_resumption_result != "NOT_SUPPORTED") | "sessions are resumed by identifier"),
      (select($scan.session_resumption.result.tls_ticket_resumption_result != "NOT_SUPPORTED") | "sessions are resumed by ticket"),
      (select($scan.tls_compression.result.supports_compression) | "compression"),
      (select($scan.tls_1_3_early_data.result.supports_early_data) | "early data"),
      (select($scan.heartbleed.result.is_vulnerable_to_heartbleed) | "Heartbleed"),
      (select($scan.openssl_ccs_injection.result.is_vulnerable_to_ccs_injection) | "CCS injection"),
      (select($scan.robot.result.robot_result | startswith("NOT_VULNERABLE") | not) | "ROBOT"),
      (select($scan.tls_fallback_scsv.result.supports_fallback_scsv | not) | "no TLS_FALLBACK_SCSV"),
      (select($scan.tls_extended_master_secret.result.supports_ems_extension | not) | "no extended master secret"),
      ($scan.elliptic_curves.result.supported_curves[].name | select(IN("X25519", "secp256r1", "secp384r1", "secp521r1") | not) | "the curve \(.)")' \
    "$results/sslyze.json" >"$results/findings"
  while read -r finding; do fail "sslyze: $finding"; done <"$results/findings"
  echo "sslyze: $(wc -l <"$results/findings") findings"
else
  echo 'sslyze is not installed: left out'
fi

if command -v "$testssl" >/dev/null; then
  ran=$((ran + 1))
  "$testssl" --quiet --color 0 --warnings off --ip one --add-ca "$ca" --jsonfile "$results/testssl.json" "$address" >"$results/testssl.txt" 2>&1 || true
  # It needs no client certificate: strangers are turned away after the handshake, and their first bytes of HTTP with them.
  # WARN is what it could not try without a certificate; sslyze does. A private CA has no OCSP responder and no CAA record: that is not the listener's.
  jq -r '.[] | select((.severity | IN("OK", "INFO", "WARN", "DEBUG") | not) and (.id | IN("cert_revocation", "DNS_CAArecord") | not))
    | "\(.severity) \(.id): \(.finding)"' "$results/testssl.json" >"$results/findings"
  while read -r finding; do fail "testssl: $finding"; done <"$results/findings"
  echo "testssl: $(jq length "$results/testssl.json") checks, $(wc -l <"$results/findings") findings"
else
  echo 'testssl is not installed: left out'
fi

if "$python" -c 'import tlslite' 2>/dev/null; then
  ran=$((ran + 1))
  "$python" test/conformance/tls-attacks.py "$address" "$certificate" "$key" || fail 'tlslite-ng: an attack came through'
else
  echo 'tlslite-ng is not installed: left out'
fi

echo "$ran of 3 tools ran, $failures failed"
[ "$ran" -gt 0 ] && [ "$failures" = 0 ]
