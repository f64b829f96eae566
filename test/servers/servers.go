package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/fluxcd/pkg/gittestserver"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// gitServer serves the repositories below the directory. It chooses its port
// itself, so the handler passes requests on to it.
func gitServer(dir string) (handler http.Handler, stop func(), err error) {
	server := gittestserver.NewGitServer(dir).AutoCreate()
	if err := server.StartHTTP(); err != nil {
		return nil, nil, err
	}
	target, err := url.Parse(server.HTTPAddress())
	if err != nil {
		server.StopHTTP()
		return nil, nil, err
	}
	return httputil.NewSingleHostReverseProxy(target), server.StopHTTP, nil
}

func registryServer() http.Handler {
	return registry.New(registry.Logger(log.New(io.Discard, "", 0)))
}

func bucketServer() http.Handler {
	return gofakes3.New(s3mem.New(), gofakes3.WithoutVersioning()).Server()
}
