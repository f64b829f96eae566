package metrics

// Kind is how the values of a metric behave.
type Kind string

// The kinds that there are.
const (
	Counter   Kind = "counter"   // only grows, and starts at zero with the program
	Gauge     Kind = "gauge"     // goes up and down
	Histogram Kind = "histogram" // counts of values by size
)

// Metric is a line of the [Table].
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string

	buckets []float64
}

const (
	passDuration   = "gotk_reconcile_duration_seconds"
	condition      = "gotk_reconcile_condition"
	suspended      = "gotk_suspend_status"
	artifacts      = "weir_generator_artifacts"
	failing        = "weir_generator_failing_artifacts"
	builds         = "weir_artifact_builds_total"
	stepDuration   = "weir_step_duration_seconds"
	downloads      = "weir_source_downloads_total"
	downloaded     = "weir_source_downloaded_bytes_total"
	cacheHits      = "weir_source_cache_hits_total"
	cacheEvictions = "weir_source_cache_evictions_total"
	cacheSources   = "weir_source_cache_sources"
	cacheBytes     = "weir_source_cache_bytes"
	storeArtifacts = "weir_storage_artifacts"
	storeBytes     = "weir_storage_bytes"
	reached        = "weir_storage_address_reached"
	requests       = "weir_artifact_requests_total"
	served         = "weir_artifact_served_bytes_total"
	dropped        = "weir_events_dropped_total"

	tenantCondition = "capsule_resource_condition"
	globalCondition = "capsule_global_resource_condition"
	targets         = "weir_replication_targets"
	protected       = "weir_protection_in_force"
)

// Table returns the metrics that this program adds to those of
// controller-runtime and Go; docs/metrics.md is made of it.
//
// The condition and the suspension are what Flux's dashboards and alerts of
// many years ask for. Flux's controllers leave them to kube-state-metrics by
// now, which calls its own gotk_resource_info: that name is left to it. The
// conditions of replications are what Capsule's alerts ask for.
func Table() []Metric {
	generator, object := []string{"name", "namespace"}, []string{"kind", "name", "namespace"}
	return []Metric{
		{passDuration, Histogram, object, "How long reconciliations took, as Flux's controllers tell it.", []float64{.01, .04, .15, .6, 2, 8, 30, 120, 480, 1800}},
		{condition, Gauge, []string{"kind", "name", "namespace", "type", "status"}, "1 for the status that the Ready condition of an object has, 0 for the others.", nil},
		{suspended, Gauge, object, "1 while the reconciliation of an object is suspended.", nil},
		{artifacts, Gauge, generator, "How many artifacts the inventory of a generator has.", nil},
		{failing, Gauge, generator, "How many artifacts of a generator could not be built or published; their last good revisions stay.", nil},
		{builds, Counter, []string{"outcome"}, "Artifacts that were built, by what became of them: published, unchanged or failed.", nil},
		{stepDuration, Histogram, []string{"step"}, "How long the steps of reconciliations took.", []float64{.001, .004, .016, .06, .25, 1, 4, 16, 64, 256}},
		{downloads, Counter, []string{"result"}, "Tries to download a source, by result: success or failure.", nil},
		{downloaded, Counter, nil, "Bytes of sources that came over the wire.", nil},
		{cacheHits, Counter, nil, "Sources that were served without a download of their own; the misses are downloads.", nil},
		{cacheEvictions, Counter, nil, "Sources that were dropped from the cache to make room.", nil},
		{cacheSources, Gauge, nil, "How many sources the cache holds.", nil},
		{cacheBytes, Gauge, nil, "Bytes, unpacked, of the sources in the cache.", nil},
		{storeArtifacts, Gauge, nil, "How many tarballs the storage had after it was last swept, superseded ones included.", nil},
		{storeBytes, Gauge, nil, "Bytes of the tarballs that the storage had after it was last swept.", nil},
		{reached, Gauge, nil, "1 if --storage-adv-addr led to the artifacts of this program when the one that leads tried it last, 0 if not.", nil},
		{requests, Counter, []string{"code"}, "Requests for artifacts, by HTTP status.", nil},
		{served, Counter, nil, "Bytes that consumers of artifacts were sent.", nil},
		{dropped, Counter, []string{"reason"}, "Events that --events-addr did not get, by reason: queue_full, undelivered or shutdown.", nil},
		{tenantCondition, Gauge, []string{"name", "target_namespace", "condition"}, "1 if a condition (Ready or Cordoned) of a TenantResource is True, 0 if not; the namespace is its own.", nil},
		{globalCondition, Gauge, []string{"name", "condition"}, "1 if a condition (Ready or Cordoned) of a GlobalTenantResource is True, 0 if not.", nil},
		{targets, Gauge, []string{"kind", "name", "namespace", "state"}, "How many targets of a replication are ready, failed, skipped, or leaving and not gone yet.", nil},
		{protected, Gauge, nil, "1 if the admission policies that keep others off protected objects are in the cluster, 0 if not.", nil},
	}
}
