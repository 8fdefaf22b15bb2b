package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// edit is a document, what is done to it, and what comes out.
type edit struct {
	ID    string `json:"id"`
	In    text   `json:"in"`
	Ops   []op   `json:"ops"`
	Out   *text  `json:"out,omitempty"`
	Wide  *text  `json:"wide,omitempty"`
	Error *text  `json:"error,omitempty"`
}

type op struct {
	Op    string   `json:"op"`
	Path  []string `json:"path"`
	Key   string   `json:"key"`
	Value text     `json:"value"`
	Tag   string   `json:"tag"`
	YAML  text     `json:"yaml"`
	raw   json.RawMessage
}

func (o *op) UnmarshalJSON(b []byte) error {
	type fields op
	o.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*fields)(o))
}

// MarshalJSON repeats the op as it was asked for.
func (o op) MarshalJSON() ([]byte, error) { return o.raw, nil }

func edits(args []string, in io.Reader, out io.Writer) error {
	source, err := inputs("edits", args, in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	err = forEach(source, func(e edit) error {
		e.Out, e.Wide, e.Error = nil, nil, nil
		var rn *yaml.RNode
		_, err := guarded(func() (string, error) {
			var err error
			if rn, err = yaml.Parse(string(e.In)); err != nil {
				return "", err
			}
			for _, o := range e.Ops {
				if err := o.apply(rn); err != nil {
					return "", err
				}
			}
			return "", nil
		})
		if err == nil {
			e.Out, err = encoded(rn, yaml.CompactSequenceStyle)
		}
		if err == nil {
			e.Wide, err = encoded(rn, yaml.WideSequenceStyle)
		}
		if err != nil {
			t := text(err.Error())
			e.Out, e.Wide, e.Error = nil, nil, &t
		}
		return writeLine(w, e)
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

func encoded(rn *yaml.RNode, style yaml.SequenceIndentStyle) (*text, error) {
	out, err := guarded(func() (string, error) { return encode(rn.Document(), style) })
	t := text(out)
	return &t, err
}

func (o op) apply(rn *yaml.RNode) error {
	switch o.Op {
	case "set":
		n := &goyaml.Node{Kind: goyaml.ScalarNode, Tag: o.Tag, Value: string(o.Value)}
		return rn.PipeE(yaml.LookupCreate(yaml.MappingNode, o.parent()...), yaml.SetField(o.last(), yaml.NewRNode(n)))
	case "set_yaml":
		n, err := o.parsed()
		if err != nil {
			return err
		}
		return rn.PipeE(yaml.LookupCreate(yaml.MappingNode, o.parent()...), yaml.SetField(o.last(), n))
	case "remove":
		return rn.PipeE(yaml.Lookup(o.parent()...), yaml.Clear(o.last()))
	case "append":
		n, err := o.parsed()
		if err != nil {
			return err
		}
		return rn.PipeE(yaml.LookupCreate(yaml.SequenceNode, o.Path...), yaml.Append(n.YNode()))
	case "annotate":
		return rn.PipeE(yaml.SetAnnotation(o.Key, string(o.Value)))
	case "clear_annotation":
		return rn.PipeE(yaml.ClearAnnotation(o.Key))
	case "clear_empty_annotations":
		return yaml.ClearEmptyAnnotations(rn)
	case "label":
		return rn.PipeE(yaml.SetLabel(o.Key, string(o.Value)))
	case "set_name":
		return rn.PipeE(yaml.SetK8sName(string(o.Value)))
	case "set_namespace":
		return rn.PipeE(yaml.SetK8sNamespace(string(o.Value)))
	}
	return fmt.Errorf("unknown op %q", o.Op)
}

func (o op) parent() []string { return o.Path[:len(o.Path)-1] }
func (o op) last() string     { return o.Path[len(o.Path)-1] }

// parsed is the first document of the op's text without the document around it.
func (o op) parsed() (*yaml.RNode, error) {
	rn, err := yaml.Parse(string(o.YAML))
	if err != nil {
		return nil, err
	}
	return yaml.NewRNode(rn.YNode()), nil
}
