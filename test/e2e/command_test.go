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
	case verb == "start":
		return s.controller.start(s.ctx, c.args[1:]...)
	case verb == "stop" && len(c.args) == 1:
		return s.controller.stop(s.ctx)
	case verb == "kill" && len(c.args) == 1:
		return s.controller.kill()
	}
	return fmt.Errorf("%w: controller start [FLAG…] | stop | kill", errUsage)
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
	writes := s.audit.Events(s.t, testcluster.Query{User: s.controller.user, Namespace: *namespace, Writes: true})
	if len(writes) <= *most {
		return nil
	}
	var list strings.Builder
	for _, w := range writes {
		fmt.Fprintf(&list, "\n%s %s %s %d", w.Verb, w.URI, w.As, w.Code)
	}
	return fmt.Errorf("%d writes, want at most %d:%s", len(writes), *most, &list)
}
