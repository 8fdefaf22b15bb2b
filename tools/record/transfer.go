package main

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// transfer is what a changed document looks like after taking something over
// from the original.
type transfer struct {
	ID    json.RawMessage `json:"id"`
	From  text            `json:"from"`
	To    text            `json:"to"`
	Out   *text           `json:"out,omitempty"`
	Error *text           `json:"error,omitempty"`
}

func copyComments(args []string, in io.Reader, out io.Writer) error {
	// Parsed here once, not by whichever core comes first.
	openapi.Schema()
	return transfers("comments", args, in, out, comments.CopyComments)
}

func syncOrder(args []string, in io.Reader, out io.Writer) error {
	return transfers("order", args, in, out, order.SyncOrder)
}

func transfers(name string, args []string, in io.Reader, out io.Writer, f func(from, to *yaml.RNode) error) error {
	source, err := inputs(name, args, in)
	if err != nil {
		return err
	}
	return eachLine(source, out, func(line []byte) ([]byte, error) {
		var t transfer
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, err
		}
		t.Out, t.Error = nil, nil
		result, err := guarded(func() (string, error) {
			from, err := yaml.Parse(string(t.From))
			if err != nil {
				return "", err
			}
			to, err := yaml.Parse(string(t.To))
			if err != nil {
				return "", err
			}
			if err := f(from, to); err != nil {
				return "", err
			}
			return encode(to.Document(), yaml.CompactSequenceStyle)
		})
		if err != nil {
			message := text(err.Error())
			t.Error = &message
		} else {
			t.Out = (*text)(&result)
		}
		return marshalLine(t)
	})
}
