// Package shard keeps inventories in compressed ConfigMaps, as many as an
// inventory needs. It is for inventories that outgrow a status field; ten
// thousand objects take one or two ConfigMaps.
package shard

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	versionNote = "inventory.weir.dev/revision" // of the inventory, counting up
	dataKey     = "items"                       // in binaryData
	shardLabel  = "inventory.weir.dev/shard"    // index; 0 is the head
	maxBytes    = 700 << 10                     // of one shard, compressed
	maxShards   = 1 << 8
)

// Store implements [inventory.Store] with ConfigMaps. It remembers what it has
// loaded, so a pass without changes sends no request; keep one store for all
// owners. Two processes that act for one owner notice each other when they
// commit.
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
	object *unstructured.Unstructured
	items  []inventory.Item // sorted by key
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
	err := s.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{ownerLabel: stamp.Hash(owner)})
	if err != nil {
		return nil, fmt.Errorf("listing the inventory of owner %q: %w", owner, err)
	}
	st := &state{count: 1, shards: map[int]*shard{}}
	for i := range list.Items {
		u := &list.Items[i]
		index, err := strconv.Atoi(u.GetLabels()[shardLabel])
		if err != nil || u.GetAnnotations()[ownerNote] != owner {
			continue // somebody else's
		}
		items, err := decode(u)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		}
		st.shards[index] = &shard{object: u, items: items}
		if index == 0 {
			st.count = min(max(note(u, countNote), 1), maxShards)
			st.revision = note(u, versionNote)
		}
	}
	st.inv = inventory.New(strconv.Itoa(st.revision), st.merged())
	return st, nil
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
	u.SetLabels(map[string]string{ownerLabel: stamp.Hash(owner), shardLabel: strconv.Itoa(index)})
	u.SetAnnotations(map[string]string{ownerNote: owner})
	if s.Decorate != nil {
		s.Decorate(owner, u)
	}
	return u
}
