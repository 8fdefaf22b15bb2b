//go:build !js

package main

import (
	"fmt"
	"io"
	"os"
)

// With GOOS=wasip1, or without WebAssembly, it is a program: a list on standard input, the changed list on standard output.
func main() {
	input, err := io.ReadAll(os.Stdin)
	if err == nil {
		input, err = setOwner(input)
	}
	if err == nil {
		_, err = os.Stdout.Write(input)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
