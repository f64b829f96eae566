package health

// Standard returns the analyzer of the package.
func Standard() Analyzer { return nil }
