#!/bin/sh
# Writes src/signetd_client/api.py from the OpenAPI document. Needs datamodel-code-generator (requirements-dev.txt).
set -eu
cd "$(dirname -- "$0")"
datamodel-codegen --input ../../docs/openapi.json --input-file-type openapi --openapi-scopes schemas \
  --output src/signetd_client/api.py --output-model-type typing.TypedDict --target-python-version 3.11 \
  --no-use-closed-typed-dict --enum-field-as-literal all --use-standard-collections --use-union-operator \
  --use-schema-description --use-field-description --disable-timestamp --formatters builtin
