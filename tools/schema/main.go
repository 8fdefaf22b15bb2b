// Command schema writes what kyaml's built-in OpenAPI knows about types of
// Kubernetes resources as a small table: which type a field has, which lists
// are merged by which keys, and whether a kind lives in a namespace.
//
// The table is crates/kiln-krm/src/schema/table.txt; its format is described
// in its first lines. Running this again gives the same bytes.
package main

import (
	"bufio"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const header = `# What kyaml v0.21.1 knows about Kubernetes v1.21.2. Written by tools/schema; do not edit.
# A line at the margin begins a type: its name, or "name=expression" if it is not an object with fields.
# "@apiVersion kind scope" below it: a resource of this type; scope is n (namespaced), c (cluster) or - (not known).
# " field expression": a field of it. Expressions: a number is the place of a type in this file, from 0;
# s string, i integer, b boolean, n number, q integer or string, o anything; {x a map to x; [x a list of x;
# *k+l:x a list of x merged by the keys k and l; *:x a list merged by value.
`

func main() {
	if err := write(); err != nil {
		log.Fatal(err)
	}
}

func write() error {
	t := table{definitions: openapi.Schema().Definitions, places: map[string]int{}}
	names := slices.Sorted(maps.Keys(t.definitions))
	for place, name := range names {
		t.places[name] = place
	}
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprint(w, header)
	for _, name := range names {
		if err := t.writeType(w, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.Flush()
}

type table struct {
	definitions spec.Definitions
	places      map[string]int
	resources   []yaml.TypeMeta
}

func (t *table) writeType(w *bufio.Writer, name string) error {
	s := t.definitions[name]
	if len(s.Properties) == 0 {
		expression, err := t.expression(&s)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s=%s\n", name, expression)
	} else if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return fmt.Errorf("has fields and is a map")
	} else {
		fmt.Fprintln(w, name)
	}
	if err := t.writeResources(w, &s); err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[field]
		expression, err := t.expression(&property)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		fmt.Fprintf(w, " %s %s\n", field, expression)
	}
	return nil
}

func (t *table) writeResources(w *bufio.Writer, s *spec.Schema) error {
	list, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
	var lines []string
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		group, _ := fields["group"].(string)
		version, _ := fields["version"].(string)
		kind, _ := fields["kind"].(string)
		meta := yaml.TypeMeta{APIVersion: version, Kind: kind}
		if group != "" {
			meta.APIVersion = group + "/" + version
		}
		if slices.Contains(t.resources, meta) {
			return fmt.Errorf("%v is another type already", meta)
		}
		t.resources = append(t.resources, meta)
		scope := "-"
		if namespaced, known := openapi.IsNamespaceScoped(meta); known && namespaced {
			scope = "n"
		} else if known {
			scope = "c"
		}
		lines = append(lines, fmt.Sprintf("@%s %s %s\n", meta.APIVersion, meta.Kind, scope))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Fprint(w, line)
	}
	return nil
}

func (t *table) expression(s *spec.Schema) (string, error) {
	if ref := s.Ref.String(); ref != "" {
		place, known := t.places[strings.TrimPrefix(ref, "#/definitions/")]
		if !known {
			return "", fmt.Errorf("%s is not defined", ref)
		}
		return strconv.Itoa(place), nil
	}
	if len(s.Properties) > 0 {
		return "", fmt.Errorf("has fields but no name")
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		value, err := t.expression(s.AdditionalProperties.Schema)
		return "{" + value, err
	}
	switch {
	case len(s.Type) != 1:
		return "o", nil
	case s.Type[0] == "array":
		return t.list(s)
	case s.Type[0] == "string" && s.Format == "int-or-string":
		return "q", nil
	case s.Type[0] == "object":
		return "o", nil
	}
	short, known := map[string]string{"string": "s", "integer": "i", "boolean": "b", "number": "n"}[s.Type[0]]
	if !known {
		return "", fmt.Errorf("type %s is new", s.Type[0])
	}
	return short, nil
}

func (t *table) list(s *spec.Schema) (string, error) {
	item := "o"
	if s.Items != nil && s.Items.Schema != nil {
		var err error
		if item, err = t.expression(s.Items.Schema); err != nil {
			return "", err
		}
	}
	strategy, keys := (&openapi.ResourceSchema{Schema: s}).PatchStrategyAndKeyList()
	if !slices.Contains(strings.Split(strategy, ","), "merge") {
		return "[" + item, nil
	}
	return "*" + strings.Join(keys, "+") + ":" + item, nil
}
