#!/usr/bin/env python3
"""NAME: sets the number of replicas of all Deployments to `replicas` of its configuration.

`kiln function json` passes the ResourceList as JSON and reads JSON, so the function needs no packages. kiln restores
comments and the order of fields. Messages go to standard error; an exit code other than 0 means that the function failed.
"""

import json
import sys


def transform(resource_list):
    """Changes the list. What it returns are the results: what the user should know about resources."""
    data = (resource_list.get("functionConfig") or {}).get("data") or {}
    try:
        replicas = int(data["replicas"])
    except (KeyError, ValueError):
        return [{"severity": "error", "message": "set `replicas` to a number in the configuration"}]
    results = []
    for item in resource_list.get("items") or []:
        if item.get("kind") != "Deployment":
            continue
        item.setdefault("spec", {})["replicas"] = replicas
        results.append({"severity": "info", "message": f"{item['metadata']['name']} has {replicas} replicas"})
    return results


def main():
    resource_list = json.load(sys.stdin)
    resource_list["results"] = transform(resource_list)
    json.dump(resource_list, sys.stdout)
    failed = any(result["severity"] == "error" for result in resource_list["results"])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
