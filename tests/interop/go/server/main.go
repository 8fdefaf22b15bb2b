// A fake runner in Go: returns the responses of Porch's runner, without running anything. It prints its port on the first
// line of standard output and ends when its standard input does.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"kiln/evaluator"
	"kiln/rpc"
)

func main() {
	limit := flag.Int("max-request-body-size", 6*1024*1024, "Maximum size of grpc messages in bytes.")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(*limit), grpc.MaxSendMsgSize(*limit))
	rpc.Register(server, evaluate)
	healthpb.RegisterHealthServer(server, health.NewServer())
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func evaluate(ctx context.Context, request *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error) {
	switch request.Image {
	case "example.com/three:v1":
		list := bytes.ReplaceAll(request.ResourceList, []byte("replicas: 1"), []byte("replicas: 3"))
		return &evaluator.EvaluateFunctionResponse{ResourceList: list, Log: []byte("talk")}, nil
	case "example.com/fails:v1":
		return nil, status.Errorf(codes.Internal, "Failed to execute function %q: %s (%s)", request.Image, "exit status 1", "boom")
	case "example.com/waits:v1":
		fmt.Println("begun")
		<-ctx.Done()
		fmt.Println(ctx.Err())
		return nil, ctx.Err()
	case "example.com/large:v1":
		return &evaluator.EvaluateFunctionResponse{ResourceList: bytes.Repeat([]byte("#"), 2*1024*1024)}, nil
	default:
		return nil, status.Errorf(codes.NotFound, "function %q not found", request.Image)
	}
}
