package keep

import (
	"context"
	"fmt"
	"path"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/controller/draft"
)

// sight is what the cluster says about files at one moment.
type sight struct {
	// referenced are the files that inventories and ExternalArtifacts point to.
	referenced map[string]bool
	// expected are those of them that must be there.
	expected []string

	users  map[string]*v1beta1.ArtifactGenerator // by file
	makers map[string]*v1beta1.ArtifactGenerator // by the directory of the file
}

// look reads what the cluster says about files. An ExternalArtifact with the
// URL of another server does not count: its file is there, and what is here
// was left behind when its generator went to another shard.
func (k *Keeper) look(ctx context.Context) (*sight, error) {
	s := &sight{
		referenced: map[string]bool{},
		users:      map[string]*v1beta1.ArtifactGenerator{},
		makers:     map[string]*v1beta1.ArtifactGenerator{},
	}
	var artifacts sourcev1.ExternalArtifactList
	if err := k.Cache.List(ctx, &artifacts, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ExternalArtifacts: %w", err)
	}
	for i := range artifacts.Items {
		if a := artifacts.Items[i].Status.Artifact; a != nil && a.URL == k.URL(a.Path) {
			s.referenced[a.Path] = true
		}
	}
	var generators v1beta1.ArtifactGeneratorList
	if err := k.Cache.List(ctx, &generators, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ArtifactGenerators: %w", err)
	}
	for i := range generators.Items {
		s.add(&generators.Items[i])
	}
	return s, nil
}

func (s *sight) add(g *v1beta1.ArtifactGenerator) {
	// Files that are being made are on record before they are there.
	busy := meta.IsStatusConditionTrue(g.Status.Conditions, v1beta1.ConditionReconciling)
	for _, e := range g.Status.Inventory {
		if !e.IsArtifact() {
			continue
		}
		file := draft.File(e)
		s.referenced[file] = true
		s.users[file] = g
		s.makers[path.Dir(file)] = g
		if !busy {
			s.expected = append(s.expected, file)
		}
	}
}

// owned returns the files of artifacts that generators have, by generator.
func (s *sight) owned(files []string) map[*v1beta1.ArtifactGenerator][]string {
	out := map[*v1beta1.ArtifactGenerator][]string{}
	for _, file := range files {
		if g := s.makers[path.Dir(file)]; g != nil {
			out[g] = append(out[g], file)
		}
	}
	return out
}

// needing returns the generators that point to one of the files.
func (s *sight) needing(files []string) map[types.UID]*v1beta1.ArtifactGenerator {
	out := map[types.UID]*v1beta1.ArtifactGenerator{}
	for _, file := range files {
		if g := s.users[file]; g != nil {
			out[g.UID] = g
		}
	}
	return out
}
