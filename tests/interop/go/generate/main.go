// Generates the Go code of the evaluator protocol from the descriptors of kiln's reflection, without protoc and without
// checked-in code: `go run ./generate DESCRIPTORS` from the module's root. The few stubs are written by hand, in package rpc.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const file = "evaluator.proto"

func main() {
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(descriptors string) error {
	encoded, err := os.ReadFile(descriptors)
	if err != nil {
		return err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(encoded, &set); err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file},
		Parameter:      proto.String("module=kiln"),
	}
	for _, one := range set.File {
		if one.GetName() == file {
			request.ProtoFile = append(request.ProtoFile, one)
		}
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		return err
	}
	for _, one := range plugin.Files {
		if one.Generate {
			gengo.GenerateFile(plugin, one)
		}
	}
	response := plugin.Response()
	if response.Error != nil {
		return fmt.Errorf("%s", *response.Error)
	}
	for _, one := range response.File {
		if err := os.MkdirAll(filepath.Dir(one.GetName()), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(one.GetName(), []byte(one.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
