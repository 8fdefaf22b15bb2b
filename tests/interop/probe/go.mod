module kiln/probe

go 1.25.0

require github.com/grpc-ecosystem/grpc-health-probe v0.4.42
