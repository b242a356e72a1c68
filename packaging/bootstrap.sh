#!/bin/sh
# Prepares a fresh clone to run: system packages, node_modules, dist. Silent and fast when nothing is missing.
# Usage: sh packaging/bootstrap.sh [--no-build]
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
. "$root/packaging/runtime.sh"

stamp=node_modules/.signetd-stamp
native_module=node_modules/pkcs11js/build/Release/pkcs11.node
native_stamp=node_modules/pkcs11js/build/.signetd-flags

# Of everything that is compiled: a canary on the stack, checked buffer functions, branches and returns only to where the
# compiler meant them to go (Intel CET, Arm BTI), no writable table of functions after loading, no executable stack. The
# linker does not mark the result for IBT, since the start files of Debian's C library are compiled without it.
case "$(uname -m)" in
  x86_64) branches=-fcf-protection=full branches_link=,-z,shstk ;;
  aarch64) branches=-mbranch-protection=standard branches_link='' ;;
  *) branches='' branches_link='' ;;
esac
hardened="-O2 -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $branches"
hardened_link=-Wl,-z,relro,-z,now,-z,noexecstack$branches_link

build=yes
case "${1:-}" in
  '') ;;
  --no-build) build=no ;;
  *)
    echo 'usage: sh packaging/bootstrap.sh [--no-build]' >&2
    exit 2
    ;;
esac

