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
	// Bare is the result for `to` without a document node around it, where that
	// differs: this is what an item of a ResourceList looks like.
	Bare *answer `json:"bare,omitempty"`
}

type transferFunc func(from, to *yaml.RNode) error

func copyComments(args []string, in io.Reader, out io.Writer) error {
	// Parsed here once, not by whichever core comes first.
	openapi.Schema()
	return transfers("comments", args, in, out, func(t *transfer) { t.wholeAndBare(comments.CopyComments) })
}

func syncOrder(args []string, in io.Reader, out io.Writer) error {
	return transfers("order", args, in, out, func(t *transfer) { t.wholeAndBare(order.SyncOrder) })
}

// restore does what kpt does to every item that a function gives back.
func restore(args []string, in io.Reader, out io.Writer) error {
	openapi.Schema()
	return transfers("comments", args, in, out, func(t *transfer) {
		t.keep(transferred(*t, bareNode, func(from, to *yaml.RNode) error {
			if err := comments.CopyComments(from, to); err != nil {
				return err
			}
			return order.SyncOrder(from, to)
		}))
	})
}

func transfers(name string, args []string, in io.Reader, out io.Writer, do func(*transfer)) error {
	source, err := inputs(name, args, in)
	if err != nil {
		return err
	}
	return eachLine(source, out, func(line []byte) ([]byte, error) {
		var t transfer
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, err
		}
		t.Out, t.Error, t.Bare = nil, nil, nil
		do(&t)
		return marshalLine(t)
	})
}

func (t *transfer) wholeAndBare(f transferFunc) {
	whole := transferred(*t, wholeDocument, f)
	bare := transferred(*t, bareNode, f)
	t.keep(whole)
	if bare.out != whole.out || (bare.err == nil) != (whole.err == nil) {
		t.Bare = &bare
	}
}

func (t *transfer) keep(a answer) {
	if a.err != nil {
		message := text(a.err.Error())
		t.Error = &message
		return
	}
	t.Out = (*text)(&a.out)
}

func wholeDocument(to *yaml.RNode) *yaml.RNode { return to }
func bareNode(to *yaml.RNode) *yaml.RNode      { return yaml.NewRNode(to.YNode()) }

func transferred(t transfer, part func(*yaml.RNode) *yaml.RNode, f transferFunc) answer {
	return answered(func() (string, error) {
		from, err := yaml.Parse(string(t.From))
		if err != nil {
			return "", err
		}
		to, err := yaml.Parse(string(t.To))
		if err != nil {
			return "", err
		}
		to = part(to)
		if err := f(from, to); err != nil {
			return "", err
		}
		return encode(to.Document(), yaml.CompactSequenceStyle)
	})
}
