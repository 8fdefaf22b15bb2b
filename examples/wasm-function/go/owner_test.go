package main

import (
	"strings"
	"testing"
)

func TestEveryResourceGetsTheOwner(t *testing.T) {
	list := "kind: ResourceList\nitems:\n- metadata:\n    name: a\nfunctionConfig:\n  data:\n    owner: shop\n"
	output, err := setOwner([]byte(list))
	if err != nil || !strings.Contains(string(output), annotation+": shop") {
		t.Fatalf("%s %v", output, err)
	}
}
