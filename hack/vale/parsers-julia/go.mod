module github.com/jdkato/go-tree-sitter-julia

go 1.26.0
