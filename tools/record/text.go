package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// text is a string in JSON, or {"base64": …} when its bytes are not UTF-8.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return marshalLine(string(t))
	}
	return marshalLine(map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(t)),
	})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	var wrapped struct {
		Base64 []byte `json:"base64"`
	}
	if err := json.Unmarshal(b, &wrapped); err != nil {
		return err
	}
	*t = text(wrapped.Base64)
	return nil
}

// marshalLine is JSON without HTML escapes and without the final newline.
func marshalLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func writeLine(w io.Writer, v any) error {
	b, err := marshalLine(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// firstLine of an error, with its line feed: kyaml appends whole nodes below it.
func firstLine(err error) text {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return text(line + "\n")
}

// guarded turns a panic inside the libraries into an error.
func guarded(f func() (string, error)) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = "", fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
