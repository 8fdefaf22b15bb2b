// A small function: it reads a list, copies it field by field and prints it. It takes about as long as a function of the catalog
// on a small package.
package main

import (
	"encoding/json"
	"io"
	"os"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	var list map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		panic(err)
	}
	for i := 0; i < 60; i++ {
		copied, err := json.Marshal(list)
		if err != nil {
			panic(err)
		}
		if err := json.Unmarshal(copied, &list); err != nil {
			panic(err)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		panic(err)
	}
}
