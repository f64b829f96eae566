// Package reconcilertest tests what is built on package reconciler: [Recorder]
// tells which calls were made, and [CrashEach] kills a reconciler before and
// after each of its calls and checks that nothing is lost, leaked or
// overwritten. Both work on any client.Client; what they prove is worth most
// on a real API server. The package starts no server.
package reconcilertest