say() { printf 'signetd: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

# Runs a command with its output in a log, which is printed only if the command fails.
logged() {
  log=$1
  shift
  "$@" >>"$log" 2>&1 </dev/null 9>&- && return 0
  cat "$log" >&2
  return 1
}

# --- system packages ---

wanted_packages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' packaging/debian-packages.txt; }

missing_packages() {
  wanted=$(wanted_packages)
  # Status first: a package that was removed but not purged is still listed. dpkg-query fails for unknown names, which is not an error here.
  # shellcheck disable=SC2086
  installed=$(dpkg-query --show --showformat '${db:Status-Status}:${Package}\n' $wanted 2>/dev/null || :)
  for package in $wanted; do
    case "
$installed
" in
      *"
installed:$package
"*) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

missing_commands() {
  for command in softhsm2-util pkcs11-tool gcc g++ make python3 openssl curl xmlsec1 systemd-analyze flock sha256sum; do
    command -v "$command" >/dev/null 2>&1 || printf '%s ' "$command"
  done
}

# Sets $as_root to the prefix that runs a command as root, or prints what to type.
require_root() {
  if [ "$(id -u)" = 0 ]; then
    as_root=''
  elif command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then
    as_root='sudo -n'
  else
    say 'system packages are missing; please run:'
    echo "sudo apt-get update && sudo apt-get install -y --no-install-recommends $1" >&2
    exit 1
  fi
}

install_packages() {
  say "installing system packages: $1"
  : >var/bootstrap-apt.log
  # An update that fails for one source need not matter; if it does, the installation says so.
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update >>var/bootstrap-apt.log 2>&1 </dev/null 9>&- || :
  # shellcheck disable=SC2086
  logged var/bootstrap-apt.log $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $1 ||
    fail "apt-get could not install: $1"
}

check_system() {
  if command -v dpkg-query >/dev/null 2>&1; then
    packages=$(missing_packages)
    packages=${packages% }
    [ -n "$packages" ] || return 0
    require_root "$packages"
    lock
    packages=$(missing_packages)
    packages=${packages% }
    [ -z "$packages" ] || install_packages "$packages"
  else
    commands=$(missing_commands)
    [ -z "$commands" ] || fail "these commands are missing, please install them: ${commands% }"
  fi
}

# --- node_modules ---

expected_stamp() {
  checksum=$(sha256sum <package-lock.json)
  version=$(sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' "$runtime_directory/package.json" 2>/dev/null || :)
  echo "${checksum%% *} $runtime_package $version"
}

native_current() {
  [ -f "$native_module" ] && [ -f "$native_stamp" ] && [ "$(cat "$native_stamp")" = "$hardened $hardened_link" ]
}

modules_current() {
  native_current && modules_installed
}

modules_installed() {
  [ -x "$runtime" ] && [ -f "$native_module" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(expected_stamp)" ]
}

# npm replaces node_modules, so it must not run on the Node inside it, which `npm run` puts first in PATH.
path_without_modules() {
  printf '%s' "$PATH" | tr ':' '\n' | grep -v -e '/node_modules/\.bin$' -e '/node_modules/node-linux-[a-z0-9]*/bin$' | tr '\n' ':' | sed 's/:$//'
}

# The runtime package contains Node's headers, so none are downloaded for compiling. The compiler gets them
# through a link, because make fails with a space in the path.
npm_quietly() {
  headers=$(mktemp -d /tmp/signetd-headers.XXXXXX)
  ln -s "$runtime_directory" "$headers/node"
  outcome=0
  logged var/bootstrap-npm.log env PATH="$(path_without_modules)" npm_config_nodedir="$headers/node" \
    npm "$@" --no-audit --no-fund --loglevel=error || outcome=$?
  rm -rf "$headers"
  return "$outcome"
}

require_npm() {
  node_version=$(PATH=$(path_without_modules) node --version 2>/dev/null) || fail 'Node.js 20 or later with npm is needed to install; node was not found'
  node_major=${node_version#v}
  node_major=${node_major%%.*}
  [ "$node_major" -ge 20 ] || fail "Node.js 20 or later is needed to install; this is $node_version"
  (PATH=$(path_without_modules) && command -v npm) >/dev/null 2>&1 || fail 'npm is needed to install; it was not found'
}

compile_module() {
  CFLAGS=$hardened CXXFLAGS=$hardened LDFLAGS=$hardened_link npm_quietly rebuild --ignore-scripts=false pkcs11js || fail 'compiling pkcs11js failed'
  [ -f "$native_module" ] || fail "npm did not compile pkcs11js ($native_module is missing); its output is in var/bootstrap-npm.log"
  printf '%s\n' "$hardened $hardened_link" >"$native_stamp"
}

install_modules() {
  require_npm
  if modules_installed; then
    # Of an earlier version, compiled with other flags.
    compile_module
    return
  fi
  say 'installing node packages'
  : >var/bootstrap-npm.log
  rm -f "$stamp"
  # --include: NODE_ENV=production and the like must not omit the compiler or the runtime.
  # --ignore-scripts: npm 11 runs the install scripts of all packages, whatever allowScripts says. Only one is
  # needed, and only that one is run.
  npm_quietly ci --ignore-scripts --include=dev --include=optional || fail 'npm ci failed'
  compile_module
  [ -x "$runtime" ] || fail "npm did not install the package $runtime_package, which holds the Node 24 runtime"
  "$runtime" --version >/dev/null || fail "the Node 24 runtime of $runtime_package does not run on this system"
  expected_stamp >"$stamp"
}

# --- dist ---

build_current() {
  [ -f dist/.built ] && [ -z "$(find src native native-config/isolation packaging/bootstrap.sh tsconfig.json tsconfig.build.json tsconfig.types.json package-lock.json -newer dist/.built)" ]
}

# Builds a native module: its name, its description in case of failure, further compiler arguments. OpenSSL is Node's own,
# whose symbols it exports.
build_native() {
  module=$1
  what=$2
  shift 2
  # shellcheck disable=SC2086
  cc -shared -fPIC $hardened -Wall -Wextra -Werror -fvisibility=hidden $hardened_link -I "$runtime_directory/include/node" \
    -o "dist/$module.node" "native/$module.c" "$@" >&2 9>&- || fail "the build of $what failed"
}

# The same for a module that needs V8 itself.
build_native_cpp() {
  module=$1
  what=$2
  # shellcheck disable=SC2086
  c++ -std=c++20 -shared -fPIC -fno-exceptions -fno-rtti $hardened -Wall -Wextra -Werror -fvisibility=hidden $hardened_link \
    -isystem "$runtime_directory/include/node" -o "dist/$module.node" "native/$module.cc" >&2 9>&- || fail "the build of $what failed"
}

build_dist() {
  rm -rf dist
  # The mark has the time of the build's start: changes during the build are built next time.
  : >var/build-started
  sh packaging/node24.sh node_modules/typescript/bin/tsc -p tsconfig.build.json >&2 9>&- || fail 'the build failed'
  sh packaging/node24.sh node_modules/typescript/bin/tsc -p tsconfig.types.json >&2 9>&- || fail 'the build of the type declarations failed'
  # The console's page: modules for the browser, and the files that they belong to.
  sh packaging/node24.sh node_modules/typescript/bin/tsc -p src/console/page >&2 9>&- || fail 'the build of the console failed'
  cp src/console/page/*.html src/console/page/*.css src/console/page/*.svg dist/console/page/
  mkdir -p dist dist/twoddoc/schemas
  cp src/twoddoc/schemas/*.xsd dist/twoddoc/schemas/
  # shellcheck disable=SC2086
  cc -shared -fPIC $hardened -Wall -Wextra -Werror -fvisibility=hidden $hardened_link \
    -o dist/isolate-module.so native-config/isolation/isolate-module.c -ldl -pthread >&2 9>&- || fail 'the build of the isolation shim failed'
  build_native service-manager 'the link to the service manager'
  build_native verify-value 'the verification of signature values'
  build_native_cpp peer-certificates 'the bounds of certificates in TLS'
  build_native pin 'the login to the token' -isystem node_modules/pkcs11js/includes -ldl
  build_native prove-and-sign 'the signature with a proof' -isystem node_modules/pkcs11js/includes -ldl
  mv -f var/build-started dist/.built
}

# --- one at a time ---

locked=no
lock() {
  [ "$locked" = no ] || return 0
  mkdir -p var
  exec 9>var/bootstrap.lock
  flock 9
  locked=yes
}

check_system
if ! modules_current; then
  lock
  modules_current || install_modules
fi
if [ "$build" = yes ] && ! build_current; then
  lock
  build_current || build_dist
fi
