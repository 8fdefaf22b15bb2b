package main

import goyaml "go.yaml.in/yaml/v3"

// node is a go-yaml node with everything that decides how it is written.
type node struct {
	Kind   string `json:"K"`
	Tag    text   `json:"Tag,omitempty"`
	Value  text   `json:"V,omitempty"`
	Style  int    `json:"St,omitempty"`
	Anchor string `json:"A,omitempty"`
	Head   text   `json:"H,omitempty"`
	Line   text   `json:"L,omitempty"`
	Foot   text   `json:"F,omitempty"`
	Row    int    `json:"Ln"`
	Column int    `json:"Co"`
	Items  []node `json:"C,omitempty"`
}

var kindNames = map[goyaml.Kind]string{
	goyaml.DocumentNode: "doc",
	goyaml.MappingNode:  "map",
	goyaml.SequenceNode: "seq",
	goyaml.ScalarNode:   "scalar",
	goyaml.AliasNode:    "alias",
}

func describe(n *goyaml.Node) node {
	d := node{
		Kind: kindNames[n.Kind], Tag: text(n.Tag), Value: text(n.Value), Style: int(n.Style), Anchor: n.Anchor,
		Head: text(n.HeadComment), Line: text(n.LineComment), Foot: text(n.FootComment),
		Row: n.Line, Column: n.Column,
	}
	for _, c := range n.Content {
		d.Items = append(d.Items, describe(c))
	}
	return d
}
