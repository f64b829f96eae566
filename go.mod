module github.com/weir-dev/weir

go 1.27.0

require github.com/google/go-cmp v0.7.0
