#!/bin/sh
# Builds the module of Kryoptic, a PKCS#11 token in Rust, where the tests of a second make of token look for it. It takes about a minute, once.
# Needs: cargo, a C compiler, libclang, and the headers of OpenSSL and SQLite (on Debian: libclang-dev libssl-dev libsqlite3-dev pkg-config).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
directory=${SIGNETD_TOOLS_CACHE:-$HOME/.cache/signetd-tools}/kryoptic-1.5.4
[ ! -e "$directory/libkryoptic.so" ] || exit 0
mkdir -p "$directory"
if [ -z "${LIBCLANG_PATH:-}" ]; then
  for library in /usr/lib/llvm-*/lib/libclang.so*; do LIBCLANG_PATH=$(dirname "$library"); done
  export LIBCLANG_PATH
fi
cargo build --quiet --locked --release --manifest-path "$here/kryoptic/Cargo.toml" --target-dir "$directory/target"
mv "$directory/target/release/libkryoptic.so" "$directory/libkryoptic.so.new"
mv "$directory/libkryoptic.so.new" "$directory/libkryoptic.so"
rm -rf "$directory/target"
