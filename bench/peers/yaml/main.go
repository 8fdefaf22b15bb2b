// Command yaml times go-yaml on the work that kiln-yaml does: decode every
// document of an input to nodes, then write them again with indent 2 and
// compact sequences. It prints one JSON line.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

type report struct {
	Bytes        int     `json:"bytes"`
	BestSeconds  float64 `json:"best_seconds"`
	MBPerS       float64 `json:"mb_per_s"`
	PeakRSSBytes int64   `json:"peak_rss_bytes"`
}

func main() {
	set := flag.String("set", "", "JSON lines with an `in` field")
	file := flag.String("file", "", "one YAML file")
	rounds := flag.Int("rounds", 5, "how often to repeat; the best round counts")
	flag.Parse()
	if err := run(*set, *file, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "yaml:", err)
		os.Exit(1)
	}
}

func run(set, file string, rounds int) error {
	inputs, err := load(set, file)
	if err != nil {
		return err
	}
	r := report{}
	for _, in := range inputs {
		r.Bytes += len(in)
	}
	for round := range rounds {
		start := time.Now()
		for _, in := range inputs {
			if _, err := rewrite(in); err != nil {
				return err
			}
		}
		if s := time.Since(start).Seconds(); round == 0 || s < r.BestSeconds {
			r.BestSeconds = s
		}
	}
	if r.BestSeconds > 0 {
		r.MBPerS = float64(r.Bytes) / 1e6 / r.BestSeconds
	}
	r.PeakRSSBytes = peakRSS()
	return json.NewEncoder(os.Stdout).Encode(r)
}

func load(set, file string) ([][]byte, error) {
	switch {
	case set != "" && file == "":
		return loadSet(set)
	case file != "" && set == "":
		in, err := os.ReadFile(file)
		return [][]byte{in}, err
	}
	return nil, errors.New("give either -set or -file")
}

// loadSet skips the inputs that go-yaml refuses.
func loadSet(path string) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var inputs [][]byte
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			in, err := inputOf(line)
			if err != nil {
				return nil, err
			}
			if _, err := rewrite(in); err == nil {
				inputs = append(inputs, in)
			}
		}
		if errors.Is(err, io.EOF) {
			return inputs, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func inputOf(line []byte) ([]byte, error) {
	var record struct {
		In json.RawMessage `json:"in"`
	}
	if err := json.Unmarshal(line, &record); err != nil {
		return nil, err
	}
	var plain string
	if json.Unmarshal(record.In, &plain) == nil {
		return []byte(plain), nil
	}
	var encoded struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(record.In, &encoded)
	return encoded.Base64, err
}

func rewrite(in []byte) ([]byte, error) {
	var docs []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(in))
	for {
		doc := &yaml.Node{}
		err := dec.Decode(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	for _, doc := range docs {
		if err := enc.Encode(doc); err != nil {
			return nil, err
		}
	}
	err := enc.Close()
	return out.Bytes(), err
}

// peakRSS is 0 if the system does not report it.
func peakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib * 1024
		}
	}
	return 0
}
