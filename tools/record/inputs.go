package main

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
)

//go:embed inputs
var inputFiles embed.FS

// inputs are the committed ones of that name, or stdin with `-stdin`.
func inputs(name string, args []string, in io.Reader) (io.Reader, error) {
	if fromStdin(args) {
		return in, nil
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("unknown argument %q; only -stdin is known", args[0])
	}
	b, err := inputFiles.ReadFile("inputs/" + name + ".jsonl")
	return bytes.NewReader(b), err
}

func fromStdin(args []string) bool { return len(args) == 1 && args[0] == "-stdin" }

// forEach decodes one T from every line.
func forEach[T any](in io.Reader, f func(T) error) error {
	dec := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	dec.DisallowUnknownFields()
	for number := 1; ; number++ {
		var v T
		if err := dec.Decode(&v); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("input %d: %w", number, err)
		}
		if err := f(v); err != nil {
			return fmt.Errorf("input %d: %w", number, err)
		}
	}
}
