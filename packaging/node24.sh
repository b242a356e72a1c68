#!/bin/sh
# Runs the Node 24 from the packages with the given arguments.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
. "$root/packaging/runtime.sh"

if [ ! -x "$runtime" ]; then
  echo 'signetd: the Node 24 runtime is not installed yet; run: sh packaging/bootstrap.sh' >&2
  exit 1
fi
PATH=$runtime_directory/bin:$PATH
export PATH
# SIGUSR1 would open the inspector, through which any local user reads the memory of the process.
exec "$runtime" --disable-sigusr1 "$@"
