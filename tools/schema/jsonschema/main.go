// Command jsonschema writes what an OpenAPI document of Kubernetes says about
// the types of resources as a small table: fields, their types, and which of
// them are required. Descriptions are left out.
//
//	go mod download -json k8s.io/kubernetes@v1.36.3 # "Dir" has api/openapi-spec/swagger.json
//	go run ./jsonschema v1.36.3 $DIR/api/openapi-spec/swagger.json
//
// The tables are crates/kiln-functions/src/port/jsonschema/kubernetes-*.txt; their
// format is described in their first lines. Running this again gives the same
// bytes. A keyword that the format cannot say is an error, so that nothing is
// lost when Kubernetes begins to use it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

const header = `# The types of Kubernetes %s. Written by tools/schema/jsonschema; do not edit.
# A line at the margin begins a type: kind, group and version as its name has them, then "=expression" if it is not an
# object with fields. Below it: "@apiVersion kind" for each resource it is, "!field field" for what is required in the
# order of the original, and " field expression" for a field.
# Expressions: a number is the place of a type in this file, from 0; s string, t time, i integer, b boolean, n number,
# q integer or string, r number or string, o any object, ? anything; {x a map to x; [x a list of x.
`

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: jsonschema VERSION SWAGGER_JSON")
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	Items                *schema            `json:"items"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Resources            []resource         `json:"x-kubernetes-group-version-kind"`
}

type resource struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Keywords that say nothing about what is valid.
var annotations = []string{"description", "default", "title"}

func (s *schema) UnmarshalJSON(data []byte) error {
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(data, &keywords); err != nil {
		return err
	}
	known := []string{"$ref", "type", "format", "properties", "required", "items", "additionalProperties"}
	for keyword := range keywords {
		if !slices.Contains(known, keyword) && !slices.Contains(annotations, keyword) &&
			!strings.HasPrefix(keyword, "x-kubernetes-") {
			return fmt.Errorf("keyword %s is new", keyword)
		}
	}
	type plain schema
	return json.Unmarshal(data, (*plain)(s))
}

type table struct {
	definitions map[string]*schema
	places      map[string]int
}

func write(version, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var document struct {
		Definitions map[string]*schema `json:"definitions"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	t := table{document.Definitions, map[string]int{}}
	names := slices.Sorted(maps.Keys(t.definitions))
	for place, name := range names {
		t.places[name] = place
	}
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(w, header, version)
	for _, name := range names {
		if err := t.writeType(w, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.Flush()
}

func (t *table) writeType(w *bufio.Writer, name string) error {
	s := t.definitions[name]
	parts := strings.Split(name, ".")
	if len(parts) < 3 {
		return fmt.Errorf("has no group and version")
	}
	n := len(parts)
	fmt.Fprintf(w, "%s %s %s", parts[n-1], parts[n-3], parts[n-2])
	if len(s.Properties) == 0 {
		expression, err := t.definition(name, s)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, " =%s", expression)
	} else if s.AdditionalProperties != nil || s.Type != "object" && s.Type != "" {
		return fmt.Errorf("has fields and is something else")
	}
	fmt.Fprintln(w)
	for _, r := range s.Resources {
		apiVersion := r.Version
		if r.Group != "" {
			apiVersion = r.Group + "/" + r.Version
		}
		fmt.Fprintf(w, "@%s %s\n", apiVersion, r.Kind)
	}
	if len(s.Required) > 0 {
		fmt.Fprintf(w, "!%s\n", strings.Join(s.Required, " "))
	}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		expression, err := t.expression(s.Properties[field])
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		fmt.Fprintf(w, " %s %s\n", field, expression)
	}
	return nil
}

// A definition that stands for something other than its schema says.
func (t *table) definition(name string, s *schema) (string, error) {
	if strings.HasSuffix(name, ".resource.Quantity") {
		return "r", nil
	}
	return t.expression(s)
}

func (t *table) expression(s *schema) (string, error) {
	switch {
	case s.Ref != "":
		place, known := t.places[strings.TrimPrefix(s.Ref, "#/definitions/")]
		if !known {
			return "", fmt.Errorf("%s is not defined", s.Ref)
		}
		return strconv.Itoa(place), nil
	case len(s.Properties) > 0:
		return "", fmt.Errorf("has fields but no name")
	case s.Type == "object" && s.AdditionalProperties != nil:
		value, err := t.expression(s.AdditionalProperties)
		return "{" + value, err
	case s.Type == "array" && s.Items != nil:
		item, err := t.expression(s.Items)
		return "[" + item, err
	case s.Type == "string" && s.Format == "int-or-string":
		return "q", nil
	case s.Type == "string" && s.Format == "date-time":
		return "t", nil
	}
	short, known := map[string]string{
		"": "?", "string": "s", "integer": "i", "boolean": "b", "number": "n", "object": "o",
	}[s.Type]
	if !known {
		return "", fmt.Errorf("type %s is new", s.Type)
	}
	return short, nil
}
