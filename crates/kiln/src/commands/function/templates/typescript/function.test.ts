// Tests function.ts: node --test

import assert from "node:assert/strict";
import test from "node:test";

import { transform, type ResourceList } from "./function.ts";

function listWith(data: Record<string, string>): ResourceList {
  return {
    items: [
      { kind: "Deployment", spec: { replicas: 1 } },
      { kind: "Other", spec: { replicas: 1 } },
    ],
    functionConfig: { data },
  };
}

test("deployments get the number", () => {
  const list = listWith({ replicas: "3" });
  assert.deepEqual(transform(list), []);
  assert.deepEqual(list.items?.map((item) => item.spec?.replicas), [3, 1]);
});

test("a configuration without a number is an error", () => {
  for (const data of [{}, { replicas: "many" }]) {
    assert.equal(transform(listWith(data as Record<string, string>))[0]?.severity, "error");
  }
});
