// Package access asks the API server whether a ServiceAccount may do what a
// controller is about to do in its stead. The controller then acts by its own
// rights: nobody is impersonated and no token is asked for. The package writes
// nothing, and what it was answered is forgotten with the [Desk] that asked.
package access

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

// String returns the user that the account is to the API server.
func (a Account) String() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// groups are those that the API server puts every ServiceAccount in.
func (a Account) groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"}
}

// Authority says on whose authority something is done for an owner.
type Authority struct {
	// Home is the namespace of the owner, in which accounts are looked up.
	Home string
	// Own is the account that the owner names; empty for none. It counts
	// everywhere, at home too.
	Own string
	// Default is the account of owners that name none; empty for none. It
	// counts everywhere but at home.
	Default string
}

// For returns the account whose rights count in a namespace, and false where
// those of the controller do.
func (a Authority) For(namespace string) (Account, bool) {
	switch {
	case a.Own != "":
		return Account{a.Home, a.Own}, true
	case a.Default != "" && namespace != a.Home:
		return Account{a.Home, a.Default}, true
	}
	return Account{}, false
}

// Use is what is done in one namespace, and with it.
type Use struct {
	// Publish makes ExternalArtifacts, changes and removes them.
	Publish bool
	// Withdraw only removes ExternalArtifacts.
	Withdraw bool
	// Manage makes the namespace and changes it.
	Manage bool
	// Delete deletes the namespace.
	Delete bool
}

// need is a request that an account must be allowed to make.
type need struct{ verb, group, resource, subresource, namespace, name string }

// needs returns what the use of a namespace asks for. The namespace itself is
// asked for in the cluster's scope: who may change a namespace from within may
// not make or delete one.
func (u Use) needs(namespace string) []need {
	var out []need
	add := func(n need, verbs ...string) {
		for _, n.verb = range verbs {
			out = append(out, n)
		}
	}
	artifacts := need{group: "source.toolkit.fluxcd.io", resource: "externalartifacts", namespace: namespace}
	switch {
	case u.Publish:
		add(artifacts, "get", "list", "create", "patch", "update", "delete")
		artifacts.subresource = "status"
		add(artifacts, "patch")
	case u.Withdraw:
		add(artifacts, "get", "delete")
	}
	itself := need{resource: "namespaces", name: namespace}
	if u.Manage {
		add(itself, "create", "patch")
	}
	if u.Manage || u.Delete {
		add(itself, "get")
	}
	if u.Delete {
		add(itself, "delete")
	}
	return out
}

// what names the objects that a request is about, for people.
func (n need) what() string {
	s := n.resource
	if n.group != "" {
		s += "." + n.group
	}
	if n.subresource != "" {
		s += "/" + n.subresource
	}
	return s
}
