#!/bin/sh
# Has veraPDF, which it fetches once with Maven, check that signed PDF/A files are PDF/A still: those of a conformance run that kept its signatures, whose names
# tell what they were. Prints why not where veraPDF cannot be had, and ends with 0 then.
# Usage: sh test/conformance/verapdf.sh DIRECTORY
set -eu

directory=${1:?usage: verapdf.sh DIRECTORY}
version=1.28.2
sha256=687d4d8bcfec48c9f7e931cf78ed061f1eeccfba55d4cdc000ba9b4d8aa46ce6
cache=${SIGNETD_TOOLS_CACHE:-$HOME/.cache/signetd-tools}/verapdf-$version
jar=$cache/greenfield-apps-$version.jar

none() {
  echo "veraPDF: PDF/A is not checked: $1"
  exit 0
}

for program in java mvn; do command -v "$program" >/dev/null || none "$program is not installed"; done
if [ ! -f "$jar" ]; then
  work=$(mktemp -d "${TMPDIR:-/tmp}/signetd-verapdf.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # In a directory without a project.
  (cd "$work" && mvn -q -B -ntp org.apache.maven.plugins:maven-dependency-plugin:3.6.0:get -Dartifact="org.verapdf.apps:greenfield-apps:$version" \
    -Dtransitive=false -Dmaven.repo.local="$work/repository" >maven.log 2>&1) ||
    none "Maven could not fetch it: $(grep -m 1 ERROR "$work/maven.log")"
  mkdir -p "$cache"
  mv "$work/repository/org/verapdf/apps/greenfield-apps/$version/greenfield-apps-$version.jar" "$jar"
fi
echo "$sha256  $jar" | sha256sum --check --quiet || none 'the file that Maven fetched is another one'

set -- "$directory"/*_PDFA-*.pdf
[ -e "$1" ] || { echo "veraPDF: no PDF/A in $directory" >&2; exit 1; }
# One line a file: PASS or FAIL, the path, and the part and level that the file claims.
said=$(java -cp "$jar" org.verapdf.apps.GreenfieldCliWrapper --format text "$@") || :
printf '%s\n' "$said" | awk -v files=$# '
  { claimed = $2; sub(/.*_PDFA-/, "", claimed); sub(/[_.].*/, "", claimed) }
  $1 == "PASS" && $3 == claimed { good++; next }
  { print "veraPDF: " $0 }
  END { printf "veraPDF: %d of %d files are PDF/A\n", good, files; exit good != files }'
