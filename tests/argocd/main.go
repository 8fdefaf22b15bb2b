// The config management plugin server of Argo CD, and a client that calls it as the repository server does.
//
//	argocd-plugin --config-dir-path DIR
//	argocd-plugin call SOCKET match|generate|parameters REPOSITORY APPLICATION TIMEOUT [NAME=VALUE]…
//
// The first form is argocd-cmp-server, unchanged. The second one sends the repository as a stream and prints the answer as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/cmp"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "call" {
		if commands.NewCommand().Execute() != nil {
			os.Exit(1)
		}
		return
	}
	if err := call(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answered is a stream that sends an application and receives one answer.
type answered[T any] interface {
	cmp.StreamSender
	CloseAndRecv() (*T, error)
}

func call(words []string) error {
	if len(words) < 5 {
		return fmt.Errorf("call needs a socket, a verb, a repository, an application and a timeout")
	}
	socket, verb, repository, application, env := words[0], words[1], words[2], words[3], words[5:]
	timeout, err := time.ParseDuration(words[4])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	connection, client, err := apiclient.NewConfigManagementPluginClientSet(socket).NewConfigManagementPluginClient()
	if err != nil {
		return err
	}
	defer connection.Close()
	switch verb {
	case "match":
		stream, err := client.MatchRepository(ctx)
		return answer(ctx, stream, err, repository, application, env)
	case "generate":
		stream, err := client.GenerateManifest(ctx)
		return answer(ctx, stream, err, repository, application, env)
	case "parameters":
		stream, err := client.GetParametersAnnouncement(ctx)
		return answer(ctx, stream, err, repository, application, env)
	}
	return fmt.Errorf("unknown verb %q", verb)
}

func answer[T any](ctx context.Context, stream answered[T], err error, repository, application string, env []string) error {
	if err != nil {
		return err
	}
	if err := cmp.SendRepoStream(ctx, application, repository, stream, env, nil); err != nil {
		return err
	}
	received, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(received)
}
