#!/bin/sh
# Builds the API server of Kubernetes and etcd from the Go module proxy, where the tests of the manifests look for them. It takes
# some minutes, once, and needs no network of its own afterwards.
set -eu
version=1.37.2
cache=${SIGNETD_TOOLS_CACHE:-$HOME/.cache/signetd-tools}
target=$cache/kubernetes-$version
[ ! -x "$target/kube-apiserver" ] || [ ! -x "$target/etcd" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export CGO_ENABLED=0 GOFLAGS=-mod=mod
sources=$(cd / && go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')
# The libraries of Kubernetes, which its own module has as directories: their versions begin with 0 instead of 1.
{
  printf 'module kubernetes.test\n\n'
  sed -n '/^go /p; /^godebug default=/p' "$sources/go.mod"
  printf 'require k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
  sed -n "s|^\t\(k8s.io/[^ ]*\) => ./staging/.*|\t\1 => \1 v0${version#1}|p" "$sources/go.mod"
  printf ')\n'
} >go.mod
cp "$sources/go.sum" go.sum
for program in k8s.io/kubernetes/cmd/kube-apiserver=kube-apiserver go.etcd.io/etcd/server/v3=etcd; do
  go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" -o "$work/${program#*=}" "${program%=*}"
done
mkdir -p "$target"
mv kube-apiserver etcd "$target/"
