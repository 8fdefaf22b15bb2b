// Stands in for the catalog's set-namespace and set-labels in kpt's golden case with functions in WebAssembly. It does what
// those functions do to the few resources of that case, line by line, so that it needs nothing but Go's own library.
package main

import (
	"fmt"
	"strings"
	"syscall/js"
)

func main() {
	js.Global().Set("processResourceList", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return process(args[0].String())
	}))
	select {}
}

func process(list string) string {
	before, rest, _ := strings.Cut(list, "items:\n")
	items, config, _ := strings.Cut(rest, "functionConfig:\n")
	_, data, _ := strings.Cut(config, "\n  data:")
	data, _, _ = strings.Cut(strings.TrimSpace(data), "\n")
	key, value, _ := strings.Cut(strings.Trim(data, "{}"), ": ")
	var output strings.Builder
	changed := 0
	for _, item := range strings.Split("\n"+items, "\n- ")[1:] {
		resource := "- " + strings.TrimSuffix(item, "\n") + "\n"
		var count int
		if key == "namespace" {
			resource, count = setNamespace(resource, value)
		} else {
			resource, count = setLabel(resource, key+": "+value+"\n")
		}
		changed += count
		output.WriteString(resource)
	}
	messages := []string{fmt.Sprintf("set %d labels in total", changed)}
	if key == "namespace" {
		messages = []string{
			fmt.Sprintf("namespace [default] updated to %q, %d value(s) changed", value, changed),
			"all `depends-on` annotations are up-to-date. no `namespace` changed",
		}
	}
	results := "results:\n"
	for _, message := range messages {
		results += "- message: " + message + "\n  severity: info\n"
	}
	return before + "items:\n" + output.String() + results
}

// Only the Deployment is known to be in a namespace.
func setNamespace(resource, namespace string) (string, int) {
	if !strings.Contains(resource, "kind: Deployment\n") {
		return resource, 0
	}
	return afterName(resource, "    namespace: "+namespace+"\n"), 1
}

func setLabel(resource, label string) (string, int) {
	if strings.Contains(resource, "    labels:\n      "+label) {
		return resource, 1
	}
	count := 1
	if strings.Contains(resource, "kind: Deployment\n") {
		resource += "    selector:\n      matchLabels:\n        " + label
		count = 2
	}
	return afterName(resource, "    labels:\n      "+label), count
}

// Adds lines to the metadata, after the name and the namespace.
func afterName(resource, lines string) string {
	end := strings.Index(resource, "\n    name: ") + 1
	for _, field := range []string{"    name: ", "    namespace: "} {
		if strings.HasPrefix(resource[end:], field) {
			end += strings.Index(resource[end:], "\n") + 1
		}
	}
	return resource[:end] + lines + resource[end:]
}
