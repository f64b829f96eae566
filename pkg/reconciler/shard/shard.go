// Package shard keeps inventories in compressed ConfigMaps, as many as an
// inventory needs. It is for inventories that outgrow a status field; ten
// thousand objects take one or two ConfigMaps.
package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// Labels and annotations of the ConfigMaps.
const (
	ownerLabel  = "inventory.weir.dev/owner"    // hash of the owner's id
	ownerNote   = "inventory.weir.dev/owner"    // the owner's id
	countNote   = "inventory.weir.dev/shards"   // of the inventory, on the head
	itemsNote   = "inventory.weir.dev/items"    // of the inventory at least, on the head
	versionNote = "inventory.weir.dev/revision" // of the inventory, counting up
	dataKey     = "items"                       // in binaryData
	shardLabel  = "inventory.weir.dev/shard"    // index; 0 is the head
	maxBytes    = 700 << 10                     // of one shard, compressed
	maxShards   = 1 << 8
)

// ErrLost is returned when ConfigMaps of an inventory are missing.
var ErrLost = errors.New("the inventory has lost items")

// Store implements [inventory.Store] with ConfigMaps. It remembers what it has
// loaded, so a pass without changes sends no request; keep one store for all
// owners. A change of items of one shard writes that shard alone, and no change
// writes nothing. Two processes that act for one owner notice each other when
// they write the same shard. Versions are decimal numbers that grow.
type Store struct {
	// Client must read unstructured objects from the server.
	Client client.Client
	// Namespace is where the ConfigMaps are.
	Namespace string
	// Prefix begins their names; empty means "inventory".
	Prefix string
	// Decorate, if set, adds labels or owner references to the ConfigMaps of an
	// owner.
	Decorate func(owner string, m *unstructured.Unstructured)
	// MaxBytes is the compressed size at which a shard is split; zero means
	// 700 KiB. It is meant for tests.
	MaxBytes int

	mu   sync.Mutex
	seen map[string]*state
}

// state is what is stored for one owner.
type state struct {
	revision int
	count    int
	shards   map[int]*shard
	inv      inventory.Inventory
}

// shard is one ConfigMap.
type shard struct {
	object *unstructured.Unstructured // without data
	items  []inventory.Item           // sorted by key
}

// Load implements [inventory.Store].
func (s *Store) Load(ctx context.Context, owner string) (inventory.Inventory, error) {
	// What seems empty is read each time, as nothing would ever be committed
	// that could prove it wrong.
	if st := s.recall(owner); st != nil && len(st.inv.Items) > 0 {
		return st.inv, nil
	}
	st, err := s.read(ctx, owner)
	if err != nil {
		return inventory.Inventory{}, err
	}
	s.remember(owner, st)
	return st.inv, nil
}

func (s *Store) recall(owner string) *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[owner]
}

// remember keeps a state, or drops it when it is nil or nothing is stored.
func (s *Store) remember(owner string, st *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]*state{}
	}
	if st == nil || st.revision > 0 && len(st.inv.Items) == 0 {
		delete(s.seen, owner)
		return
	}
	s.seen[owner] = st
}

func (s *Store) read(ctx context.Context, owner string) (*state, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("ConfigMapList")
	if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels(Labels(owner))); err != nil {
		return nil, fmt.Errorf("listing the inventory of owner %q: %w", owner, err)
	}
	st, err := parse(owner, list.Items)
	if err != nil {
		return nil, fmt.Errorf("reading the inventory of owner %q in namespace %s: %w", owner, s.Namespace, err)
	}
	return st, nil
}

// Labels returns the labels by which the ConfigMaps of an owner are found.
func Labels(owner string) map[string]string { return map[string]string{ownerLabel: stamp.Hash(owner)} }

// Read returns the inventory of an owner in ConfigMaps that somebody else has
// listed by [Labels].
func Read(owner string, list []unstructured.Unstructured) (inventory.Inventory, error) {
	st, err := parse(owner, list)
	if err != nil {
		return inventory.Inventory{}, fmt.Errorf("reading the inventory of owner %q: %w", owner, err)
	}
	return st.inv, nil
}

