// Package sitter stands in for tree-sitter, the parsers of programming languages, which want a C compiler and minutes
// of its time. Vale takes comments out of source code with them. Documents need none, so each use ends with an error.
package sitter

import (
	"context"
	"errors"
)

var errNoParsers = errors.New("this Vale is built without the parsers of programming languages")

type (
	Language struct{}
	Tree     struct{}
	Query    struct{}
	Parser   struct{}
	Cursor   struct{}
	Point    struct{ Row, Column uint32 }
	Node     struct{}
	Capture  struct {
		Index uint32
		Node  *Node
	}
	Match struct{ Captures []Capture }
)

func NewParser() *Parser { return &Parser{} }

func (*Parser) SetLanguage(*Language) {}

func (*Parser) ParseCtx(context.Context, *Tree, []byte) (*Tree, error) { return nil, errNoParsers }

func NewQuery([]byte, *Language) (*Query, error) { return nil, errNoParsers }

func (*Query) CaptureNameForId(uint32) string { return "" }

func NewQueryCursor() *Cursor { return &Cursor{} }

func (*Cursor) Exec(*Query, *Node) {}

func (*Cursor) NextMatch() (*Match, bool) { return nil, false }

func (*Cursor) FilterPredicates(match *Match, _ []byte) *Match { return match }

func (*Tree) RootNode() *Node { return nil }

func (*Node) Content([]byte) string { return "" }

func (*Node) StartPoint() Point { return Point{} }
