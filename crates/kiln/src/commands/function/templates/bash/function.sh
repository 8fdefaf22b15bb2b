#!/usr/bin/env bash
# NAME: sets the number of replicas of all Deployments to `replicas` of its configuration.
#
# A function reads a ResourceList from standard input and writes one to standard output. It prints messages to standard
# error, and an exit code other than 0 means that it failed. kiln restores comments and the order of fields.
set -euo pipefail

list=$(cat)
[[ $list == *$'\nfunctionConfig:'* ]] && config=${list#*$'\nfunctionConfig:'} || config=''
[[ $config =~ replicas:\ *[\"\']?([0-9]+) ]] && replicas=${BASH_REMATCH[1]} || replicas=''
if [[ -z $replicas ]]; then
  echo 'NAME: set `replicas` to a number in the configuration' >&2
  exit 1
fi
# An item begins with a dash, its fields are indented by two and those of its spec by four.
awk -v replicas="$replicas" '
  /^functionConfig:/ { in_items = 0 }
  /^items:/ { in_items = 1 }
  /^- / { is_deployment = 0 }
  /^  kind: Deployment$/ { is_deployment = 1 }
  in_items && is_deployment && /^    replicas: / { sub(/replicas: [^ ]*/, "replicas: " replicas) }
  { print }
' <<<"$list"
