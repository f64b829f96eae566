package guard

// State says whether protected targets are protected.
type State struct {
	// InForce says that all policies are installed.
	InForce bool
	// Reason is one of the reasons below.
	Reason string
	// Message is for people. It is the same as long as the state is.
	Message string
}

// Reasons of a state.
const (
	// Unknown: nobody has looked yet.
	Unknown = "Unknown"
	// InForce: the policies are installed.
	InForce = "InForce"
	// TurnedOff: the user wants no protection.
	TurnedOff = "TurnedOff"
	// NotServed: the API server has no admission policies.
	NotServed = "NotServed"
	// NotInstalled: the API server refuses to take the policies, or cannot be
	// reached. It is tried again.
	NotInstalled = "NotInstalled"
)

// say tells a state if it is a new one.
func (k *Keeper) say(s State) {
	k.mu.Lock()
	was := k.state
	k.state = s
	k.mu.Unlock()
	if was == s {
		return
	}
	switch {
	case s.InForce || s.Reason == TurnedOff:
		k.Log.Info("protection: "+s.Message, "reason", s.Reason)
	default:
		k.Log.Info("protection is not in force: "+s.Message, "reason", s.Reason)
	}
	if k.Report != nil {
		k.Report(s)
	}
}
