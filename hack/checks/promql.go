package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector is one metric that a query reads.
type selector struct {
	Metric string `json:"metric"`
	// Labels that the query needs this metric to have: it selects, groups or joins by them.
	Labels []string `json:"labels"`
	// Values that the query wants of a label, where it names them one by one.
	Values map[string]string `json:"values"`
}

// describeQueries reads a JSON list of queries and writes the list of what each of them selects.
func describeQueries(in io.Reader, out io.Writer) error {
	var queries []string
	if err := json.NewDecoder(in).Decode(&queries); err != nil {
		return err
	}
	described := make([][]selector, len(queries))
	for i, query := range queries {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		if described[i], err = selectorsOf(expr, nil); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return json.NewEncoder(out).Encode(described)
}

// selectorsOf walks down with the labels that the operations above need.
func selectorsOf(node parser.Node, needed []string) ([]selector, error) {
	switch node := node.(type) {
	case *parser.VectorSelector:
		return []selector{describe(node, needed)}, nil
	case *parser.AggregateExpr:
		if !node.Without {
			for _, label := range needed {
				if !slices.Contains(node.Grouping, label) {
					return nil, fmt.Errorf("%s drops the label %s that is needed further up", node, label)
				}
			}
			needed = node.Grouping
		}
	case *parser.BinaryExpr:
		if node.VectorMatching != nil && node.VectorMatching.On {
			needed = append(slices.Clone(needed), node.VectorMatching.MatchingLabels...)
		}
	}
	found := []selector{}
	for child := range parser.ChildrenIter(node) {
		below, err := selectorsOf(child, needed)
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

func describe(node *parser.VectorSelector, needed []string) selector {
	described := selector{Metric: node.Name, Labels: append([]string{}, needed...), Values: map[string]string{}}
	for _, matcher := range node.LabelMatchers {
		if matcher.Name == labels.MetricName {
			continue
		}
		described.Labels = append(described.Labels, matcher.Name)
		if matcher.Type == labels.MatchEqual {
			described.Values[matcher.Name] = matcher.Value
		}
	}
	slices.Sort(described.Labels)
	described.Labels = slices.Compact(described.Labels)
	return described
}
