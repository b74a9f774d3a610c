package main

import (
	"fmt"
	"io"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
)

// validateBundle lists what OLM's validators have to say, those for publication included, errors before warnings.
func validateBundle(directory string, out io.Writer) error {
	bundle, err := manifests.GetBundleFromDir(directory)
	if err != nil {
		return err
	}
	for _, result := range validation.AllValidators.Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range result.Errors {
			fmt.Fprintf(out, "error: %s: %s\n", result.Name, problem.Error())
		}
		for _, problem := range result.Warnings {
			fmt.Fprintf(out, "warning: %s: %s\n", result.Name, problem.Error())
		}
	}
	return nil
}
