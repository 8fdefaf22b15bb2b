// A function for tests. The first line of its input that begins with "# do: " says what it does.
package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const marker = "# do: "

func process(input string) (string, error) {
	task := ""
	for _, line := range strings.Split(input, "\n") {
		if strings.HasPrefix(line, marker) {
			task = strings.TrimPrefix(line, marker)
			break
		}
	}
	switch task {
	case "fail":
		return "", fmt.Errorf("the input is wrong")
	case "print":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
	case "sync":
		input += fmt.Sprintf("# error: %v\n", os.Stdout.Sync())
	case "sleep":
		time.Sleep(time.Hour)
	case "goroutines":
		var wait sync.WaitGroup
		results := make([]int, 100)
		for i := range results {
			wait.Add(1)
			go func(i int) {
				defer wait.Done()
				time.Sleep(time.Duration(100-i) * time.Minute)
				results[i] = i
			}(i)
		}
		wait.Wait()
		sum := 0
		for _, result := range results {
			sum += result
		}
		input += fmt.Sprintf("# sum: %d\n", sum)
	case "grow":
		pieces := make([][]byte, 0)
		for i := 0; i < 64; i++ {
			pieces = append(pieces, make([]byte, 1<<20))
		}
		input += fmt.Sprintf("# pieces: %d\n", len(pieces))
	case "exit":
		os.Exit(7)
	case "panic":
		panic("on request")
	case "files":
		_, err := os.ReadFile("/etc/passwd")
		input += fmt.Sprintf("# error: %v\n", err != nil)
	case "environment":
		input += fmt.Sprintf("# environment: %d\n", len(os.Environ()))
	case "exhaust":
		var pieces [][]byte
		for {
			pieces = append(pieces, make([]byte, 1<<24))
		}
	case "loop":
		for {
		}
	}
	return strings.ReplaceAll(input, "name: before", "name: after"), nil
}
