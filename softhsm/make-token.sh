#!/bin/sh
# Creates a SoftHSM token for development and tests: make-token.sh DIRECTORY LABEL PIN-FILE
# Writes DIRECTORY/softhsm2.conf (to be named by SOFTHSM2_CONF) and the token beside it. SoftHSM is not an HSM: not for production.
set -eu
directory=$1 label=$2 pin=$(cat "$3")
umask 077
mkdir -p "$directory/tokens"
cat >"$directory/softhsm2.conf" <<END
directories.tokendir = $directory/tokens
objectstore.backend = file
objectstore.umask = 0077
log.level = ERROR
slots.removable = false
END
# The PIN is on softhsm2-util's command line while it runs: another reason why this is only for development.
SOFTHSM2_CONF="$directory/softhsm2.conf" softhsm2-util --init-token --free --label "$label" --pin "$pin" --so-pin "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')" >/dev/null
