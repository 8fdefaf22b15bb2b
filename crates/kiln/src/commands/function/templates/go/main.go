// NAME sets the number of replicas of all Deployments to `replicas` of its configuration.
//
// `kiln function json` passes the ResourceList as JSON and reads JSON, so the function needs no modules. kiln restores
// comments and the order of fields. Messages go to standard error; an exit code other than 0 means that the function failed.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// ResourceList is the input and the output of a function.
type ResourceList struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	Items          []map[string]any `json:"items"`
	FunctionConfig map[string]any   `json:"functionConfig,omitempty"`
	Results        []Result         `json:"results,omitempty"`
}

// Result is something that the user should know.
type Result struct {
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

func transform(list *ResourceList) error {
	data, _ := list.FunctionConfig["data"].(map[string]any)
	text, _ := data["replicas"].(string)
	replicas, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("set `replicas` to a number in the configuration")
	}
	for _, item := range list.Items {
		if item["kind"] != "Deployment" {
			continue
		}
		spec, ok := item["spec"].(map[string]any)
		if !ok {
			spec = map[string]any{}
			item["spec"] = spec
		}
		spec["replicas"] = replicas
	}
	return nil
}

func main() {
	var list ResourceList
	if err := json.NewDecoder(os.Stdin).Decode(&list); err != nil {
		fmt.Fprintln(os.Stderr, "the input is not a ResourceList:", err)
		os.Exit(1)
	}
	err := transform(&list)
	if err != nil {
		list.Results = append(list.Results, Result{Severity: "error", Message: err.Error()})
	}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err != nil {
		os.Exit(1)
	}
}
