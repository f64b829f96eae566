package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/weir-dev/weir/internal/testcluster"
)

func (s *script) source(c call) error {
	if len(c.args) < 3 || len(c.args) > 5 {
		return fmt.Errorf("%w: source KIND NS/NAME DIR [REVISION [ORIGIN]]", errUsage)
	}
	of, err := key(c.args[1])
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	p := publication{kind: c.args[0], namespace: of.Namespace, name: of.Name, dir: c.path(c.args[2])}
	if len(c.args) > 3 {
		p.revision = c.args[3]
	}
	if len(c.args) > 4 {
		p.origin = c.args[4]
	}
	return s.sources.publish(s.ctx, s.client, p)
}

func (s *script) serve(c call) error {
	if len(c.args) != 3 {
		return fmt.Errorf("%w: serve KIND NS/NAME MANNER", errUsage)
	}
	of, err := key(c.args[1])
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return s.sources.behave(publication{kind: c.args[0], namespace: of.Namespace, name: of.Name}, c.args[2])
}

func (s *script) fetches(c call) error {
	if len(c.args) == 1 && c.args[0] == "reset" {
		s.fetched = s.sources.count()
		return nil
	}
	flags := flag.NewFlagSet("fetches", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	most := flags.Int("max", -1, "how many")
	namespace := flags.String("ns", "", "where")
	if err := flags.Parse(c.args); err != nil || *most < 0 || flags.NArg() > 0 {
		return fmt.Errorf("%w: fetches reset | -max N [-ns NS]", errUsage)
	}
	if list := s.sources.since(s.fetched, *namespace); len(list) > *most {
		return fmt.Errorf("%d downloads, want at most %d:\n%s", len(list), *most, strings.Join(list, "\n"))
	}
	return nil
}

func (s *script) server(c call) error {
	if len(c.args) != 1 || c.args[0] != "restart" {
		return fmt.Errorf("%w: server restart", errUsage)
	}
	return s.cluster.RestartServer(s.ctx)
}

func (s *script) consumers(c call) error {
	switch {
	case len(c.args) == 2 && c.args[0] == "start" && s.consuming == nil:
		s.consuming = consume(s.ctx, s.client, c.args[1])
		return nil
	case len(c.args) == 1 && c.args[0] == "stop" && s.consuming != nil:
		stop := s.consuming
		s.consuming = nil
		return stop()
	}
	return fmt.Errorf("%w: consumers start NS | stop", errUsage)
}

func (s *script) artifact(c call) error {
	if len(c.args) != 2 {
		return fmt.Errorf("%w: artifact NS/NAME DIR", errUsage)
	}
	of, err := key(c.args[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return download(s.ctx, s.client, of, c.path(c.args[1]))
}

func (s *script) control(c call) error {
	verb := strings.Join(c.args[:min(1, len(c.args))], "")
	switch {
	case verb == "start" && len(c.args) > 2 && c.args[1] == "-disk":
		return s.controller.StartOn(s.ctx, c.args[2], c.args[3:]...)
	case verb == "start":
		return s.controller.Start(s.ctx, c.args[1:]...)
	case verb == "stop" && len(c.args) == 1:
		return s.controller.Stop(s.ctx)
	case verb == "kill" && len(c.args) == 1:
		return s.controller.Kill()
	}
	return fmt.Errorf("%w: controller start [-disk SIZE] [FLAG…] | stop | kill", errUsage)
}

func (s *script) settle(c call) error {
	if len(c.args) != 0 {
		return fmt.Errorf("%w: settle", errUsage)
	}
	ctx, cancel := context.WithTimeout(s.ctx, settleTimeout)
	defer cancel()
	return s.controller.settle(ctx)
}

func (s *script) writes(c call) error {
	if len(c.args) == 1 && c.args[0] == "reset" {
		s.audit = s.cluster.Audit(s.t)
		return nil
	}
	flags := flag.NewFlagSet("writes", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	most := flags.Int("max", -1, "how many")
	namespace := flags.String("ns", "", "where")
	if err := flags.Parse(c.args); err != nil || *most < 0 || flags.NArg() > 0 {
		return fmt.Errorf("%w: writes reset | -max N [-ns NS]", errUsage)
	}
	// Whoever is impersonated, it is the controller that authenticated.
	writes := s.audit.Events(s.t, testcluster.Query{User: s.controller.User(), Namespace: *namespace, Writes: true})
	if len(writes) <= *most {
		return nil
	}
	var list strings.Builder
	for _, w := range writes {
		fmt.Fprintf(&list, "\n%s %s %s %d", w.Verb, w.URI, w.As, w.Code)
	}
	return fmt.Errorf("%d writes, want at most %d:%s", len(writes), *most, &list)
}
