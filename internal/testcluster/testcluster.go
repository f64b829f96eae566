// Package testcluster is a Kubernetes control plane for tests: etcd,
// kube-apiserver and the controllers without which an API server does not
// behave like a cluster (namespaces, garbage collection, ServiceAccounts).
// Each is a plain process on loopback that writes only to one temporary
// directory, and none outlives the test process, however that ends. It runs on
// Linux only.
//
// It has no nodes, no scheduler and no workload controllers: Deployments stay
// objects and pods never run. Resource quotas are enforced only once somebody
// writes their status.
//
// A package of tests shares one cluster, started by the first test that asks:
//
//	var shared testcluster.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
//
//	func TestApply(t *testing.T) {
//		cluster := shared.Cluster(t)
//		namespace := cluster.Namespace(t)
//		client, err := client.New(cluster.Admin(), client.Options{})
//		…
//	}
//
// `make controlplane` builds the programs; KUBEBUILDER_ASSETS names their
// directory where that is not bin/controlplane of the module.
package testcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/weir-dev/weir/internal/child"
)

// startTimeout bounds a start on a machine that is busy with everything else.
const startTimeout = 2 * time.Minute

// Cluster is a running control plane. Its methods may be called concurrently.
type Cluster struct {
	bin   string
	dir   *directory
	port  *port
	ca    *authority
	admin *rest.Config
	core  *corev1.CoreV1Client
	stop  func() error

	mu     sync.Mutex // of what RestartServer changes
	procs  *child.Group
	server *child.Process
}

// Start runs a new cluster and returns when it serves requests and its
// controllers work. The context bounds only the start. The caller stops the
// cluster.
func Start(ctx context.Context) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c := &Cluster{bin: bin, procs: child.NewGroup()}
	c.stop = sync.OnceValue(c.end)
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a test cluster: %w", err), c.Stop())
	}
	return c, nil
}

// Stop ends every process and removes everything that they wrote. Its error
// names the processes that had ended before, with the last lines of their
// logs. Later calls return the result of the first.
func (c *Cluster) Stop() error { return c.stop() }

// Bin returns the directory of the cluster's programs, kubectl among them.
func (c *Cluster) Bin() string { return c.bin }

// RestartServer kills the API server and returns when it serves requests
// again, at the same address and with everything that it had stored. Requests
// that were not answered never will be; to the audit they are answered with
// code 0.
func (c *Cluster) RestartServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.procs.Kill(c.server); err != nil {
		return err
	}
	if err := c.dir.add(auditLog, killedRecord); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.startServer(ctx)
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.dir, err = newDirectory(); err != nil {
		return err
	}
	if c.port, err = reservePort(); err != nil {
		return err
	}
	if c.ca, err = newAuthority(); err != nil {
		return err
	}
	if c.admin, err = c.user("weir:admin", "system:masters"); err != nil {
		return err
	}
	if c.core, err = corev1.NewForConfig(c.admin); err != nil {
		return err
	}
	if err := c.writeServerFiles(); err != nil {
		return err
	}
	if err := WriteKubeconfig(c.dir.path(adminFile), c.admin); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{c.startEtcd, c.startServer, c.startControllers} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.procs.Stop()
	if c.port != nil {
		c.port.release()
	}
	if c.dir != nil {
		err = errors.Join(err, c.dir.remove())
	}
	return err
}

// startEtcd runs etcd on sockets in the cluster's directory, where no other
// program can reach it or be in its way. The sockets' paths are relative
// because a socket's path may have only some hundred bytes.
func (c *Cluster) startEtcd(ctx context.Context) error {
	p, err := c.run("etcd",
		"--name=etcd",
		"--data-dir=etcd",
		"--unsafe-no-fsync",
		"--log-level=warn",
		"--listen-client-urls="+etcdURL,
		"--advertise-client-urls="+etcdURL,
		"--listen-peer-urls="+etcdPeerURL,
		"--initial-advertise-peer-urls="+etcdPeerURL,
		"--initial-cluster=etcd="+etcdPeerURL)
	if err != nil {
		return err
	}
	return p.Await(ctx, func(context.Context) error {
		_, err := os.Stat(c.dir.path("etcd.sock"))
		return err
	})
}

const (
	etcdURL     = "unix://etcd.sock"
	etcdPeerURL = "unix://etcd-peer.sock"
)

func (c *Cluster) startServer(ctx context.Context) (err error) {
	c.server, err = c.run("kube-apiserver",
		"--etcd-servers="+etcdURL,
		"--bind-address="+loopback,
		"--secure-port="+strconv.Itoa(c.port.number),
		"--permit-port-sharing", // see port
		"--advertise-address="+loopback,
		"--endpoint-reconciler-type=none", // an endpoint may not be a loopback address
		"--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file=server.crt",
		"--tls-private-key-file=server.key",
		"--client-ca-file=ca.crt",
		"--authorization-mode=RBAC",
		"--enable-admission-plugins=NodeRestriction", // what kubeadm adds to the defaults
		"--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=service-account.pub",
		"--service-account-signing-key-file=service-account.key",
		"--audit-policy-file=audit-policy.yaml",
		"--audit-log-path="+auditLog,
		"--audit-log-mode=blocking", // a request is in the log before it is carried out
		"--audit-log-maxsize=65536", // MiB: never rotated
	)
	if err != nil {
		return err
	}
	return c.server.Await(ctx, func(ctx context.Context) error {
		return c.core.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// startControllers returns when the default namespace has its ServiceAccount,
// the first thing that a controller makes.
func (c *Cluster) startControllers(ctx context.Context) error {
	const user = "system:kube-controller-manager"
	config, err := c.user(user)
	if err != nil {
		return err
	}
	if err := WriteKubeconfig(c.dir.path("controllers.kubeconfig"), config); err != nil {
		return err
	}
	p, err := c.run("kube-controller-manager",
		"--kubeconfig=controllers.kubeconfig",
		// Without the aggregation controller the roles admin, edit and view are empty.
		"--controllers=namespace-controller,garbage-collector-controller,serviceaccount-controller,"+
			"serviceaccount-token-controller,clusterrole-aggregation-controller",
		"--use-service-account-credentials",
		"--service-account-private-key-file=service-account.key",
		"--root-ca-file=ca.crt",
		"--leader-elect=false",
		"--secure-port=0",
		// Namespaces go away in one go instead of at 20 requests a second.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000")
	if err != nil {
		return err
	}
	return p.Await(ctx, func(ctx context.Context) error {
		_, err := c.core.ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return errors.New("the default namespace has no ServiceAccount yet")
		}
		return err
	})
}

// run starts a program in the cluster's directory.
func (c *Cluster) run(name string, args ...string) (*child.Process, error) {
	return c.procs.Start(filepath.Join(c.bin, name), c.dir.root, args...)
}

// url returns the address of the API server.
func (c *Cluster) url() string {
	return "https://" + net.JoinHostPort(loopback, strconv.Itoa(c.port.number))
}
