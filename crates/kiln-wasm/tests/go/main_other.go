//go:build !js

package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err == nil {
		var output string
		if output, err = process(string(input)); err == nil {
			_, err = os.Stdout.WriteString(output)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
