#!/bin/sh
# Builds the container image of a package: sh packaging/container/build.sh var/packages/signetd_0.1.0-1_amd64.deb
# BASE names another base image; BASE=debootstrap makes one of Debian packages, where no registry can be reached.
# PACKAGES names further Debian packages, such as softhsm2 for a trial.
set -eu

[ $# = 1 ] && [ -f "$1" ] || {
  echo 'usage: sh packaging/container/build.sh FILE.deb' >&2
  exit 2
}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
version=$(dpkg-deb --field "$1" Version)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$1" "$context/signetd.deb"
cp "$here/probe.ts" "$here/signetd-probe" "$context/"
base=${BASE:-docker.io/library/debian:12-slim}
packages=${PACKAGES:-}
revision=$(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)

if [ "$base" = debootstrap ]; then
  command -v mmdebstrap >/dev/null || {
    echo 'BASE=debootstrap needs mmdebstrap (Debian: apt install mmdebstrap)' >&2
    exit 1
  }
  base=localhost/signetd-base:bookworm
  include=systemd-standalone-sysusers,systemd-standalone-tmpfiles,libstdc++6,ca-certificates
  for package in $packages; do include=$include,$package; done
  # With the sources of packages of this machine.
  mmdebstrap --quiet --variant=apt --include="$include" bookworm "$context/base.tar" ${SIGNETD_DEBIAN_SOURCES:-}
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$context/base.tar" / >/dev/null
  buildah commit --quiet --rm "$container" "$base" >/dev/null
  rm "$context/base.tar"
fi
# The format of Docker, since that of OCI has no health check; its labels are the same.
buildah build --quiet --isolation=chroot --format=docker --layers=false --build-arg "BASE=$base" --build-arg "PACKAGES=$packages" \
  --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --build-arg "CREATED=$created" --tag "localhost/signetd:$version" \
  --file "$here/Containerfile" "$context" >/dev/null
echo "localhost/signetd:$version"
