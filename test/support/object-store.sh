#!/bin/sh
# Installs the S3 server that the tests of the transfer store use, from the Go module proxy, where the tests look for it.
set -eu
version=v1.8.0
cache=${SIGNETD_TOOLS_CACHE:-$HOME/.cache/signetd-tools}
[ ! -x "$cache/bin/versitygw" ] || exit 0
mkdir -p "$cache/bin"
GOBIN=$cache/bin go install "github.com/versity/versitygw/cmd/versitygw@$version"
