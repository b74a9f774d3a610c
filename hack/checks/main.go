// Command checks asks Prometheus' and the Prometheus operator's own code what they think of our files.
//
//	checks promlint          a scrape on standard input: an error when Prometheus would refuse it, else what promlint says
//	checks promql            a JSON list of queries on standard input: what each of them asks for, as JSON
//	checks monitoring FILE   manifests of the Prometheus operator: an error for a field or a value that it does not know
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "promlint":
		return promlintScrape(in, out)
	case len(args) == 1 && args[0] == "promql":
		return describeQueries(in, out)
	case len(args) == 2 && args[0] == "monitoring":
		return decodeMonitoring(args[1])
	default:
		return fmt.Errorf("usage: checks promlint | promql | monitoring FILE")
	}
}
