#!/usr/bin/env bash
# Tests function.sh: bash test.sh
set -euo pipefail
cd "$(dirname "$0")"

list() {
  cat <<LIST
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
  spec:
    replicas: 1 # how many
- apiVersion: example.com/v1
  kind: Other
  spec:
    replicas: 1
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  data:
    $1
LIST
}

found=$(list 'replicas: "3"' | bash ./function.sh)
grep -q '    replicas: 3 # how many' <<<"$found"
grep -q '    replicas: 1$' <<<"$found"
if list 'other: x' | bash ./function.sh 2>/dev/null; then
  echo 'FAILED: a configuration without replicas is an error' >&2
  exit 1
fi
echo ok
