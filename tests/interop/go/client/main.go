// A Go client of kiln's servers: the calls of Porch and of Kubernetes. Each check prints its name; the exit code is the
// number of failed checks.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"kiln/rpc"
)

var (
	address = flag.String("addr", "", "host:port of the server")
	echo    = flag.String("echo", "", "an image that answers with what it gets")
	fails   = flag.String("fails", "", "an image that fails with results")
	failure = flag.String("failure", "", "how the status of that one begins")
	waits   = flag.String("waits", "", "an image that takes for ever")
	unknown = flag.String("unknown", "", "an image that the server does not know")
	limit   = flag.Int("limit", 6*1024*1024, "what the server takes")
)

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

type check struct {
	name string
	run  func(*grpc.ClientConn) error
	// Whether the server has what it needs.
	wanted bool
}

func main() {
	flag.Parse()
	conn, err := grpc.NewClient(*address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	if err != nil {
		fmt.Println("cannot dial:", err)
		os.Exit(100)
	}
	defer conn.Close()
	failed := 0
	for _, one := range []check{
		{"a call", callOnce, *echo != ""},
		{"an empty list", emptyList, *echo != ""},
		{"a large list", largeList, *echo != ""},
		{"many calls at once", manyCalls, *echo != ""},
		{"a failing function", failingFunction, *fails != ""},
		{"an unknown function", unknownFunction, *unknown != ""},
		{"a deadline", deadline, *waits != ""},
		{"a cancelled call", cancelled, *waits != ""},
		{"a request over the limit", tooLarge, *echo != ""},
		{"a call after all that", callOnce, *echo != ""},
		{"health", healthChecks, true},
		{"a watch of health", healthWatch, true},
		{"reflection", reflection, true},
		{"a method that is not there", noMethod, true},
	} {
		if !one.wanted {
			continue
		}
		if err := one.run(conn); err != nil {
			fmt.Printf("FAILED %s: %v\n", one.name, err)
			failed++
		} else {
			fmt.Println("ok", one.name)
		}
	}
	os.Exit(failed)
}

func minute() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

func expect(err error, code codes.Code, parts ...string) error {
	got := status.Convert(err)
	if got.Code() != code {
		return fmt.Errorf("want %v, got %v: %s", code, got.Code(), got.Message())
	}
	for _, part := range parts {
		if !strings.Contains(got.Message(), part) {
			return fmt.Errorf("%q is not in %q", part, got.Message())
		}
	}
	return nil
}

func echoes(conn *grpc.ClientConn, list string) error {
	ctx, cancel := minute()
	defer cancel()
	response, err := rpc.Evaluate(ctx, conn, *echo, []byte(list))
	if err != nil {
		return err
	}
	if got := string(response.ResourceList); got != list {
		return fmt.Errorf("want %d bytes, got %d: %.100q", len(list), len(got), got)
	}
	return nil
}

func callOnce(conn *grpc.ClientConn) error {
	return echoes(conn, list)
}

func emptyList(conn *grpc.ClientConn) error {
	return echoes(conn, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n")
}

func largeList(conn *grpc.ClientConn) error {
	return echoes(conn, list+"# "+strings.Repeat("x", *limit-1000)+"\n")
}

func manyCalls(conn *grpc.ClientConn) error {
	var group sync.WaitGroup
	failures := make(chan error, 16*8)
	for range 16 {
		group.Go(func() {
			for range 8 {
				if err := callOnce(conn); err != nil {
					failures <- err
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}

func failingFunction(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	_, err := rpc.Evaluate(ctx, conn, *fails, []byte(list))
	if err := expect(err, codes.Internal, *failure); err != nil {
		return err
	}
	for _, detail := range status.Convert(err).Proto().GetDetails() {
		if detail.TypeUrl == "type.googleapis.com/kiln.evaluator.v1.FunctionFailure" && len(detail.Value) > 0 {
			return nil
		}
	}
	return fmt.Errorf("no details in %v", err)
}

func unknownFunction(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	_, err := rpc.Evaluate(ctx, conn, *unknown, []byte(list))
	return expect(err, codes.NotFound, *unknown)
}

func deadline(conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := rpc.Evaluate(ctx, conn, *waits, []byte(list))
	return expect(err, codes.DeadlineExceeded)
}

func cancelled(conn *grpc.ClientConn) error {
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(300*time.Millisecond, cancel)
	defer timer.Stop()
	_, err := rpc.Evaluate(ctx, conn, *waits, []byte(list))
	return expect(err, codes.Canceled)
}

func tooLarge(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	large := []byte(list + "# " + strings.Repeat("x", *limit) + "\n")
	_, err := rpc.Evaluate(ctx, conn, *echo, large)
	return expect(err, codes.ResourceExhausted, "--max-request-body-size", fmt.Sprint(*limit))
}

func healthChecks(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	client := healthpb.NewHealthClient(conn)
	for _, service := range []string{"", rpc.Service} {
		response, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			return err
		}
		if response.Status != healthpb.HealthCheckResponse_SERVING {
			return fmt.Errorf("%q is %v", service, response.Status)
		}
	}
	_, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: "no.such.Service"})
	return expect(err, codes.NotFound)
}

func healthWatch(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	stream, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return err
	}
	response, err := stream.Recv()
	if err != nil {
		return err
	}
	if response.Status != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("%v", response.Status)
	}
	return nil
}

func reflection(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	request := &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	}
	if err := stream.Send(request); err != nil {
		return err
	}
	response, err := stream.Recv()
	if err != nil {
		return err
	}
	for _, service := range response.GetListServicesResponse().GetService() {
		if service.Name == rpc.Service {
			return nil
		}
	}
	return fmt.Errorf("the service is not among %v", response)
}

func noMethod(conn *grpc.ClientConn) error {
	ctx, cancel := minute()
	defer cancel()
	err := conn.Invoke(ctx, "/"+rpc.Service+"/Nope", &healthpb.HealthCheckRequest{}, &healthpb.HealthCheckResponse{})
	return expect(err, codes.Unimplemented)
}
