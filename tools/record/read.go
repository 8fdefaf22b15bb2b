package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// record answers one input in every way that is wanted.
func record(in string, want fieldSet) pair {
	var p pair
	keep := func(kind string, dst **text, out string, err error) bool {
		if err != nil {
			if want[kind] {
				if p.Refused == nil {
					p.Refused = map[string]text{}
				}
				p.Refused[kind] = firstLine(err)
			}
			return false
		}
		if want[kind] {
			t := text(out)
			*dst = &t
		}
		return true
	}

	if want.any("compact", "wide", "nodes") {
		docs, err := decodeStream(in)
		if want["compact"] {
			out, err := encodeStream(docs, err, yaml.CompactSequenceStyle)
			keep("compact", &p.Compact, out, err)
		}
		if want["wide"] {
			out, err := encodeStream(docs, err, yaml.WideSequenceStyle)
			keep("wide", &p.Wide, out, err)
		}
		if want["nodes"] {
			tree := make([]node, 0, len(docs))
			for _, d := range docs {
				tree = append(tree, describe(d))
			}
			p.Nodes = &tree
		}
	}
	if want["kio"] {
		out, err := guarded(func() (string, error) { return chunks(in) })
		keep("kio", &p.Kio, out, err)
	}
	if want.any("pkg", "wire", "wireback") {
		recordPackage(in, want, &p, keep)
	}
	return p
}

// decodeStream gives the documents before the first error, and that error.
func decodeStream(in string) (docs []*goyaml.Node, err error) {
	_, err = guarded(func() (string, error) {
		dec := goyaml.NewDecoder(strings.NewReader(in))
		for {
			var doc goyaml.Node
			if err := dec.Decode(&doc); err != nil {
				if errors.Is(err, io.EOF) {
					return "", nil
				}
				return "", err
			}
			docs = append(docs, &doc)
		}
	})
	return docs, err
}

func encodeStream(docs []*goyaml.Node, decodeErr error, style yaml.SequenceIndentStyle) (string, error) {
	if decodeErr != nil || len(docs) == 0 {
		// Closing an encoder that never wrote is an error; nothing in, nothing out.
		return "", decodeErr
	}
	return guarded(func() (string, error) {
		var buf bytes.Buffer
		enc := newEncoder(&buf, style)
		for _, doc := range docs {
			if err := enc.Encode(doc); err != nil {
				return "", err
			}
		}
		if err := enc.Close(); err != nil {
			return "", err
		}
		return buf.String(), nil
	})
}

func newEncoder(w io.Writer, style yaml.SequenceIndentStyle) *goyaml.Encoder {
	return yaml.NewEncoderWithOptions(w, &yaml.EncoderOptions{SeqIndent: style})
}

var separator = regexp.MustCompile(`\n---.*\n`)

// chunks is kyaml's reader without annotations: cut the text at separators,
// take the first document of each chunk, guess its sequence style.
func chunks(in string) (string, error) {
	in = strings.ReplaceAll(in, "\r\n", "\n")
	var parts []string
	rest := 0
	for _, at := range separator.FindAllStringIndex(in, -1) {
		behind := strings.TrimSpace(in[at[0]+len("\n---") : at[1]])
		if behind != "" && behind[0] != '#' {
			return "", fmt.Errorf("invalid document separator: %s", strings.TrimSpace(in[at[0]:at[1]]))
		}
		parts = append(parts, in[rest:at[0]]+"\n")
		rest = at[1]
	}
	parts = append(parts, in[rest:])

	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	written := 0
	for _, part := range parts {
		var doc goyaml.Node
		err := goyaml.NewDecoder(strings.NewReader(part)).Decode(&doc)
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return "", err
		}
		if yaml.IsYNodeEmptyDoc(&doc) || yaml.IsMissingOrNull(yaml.NewRNode(&doc)) {
			continue
		}
		if yaml.DeriveSeqIndentStyle(part) == string(yaml.WideSequenceStyle) {
			enc.DefaultSeqIndent()
		} else {
			enc.CompactSeqIndent()
		}
		if err := enc.Encode(&doc); err != nil {
			return "", err
		}
		written++
	}
	if written == 0 {
		return "", nil
	}
	if err := enc.Close(); err != nil {
		return "", err
	}
	return buf.String(), nil
}

const (
	filePath   = "dir/file.yaml"
	fnConfig   = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fn # c\ndata:\n  k: v\n"
	legacyPath = kioutil.LegacyPathAnnotation
)

// recordPackage reads the input as a package's file and writes it as a file, as
// a ResourceList, and as a file again from that ResourceList.
func recordPackage(in string, want fieldSet, p *pair, keep func(string, **text, string, error) bool) {
	var nodes []*yaml.RNode
	out, err := guarded(func() (string, error) {
		var err error
		nodes, err = (&kio.ByteReader{
			Reader:            strings.NewReader(in),
			DisableUnwrapping: true,
			PreserveSeqIndent: true,
			WrapBareSeqNode:   true,
			SetAnnotations:    map[string]string{kioutil.PathAnnotation: filePath, legacyPath: filePath},
		}).Read()
		if err != nil || !want["pkg"] {
			return "", err
		}
		return writeFile(nodes)
	})
	if !keep("pkg", &p.Pkg, out, err) || !want.any("wire", "wireback") {
		return
	}
	wire, err := guarded(func() (string, error) {
		var buf bytes.Buffer
		err := kio.ByteWriter{
			Writer:                &buf,
			KeepReaderAnnotations: true,
			WrappingAPIVersion:    kio.ResourceListAPIVersion,
			WrappingKind:          kio.ResourceListKind,
			FunctionConfig:        yaml.MustParse(fnConfig),
		}.Write(nodes)
		return buf.String(), err
	})
	if !keep("wire", &p.Wire, wire, err) || !want["wireback"] {
		return
	}
	back, err := guarded(func() (string, error) {
		nodes, err := (&kio.ByteReader{Reader: strings.NewReader(wire), PreserveSeqIndent: true, WrapBareSeqNode: true}).Read()
		if err != nil {
			return "", err
		}
		return writeFile(nodes)
	})
	keep("wireback", &p.Wireback, back, err)
}

func writeFile(nodes []*yaml.RNode) (string, error) {
	var buf bytes.Buffer
	err := kio.ByteWriter{
		Writer:           &buf,
		ClearAnnotations: []string{kioutil.PathAnnotation, legacyPath},
	}.Write(nodes)
	return buf.String(), err
}
