package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// consume downloads the artifacts of a namespace's ExternalArtifacts, as their
// statuses tell of them, until the returned function is called. That returns
// an error when somebody was handed bytes of another digest than the status
// said: with no bytes at all consumers wait for better times.
func consume(ctx context.Context, c client.Client, namespace string) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var good int
	var bad error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && bad == nil {
			began := time.Now()
			n, err := consumeAll(ctx, c, namespace)
			good, bad = good+n, err
			select {
			case <-ctx.Done():
			case <-time.After(max(20*time.Millisecond, 4*time.Since(began))): // others work, too
			}
		}
	}()
	return func() error {
		cancel()
		<-done
		if bad == nil && good == 0 {
			return errors.New("consumers got nothing")
		}
		return bad
	}
}

// consumeAll downloads once what is there and returns how much of it was to be
// had.
func consumeAll(ctx context.Context, c client.Client, namespace string) (good int, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(object("ExternalArtifactList", "", "").GroupVersionKind())
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, nil //nolint:nilerr // the API server may be away
	}
	for _, o := range list.Items {
		switch _, err := tarballOf(ctx, &o); {
		case err == nil:
			good++
		case errors.Is(err, errOther):
			return good, fmt.Errorf("a consumer of %s/%s: %w", namespace, o.GetName(), err)
		}
	}
	return good, nil
}
