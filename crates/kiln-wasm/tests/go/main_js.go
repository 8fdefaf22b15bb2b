//go:build js

package main

import "syscall/js"

func main() {
	js.Global().Set("processResourceList", js.FuncOf(func(_ js.Value, args []js.Value) any {
		output, err := process(args[0].String())
		if err != nil {
			return "unable to process resource list: " + err.Error()
		}
		return output
	}))
	js.Global().Set("processResourceListErrors", js.FuncOf(func(_ js.Value, _ []js.Value) any {
		return "a message of the results"
	}))
	select {}
}