func parse(owner string, list []unstructured.Unstructured) (*state, error) {
	st := &state{count: 1, shards: map[int]*shard{}}
	for i := range list {
		u := &list[i]
		index, err := strconv.Atoi(u.GetLabels()[shardLabel])
		if err != nil || u.GetAnnotations()[ownerNote] != owner {
			continue // somebody else's
		}
		items, err := decode(u)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s: %w", u.GetName(), err)
		}
		delete(u.Object, "binaryData")
		st.shards[index] = &shard{object: u, items: items}
		st.revision = max(st.revision, note(u, versionNote))
	}
	head := st.shards[0]
	if head == nil { // the first commit was cut short
		st.revision = 0
	} else {
		st.count = min(max(note(head.object, countNote), 1), maxShards)
	}
	st.inv = inventory.New(strconv.Itoa(st.revision), st.merged())
	if head != nil && len(st.inv.Items) < note(head.object, itemsNote) {
		return nil, fmt.Errorf("%w: ConfigMaps are missing, for there are %d items of at least %d", ErrLost, len(st.inv.Items), note(head.object, itemsNote))
	}
	return st, nil
}

// Owners returns the owners of all inventories that are stored, sorted.
func (s *Store) Owners(ctx context.Context) ([]string, error) {
	list, err := s.about(ctx, client.HasLabels{ownerLabel})
	if err != nil {
		return nil, fmt.Errorf("listing inventories: %w", err)
	}
	var out []string
	for i := range list {
		if owner := list[i].GetAnnotations()[ownerNote]; owner != "" {
			out = append(out, owner)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Remove deletes all that is stored for an owner, whatever it is. What is
// written at the same time may stay.
func (s *Store) Remove(ctx context.Context, owner string) error {
	s.remember(owner, nil)
	list, err := s.about(ctx, client.MatchingLabels(Labels(owner)))
	if err != nil {
		return fmt.Errorf("listing the inventory of owner %q: %w", owner, err)
	}
	for i := range list {
		if list[i].GetAnnotations()[ownerNote] != owner {
			continue
		}
		if err := s.drop(ctx, &list[i]); err != nil {
			return fmt.Errorf("removing the inventory of owner %q: %w", owner, err)
		}
	}
	return nil
}

// about lists ConfigMaps without what is in them.
func (s *Store) about(ctx context.Context, which client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	err := s.Client.List(ctx, list, client.InNamespace(s.Namespace), which)
	return list.Items, err
}

// drop deletes a ConfigMap if it still is as it was read.
func (s *Store) drop(ctx context.Context, o client.Object) error {
	uid, rv := o.GetUID(), o.GetResourceVersion()
	stub := object.Key{Kind: "ConfigMap", Namespace: o.GetNamespace(), Name: o.GetName()}.Stub("v1")
	return client.IgnoreNotFound(s.Client.Delete(ctx, stub, client.Preconditions{UID: &uid, ResourceVersion: &rv}))
}

// merged returns the items of all shards. Where a commit was cut short an item
// may be in two of them; the one that was written last is right.
func (st *state) merged() []inventory.Item {
	order := make([]int, 0, len(st.shards))
	for i := range st.shards {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(note(st.shards[a].object, versionNote), note(st.shards[b].object, versionNote)), cmp.Compare(a, b))
	})
	var items []inventory.Item
	for _, i := range order {
		items = append(items, st.shards[i].items...)
	}
	return items
}

func note(u *unstructured.Unstructured, key string) int {
	n, err := strconv.Atoi(u.GetAnnotations()[key])
	if err != nil {
		return 0
	}
	return n
}

// index returns the shard of a key among count shards.
func index(k object.Key, count int) int {
	h := fnv.New32a()
	fmt.Fprint(h, k.Group, "\x00", k.Kind, "\x00", k.Namespace, "\x00", k.Name)
	return int(h.Sum32() % uint32(count))
}

// conflict translates the answer to a guarded write.
func conflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", inventory.ErrConflict, err)
	}
	return err
}

func (s *Store) name(owner string, index int) string {
	return fmt.Sprintf("%s-%s-%d", cmp.Or(s.Prefix, "inventory"), stamp.Hash(owner)[:16], index)
}

// fresh returns a ConfigMap that is not stored yet.
func (s *Store) fresh(owner string, index int) *unstructured.Unstructured {
	u := object.Key{Kind: "ConfigMap", Namespace: s.Namespace, Name: s.name(owner, index)}.Stub("v1")
	labels := Labels(owner)
	labels[shardLabel] = strconv.Itoa(index)
	u.SetLabels(labels)
	u.SetAnnotations(map[string]string{ownerNote: owner})
	if s.Decorate != nil {
		s.Decorate(owner, u)
	}
	return u
}
