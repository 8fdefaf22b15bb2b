// Package probe names the public health probe, which is built from the Go registry and run against kiln's servers.
package probe
