#!/usr/bin/env bash
# Checks that the types of both clients are those of docs/openapi.json, builds the TypeScript client and checks the types
# of the Python client. Needs npm, and Python 3.11 with venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/docs"
cp docs/openapi.json "$work/docs/"
# Not in the source tree, which the tests use meanwhile.
cp -r clients "$work/"
rm -rf "$work/clients/typescript/node_modules" "$work/clients/typescript/dist"

(cd "$work/clients/typescript" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run --silent types && npm run --silent build)
diff -u clients/typescript/src/api.ts "$work/clients/typescript/src/api.ts" || { echo 'run: npm --prefix clients/typescript run types' >&2; exit 1; }
test -s "$work/clients/typescript/dist/index.js"

python3 -m venv "$work/venv"
PATH=$work/venv/bin:$PATH
pip install --quiet --disable-pip-version-check -r clients/python/requirements-dev.txt
sh "$work/clients/python/generate.sh"
diff -u clients/python/src/signetd_client/api.py "$work/clients/python/src/signetd_client/api.py" || { echo 'run: sh clients/python/generate.sh' >&2; exit 1; }
(cd clients/python && mypy --no-incremental --cache-dir="$work/mypy" src)
pip install --quiet --disable-pip-version-check --no-deps "$work/clients/python"
(cd "$work" && python3 -c 'import signetd_client; print("both clients are those of the OpenAPI document,", signetd_client.SignetdClient.__name__)')
