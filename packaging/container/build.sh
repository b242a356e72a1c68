#!/bin/sh
# Builds the container image of a package: sh packaging/container/build.sh var/packages/signetd_0.1.0-1_amd64.deb
# BASE names another base image; BASE=debootstrap makes one of Debian packages, where no registry can be reached.
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
base=${BASE:-docker.io/library/debian:12-slim}

if [ "$base" = debootstrap ]; then
  base=localhost/signetd-base:bookworm
  # With the sources of packages of this machine.
  mmdebstrap --quiet --variant=apt --include=systemd-standalone-sysusers,systemd-standalone-tmpfiles,libstdc++6,ca-certificates \
    bookworm "$context/base.tar" ${SIGNETD_DEBIAN_SOURCES:-}
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$context/base.tar" / >/dev/null
  buildah commit --quiet --rm "$container" "$base" >/dev/null
  rm "$context/base.tar"
fi
buildah build --quiet --isolation=chroot --format=oci --layers=false --build-arg "BASE=$base" --tag "localhost/signetd:$version" \
  --file "$here/Containerfile" "$context" >/dev/null
echo "localhost/signetd:$version"
