// Package rpc has the stubs of the one service.
package rpc

import (
	"context"

	"google.golang.org/grpc"

	"kiln/evaluator"
)

// Service is the name of the service.
const Service = "evaluator.FunctionEvaluator"

const method = "/" + Service + "/EvaluateFunction"

// Evaluate calls a runner.
func Evaluate(ctx context.Context, conn *grpc.ClientConn, image string, list []byte, opts ...grpc.CallOption) (*evaluator.EvaluateFunctionResponse, error) {
	request := &evaluator.EvaluateFunctionRequest{ResourceList: list, Image: image}
	response := new(evaluator.EvaluateFunctionResponse)
	if err := conn.Invoke(ctx, method, request, response, opts...); err != nil {
		return nil, err
	}
	return response, nil
}

// Evaluator answers calls.
type Evaluator func(context.Context, *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error)

// Register adds the service to a server.
func Register(server *grpc.Server, evaluate Evaluator) {
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: Service,
		Methods: []grpc.MethodDesc{{
			MethodName: "EvaluateFunction",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				request := new(evaluator.EvaluateFunctionRequest)
				if err := decode(request); err != nil {
					return nil, err
				}
				return evaluate(ctx, request)
			},
		}},
	}, nil)
}
