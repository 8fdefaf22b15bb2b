// NAME: sets the number of replicas of all Deployments to `replicas` of its configuration.
//
// `kiln function json` passes the ResourceList as JSON and reads JSON, so the function needs no packages. kiln restores
// comments and the order of fields. Messages go to standard error; an exit code other than 0 means that the function failed.

import { readFileSync } from "node:fs";

export interface Resource {
  kind?: string;
  metadata?: { name?: string };
  spec?: Record<string, unknown>;
}

export interface Result {
  severity: "error" | "warning" | "info";
  message: string;
}

export interface ResourceList {
  items?: Resource[];
  functionConfig?: { data?: Record<string, string> };
  results?: Result[];
}

export function transform(list: ResourceList): Result[] {
  const replicas = Number(list.functionConfig?.data?.replicas ?? NaN);
  if (!Number.isInteger(replicas)) {
    return [{ severity: "error", message: "set `replicas` to a number in the configuration" }];
  }
  for (const item of list.items ?? []) {
    if (item.kind === "Deployment") {
      item.spec = { ...item.spec, replicas };
    }
  }
  return [];
}

function main(): void {
  const list: ResourceList = JSON.parse(readFileSync(0, "utf8"));
  list.results = transform(list);
  process.stdout.write(JSON.stringify(list));
  process.exitCode = list.results.some((result) => result.severity === "error") ? 1 : 0;
}

if (process.argv[1]?.match(/function\.[jt]s$/)) {
  main();
}
