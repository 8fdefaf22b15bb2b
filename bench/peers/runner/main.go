// A function runner like Porch's exec evaluator, with grpc-go and buffered os/exec, to compare kiln's runner with. Messages
// are decoded by hand, which is faster than generated code.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os/exec"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// message has the two fields that request and response have: bytes 1, and bytes or string 2.
type message struct{ first, second []byte }

// codec passes all other messages to the default codec.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	out := make([]byte, 0, len(m.first)+len(m.second)+16)
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	out = protowire.AppendBytes(out, m.first)
	out = protowire.AppendTag(out, 2, protowire.BytesType)
	out = protowire.AppendBytes(out, m.second)
	return mem.BufferSlice{mem.SliceBuffer(out)}, nil
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in := data.Materialize()
	for len(in) > 0 {
		number, kind, n := protowire.ConsumeTag(in)
		if n < 0 || kind != protowire.BytesType {
			return errors.New("not a message of ours")
		}
		in = in[n:]
		value, n := protowire.ConsumeBytes(in)
		if n < 0 {
			return errors.New("not a message of ours")
		}
		in = in[n:]
		switch number {
		case 1:
			m.first = value
		case 2:
			m.second = value
		}
	}
	return nil
}

type runner struct{ functions string }

func (r *runner) evaluate(ctx context.Context, in *message) (*message, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(r.functions, filepath.Base(string(in.second))))
	cmd.Stdin = bytes.NewReader(in.first)
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, status.Errorf(codes.Internal, "%v (%s)", err, stderr.String())
	}
	return &message{stdout.Bytes(), stderr.Bytes()}, nil
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	functions := flag.String("functions", ".", "the directory of the programs, each named after its image")
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	const limit = 64 << 20
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")}),
		grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit),
	)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "evaluator.FunctionEvaluator",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "EvaluateFunction",
			Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := new(message)
				if err := decode(in); err != nil {
					return nil, err
				}
				return srv.(*runner).evaluate(ctx, in)
			},
		}},
	}, &runner{*functions})
	healthpb.RegisterHealthServer(server, health.NewServer())
	log.Fatal(server.Serve(listener))
}
