// Command record asks kyaml and go-yaml what they do with YAML text and writes
// the answers as JSON lines. The fixtures of kiln-yaml are made with it, and it
// serves as the oracle when kiln-yaml is fuzzed.
//
// It only records; it never compares. Every sub-command reads its inputs from
// stdin or from inputs/ and writes to stdout in a fixed order, so that running
// it twice gives the same bytes.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

type command struct {
	name string
	help string
	run  func(args []string, in io.Reader, out io.Writer) error
}

func commands() []command {
	return []command{
		{"pairs", "stdin {id,in} lines -> what every way of reading and writing gives", pairs},
		{"scalars", "how a string is resolved, and written in every way", scalars},
		{"edits", "what kyaml's setters make of a document", edits},
		{"comments", "kyaml's copying of comments from one document to another", copyComments},
		{"order", "kyaml's copying of the field order from one document to another", syncOrder},
		{"restore", "both, on the item of a ResourceList, as kpt does after a function", restore},
	}
}

func main() {
	// Most work is building short-lived trees; a larger heap saves half the time.
	debug.SetGCPercent(400)
	if len(os.Args) < 2 {
		usage()
	}
	for _, c := range commands() {
		if c.name != os.Args[1] {
			continue
		}
		if err := c.run(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "record %s: %v\n", c.name, err)
			os.Exit(1)
		}
		return
	}
	usage()
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: record COMMAND")
	for _, c := range commands() {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.help)
	}
	os.Exit(2)
}
