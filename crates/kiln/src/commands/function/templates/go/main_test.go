package main

import "testing"

func listWith(data map[string]any) *ResourceList {
	return &ResourceList{
		Items: []map[string]any{
			{"kind": "Deployment", "spec": map[string]any{"replicas": 1}},
			{"kind": "Other", "spec": map[string]any{"replicas": 1}},
		},
		FunctionConfig: map[string]any{"data": data},
	}
}

func TestDeploymentsGetTheNumber(t *testing.T) {
	list := listWith(map[string]any{"replicas": "3"})
	if err := transform(list); err != nil {
		t.Fatal(err)
	}
	for index, wanted := range []int{3, 1} {
		spec := list.Items[index]["spec"].(map[string]any)
		if spec["replicas"] != wanted {
			t.Errorf("item %d has %v replicas, wanted %d", index, spec["replicas"], wanted)
		}
	}
}

func TestAConfigurationWithoutANumberIsAnError(t *testing.T) {
	for _, data := range []map[string]any{{}, {"replicas": "many"}} {
		if transform(listWith(data)) == nil {
			t.Errorf("%v is accepted", data)
		}
	}
}
