//go:build js

package main

import "syscall/js"

// With GOOS=js the program has the interface of kpt's functions in WebAssembly.
func main() {
	process := func(_ js.Value, args []js.Value) any {
		output, err := setOwner([]byte(args[0].String()))
		if err != nil {
			return "unable to process resource list: " + err.Error()
		}
		return string(output)
	}
	js.Global().Set("processResourceList", js.FuncOf(process))
	select {}
}
