package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// scalar is how one string comes out of every way to write it.
type scalar struct {
	Value       text   `json:"v"`
	Resolve     string `json:"resolve"`
	NonString11 bool   `json:"nonstring11"`
	Node        answer `json:"node"`
	Untagged    answer `json:"untagged"`
	Struct      answer `json:"struct"`
	Flow        answer `json:"flow"`
	Key         answer `json:"key"`
	SetField    answer `json:"setfield"`
	SetFieldNew answer `json:"setfield_new"`
	Annotation  answer `json:"annotation"`
	Label       answer `json:"label"`
}

// answer is the text written, or {"error": …}.
type answer struct {
	out string
	err error
}

func (a answer) MarshalJSON() ([]byte, error) {
	if a.err != nil {
		return marshalLine(map[string]text{"error": text(a.err.Error())})
	}
	return text(a.out).MarshalJSON()
}

func (a *answer) UnmarshalJSON([]byte) error { return nil }

func answered(f func() (string, error)) answer {
	out, err := guarded(f)
	return answer{out, err}
}

func scalars(args []string, in io.Reader, out io.Writer) error {
	source, err := inputs("scalars", args, in)
	if err != nil {
		return err
	}
	var seen []text
	err = forEach(source, func(v text) error {
		seen = append(seen, v)
		return nil
	})
	if err != nil {
		return err
	}
	if !fromStdin(args) {
		for _, word := range strings.Fields("y n yes no on off true false null nil none inf nan") {
			for _, cased := range casings(word) {
				seen = append(seen, text(cased))
			}
		}
	}
	for i, v := range seen {
		if slices.Contains(seen[:i], v) {
			continue
		}
		if err := writeLine(out, recordScalar(string(v))); err != nil {
			return err
		}
	}
	return nil
}

func casings(word string) []string {
	all := []string{""}
	for _, r := range word {
		var longer []string
		for _, prefix := range all {
			longer = append(longer, prefix+string(r), prefix+string(unicode.ToUpper(r)))
		}
		all = longer
	}
	return all
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"

func recordScalar(v string) scalar {
	str := func() *goyaml.Node { return &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!str", Value: v} }
	plain := func() *goyaml.Node { return &goyaml.Node{Kind: goyaml.ScalarNode, Value: v} }
	return scalar{
		Value:       text(v),
		Resolve:     plain().ShortTag(),
		NonString11: yaml.IsYaml1_1NonString(str()),
		Node:        answered(func() (string, error) { return encode(mapping(key("k"), str()), yaml.CompactSequenceStyle) }),
		Untagged:    answered(func() (string, error) { return encode(mapping(key("k"), plain()), yaml.CompactSequenceStyle) }),
		Struct: answered(func() (string, error) {
			b, err := yaml.Marshal(map[string]string{"k": v})
			return string(b), err
		}),
		Flow: answered(func() (string, error) {
			m := mapping(key("k"), str())
			m.Style = goyaml.FlowStyle
			return encode(m, yaml.CompactSequenceStyle)
		}),
		Key: answered(func() (string, error) {
			one := &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!int", Value: "1"}
			return encode(mapping(str(), one), yaml.CompactSequenceStyle)
		}),
		SetField:    piped("k: old\n", yaml.SetField("k", yaml.NewStringRNode(v))),
		SetFieldNew: piped("a: b\n", yaml.SetField("k", yaml.NewStringRNode(v))),
		Annotation:  piped(configMap, yaml.SetAnnotation("a.b/c", v)),
		Label:       piped(configMap, yaml.SetLabel("a.b/c", v)),
	}
}

func piped(doc string, f yaml.Filter) answer {
	return answered(func() (string, error) {
		rn, err := yaml.Parse(doc)
		if err != nil {
			return "", err
		}
		if err := rn.PipeE(f); err != nil {
			return "", err
		}
		return rn.String()
	})
}

func key(name string) *goyaml.Node {
	return &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!str", Value: name}
}

func mapping(content ...*goyaml.Node) *goyaml.Node {
	return &goyaml.Node{Kind: goyaml.MappingNode, Tag: "!!map", Content: content}
}

func encode(n *goyaml.Node, style yaml.SequenceIndentStyle) (string, error) {
	var buf bytes.Buffer
	enc := newEncoder(&buf, style)
	if err := enc.Encode(n); err != nil {
		return "", err
	}
	if err := enc.Close(); err != nil {
		return "", err
	}
	return buf.String(), nil
}
