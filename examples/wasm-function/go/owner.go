// Command set-owner is a function that sets the owner of every resource, for WebAssembly.
package main

import (
	"bytes"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

const annotation = "example.com/owner"

// setOwner sets the annotation on all resources of a list to the owner in its functionConfig.
func setOwner(input []byte) ([]byte, error) {
	var list yaml.Node
	if err := yaml.Unmarshal(input, &list); err != nil {
		return nil, err
	}
	if len(list.Content) == 0 {
		return nil, errors.New("the input is empty")
	}
	root := list.Content[0]
	owner := field(field(field(root, "functionConfig"), "data"), "owner")
	if owner == nil {
		return nil, errors.New("the functionConfig has no data.owner")
	}
	items := field(root, "items")
	if items == nil {
		items = &yaml.Node{}
	}
	for _, item := range items.Content {
		metadata := field(item, "metadata")
		if metadata == nil {
			return nil, fmt.Errorf("line %d: the resource has no metadata", item.Line)
		}
		annotations := field(metadata, "annotations")
		if annotations == nil {
			annotations = &yaml.Node{Kind: yaml.MappingNode}
			metadata.Content = append(metadata.Content, scalar("annotations"), annotations)
		}
		if value := field(annotations, annotation); value != nil {
			value.SetString(owner.Value)
		} else {
			annotations.Content = append(annotations.Content, scalar(annotation), scalar(owner.Value))
		}
	}
	var output bytes.Buffer
	encoder := yaml.NewEncoder(&output)
	encoder.SetIndent(2)
	err := encoder.Encode(&list)
	return output.Bytes(), err
}

// field returns the value of a field of a mapping, nil if there is none.
func field(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

func scalar(value string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(value)
	return node
}
