package testcluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Admin returns the configuration of a user who may do everything. Like every
// configuration that a cluster returns it is the caller's to change, and its
// clients do not limit their rate.
func (c *Cluster) Admin() *rest.Config { return rest.CopyConfig(c.admin) }

// User returns the configuration of a user in the given groups, who may do
// only what RBAC grants to one of them.
func (c *Cluster) User(t testing.TB, name string, groups ...string) *rest.Config {
	t.Helper()
	config, err := c.user(name, groups...)
	if err != nil {
		t.Fatalf("making a certificate for user %q: %v", name, err)
	}
	return config
}

// ServiceAccount returns the configuration of a ServiceAccount, which is
// created when it is missing. Its token is good for a day.
func (c *Cluster) ServiceAccount(t testing.TB, namespace, name string) *rest.Config {
	t.Helper()
	config, err := c.Account(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Account is [Cluster.ServiceAccount] for those who are no test.
func (c *Cluster) Account(ctx context.Context, namespace, name string) (*rest.Config, error) {
	token, err := c.token(ctx, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("getting a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	config := c.anonymous()
	config.BearerToken = token
	return config, nil
}

// Kubeconfig writes the configuration to a file that lasts as long as the test
// and returns its path. Of the configuration it keeps address and credentials.
func (c *Cluster) Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}

// Namespace creates a namespace with a name of its own, made from the test's,
// and returns the name. It is deleted when the test ends; nobody waits until
// it is gone, which takes five seconds at least.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: slug(t.Name()) + "-"}}
	namespace, err := c.core.Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		err := c.core.Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %q: %v", namespace.Name, err)
		}
	})
	return namespace.Name
}

// slug returns the name in the letters that a namespace may have, and at most
// 40 of them.
func slug(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	return strings.Trim(name[:min(len(name), 40)], "-")
}

func (c *Cluster) token(ctx context.Context, namespace, name string) (string, error) {
	accounts := c.core.ServiceAccounts(namespace)
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	seconds := int64(24 * time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

func (c *Cluster) user(name string, groups ...string) (*rest.Config, error) {
	cert, err := c.ca.client(name, groups)
	if err != nil {
		return nil, err
	}
	config := c.anonymous()
	config.CertData, config.KeyData = cert.public, cert.private
	return config, nil
}

func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{Host: c.url(), TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem}, QPS: -1}
}

// WriteKubeconfig is [Cluster.Kubeconfig] for those who are no test.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "testcluster"
	file := api.NewConfig()
	file.CurrentContext = name
	file.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	file.Clusters[name] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &api.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}

// writeServerFiles writes what the flags of the API server name.
func (c *Cluster) writeServerFiles() error {
	server, err := c.ca.server()
	if err != nil {
		return err
	}
	signer, err := newSigner()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"ca.crt":              c.ca.pem,
		"server.crt":          server.public,
		"server.key":          server.private,
		"service-account.pub": signer.public,
		"service-account.key": signer.private,
		"audit-policy.yaml":   []byte(auditPolicy),
	} {
		if err := c.dir.write(name, data); err != nil {
			return err
		}
	}
	return nil
}
