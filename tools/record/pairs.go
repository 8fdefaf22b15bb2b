package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// pair is one line of the recorded pairs; a field not asked for stays empty.
type pair struct {
	ID       json.RawMessage `json:"id,omitempty"`
	Compact  *text           `json:"compact,omitempty"`
	Wide     *text           `json:"wide,omitempty"`
	Kio      *text           `json:"kio,omitempty"`
	Pkg      *text           `json:"pkg,omitempty"`
	Wire     *text           `json:"wire,omitempty"`
	Wireback *text           `json:"wireback,omitempty"`
	Nodes    *[]node         `json:"nodes,omitempty"`
	Refused  map[string]text `json:"refused,omitempty"`
}

var allFields = []string{"compact", "wide", "kio", "pkg", "wire", "wireback", "nodes"}

type fieldSet map[string]bool

func (f fieldSet) any(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return f[n] })
}

func pairs(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("pairs", flag.ExitOnError)
	only := flags.String("only", strings.Join(allFields, ","), "fields to record, comma separated")
	_ = flags.Parse(args)
	want := fieldSet{}
	for _, f := range strings.Split(*only, ",") {
		if !slices.Contains(allFields, f) {
			return fmt.Errorf("unknown field %q", f)
		}
		want[f] = true
	}
	return eachLine(in, out, func(line []byte) ([]byte, error) {
		var req struct {
			ID json.RawMessage `json:"id"`
			In text            `json:"in"`
		}
		if err := json.Unmarshal(line, &req); err != nil {
			return nil, err
		}
		p := record(string(req.In), want)
		p.ID = req.ID
		return marshalLine(p)
	})
}

// eachLine maps lines on all cores and writes the answers in the order of the
// questions. It flushes whenever nothing is waiting, so it can also be talked
// to one line at a time.
func eachLine(in io.Reader, out io.Writer, f func([]byte) ([]byte, error)) error {
	type job struct {
		line   []byte
		answer chan []byte
		err    error
	}
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan *job, 64*workers)
	order := make(chan *job, 64*workers)
	for range workers {
		go func() {
			for j := range todo {
				var answer []byte
				answer, j.err = f(j.line)
				j.answer <- answer
			}
		}()
	}
	readErr := make(chan error, 1)
	go func() {
		defer close(order)
		defer close(todo)
		r := bufio.NewReaderSize(in, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if len(strings.TrimSpace(string(line))) > 0 {
				j := &job{line: line, answer: make(chan []byte, 1)}
				order <- j
				todo <- j
			}
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				readErr <- err
				return
			}
		}
	}()
	w := bufio.NewWriterSize(out, 1<<20)
	number := 0
	for j := range order {
		number++
		answer := <-j.answer
		if j.err != nil {
			_ = w.Flush()
			return fmt.Errorf("line %d: %w", number, j.err)
		}
		if _, err := w.Write(append(answer, '\n')); err != nil {
			return err
		}
		if len(order) == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return <-readErr
}
